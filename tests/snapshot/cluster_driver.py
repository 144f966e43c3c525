"""Spark sessions in processes of their own, apart from the session of the tests. Each scenario prints what it found.

`python -m tests.snapshot.cluster_driver connect`                     a session of Spark Connect, with a server of its own
`python -m tests.snapshot.cluster_driver lost (worker|executor) DIR`  a cluster of two executors; a part of it is killed
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import snapshot
from subtrie import SubscriptionTrie
from tests.snapshot.support import run_stream, trie_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SETTINGS: dict[str, bool | float | int | str | None] = {
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def say(**found: Any) -> None:
    """Print what was found, for the test to read."""
    print(json.dumps(found), flush=True)


# Spark Connect --------------------------------------------------------------------------------------------------------


def connect() -> None:
    """Match over Connect, ask questions, and read a published directory."""
    from pyspark.sql import SparkSession

    trie = trie_of(("a.*", "alice", {"qos": 1}), ("#", "bob"))
    spark: Any = SparkSession.builder.remote("local[2]").getOrCreate()
    messages = spark.createDataFrame([("a.b",), ("c",), (None,)], "topic string")
    with tempfile.TemporaryDirectory() as where:
        snapshot.Publisher(trie, where).publish()
        say(
            session=type(spark).__module__,
            rows_matched=rows_of(snapshot.match_spark(messages, where)),
            refusal=refusal(messages, trie),
            rows=snapshot.to_spark(trie, spark).count(),
            growth=[list(row) for row in snapshot.growth(where, spark).drop("time").collect()],
            overlaps=sorted(list(row) for row in snapshot.overlaps(where, spark).collect()),
            back=len(snapshot.from_spark(snapshot.to_spark(trie, spark))),
            busiest=[row["messages"] for row in snapshot.busiest_filters(messages.dropna(), where).collect()],
            **read_over_connect(spark, where),
        )
    spark.stop()


def read_over_connect(spark: Any, where: str) -> dict[str, Any]:
    """The data source, the SQL function, and both kinds of streams."""
    snapshot.register(spark)
    changes = {"readChangeFeed": "true", "startingVersion": "1"}
    snapshot.read(spark, where).createOrReplaceTempView("held")
    held = spark.sql("select subscriber from held where topic_matches(filter, 'a.b')")
    incoming = Path(where, "incoming")
    incoming.mkdir()
    (incoming / "a.json").write_text('{"topic": "a.b"}')
    messages = spark.readStream.schema("topic string").json(str(incoming))
    streams = {
        "stream": spark.readStream.format("subscriptions").options(readChangeFeed="true").load(where),
        "matched": snapshot.match_stream(messages, where),
    }
    for name, frame in streams.items():
        Path(where, name).mkdir()
        run_stream(frame, Path(where, name))
    return {
        "set": snapshot.read(spark, where).count(),
        "changes": spark.read.format("subscriptions").options(**changes).load(where).count(),
        "sql": sorted(row[0] for row in held.collect()),
        **{name: spark.read.parquet(str(Path(where, name, "out"))).count() for name in streams},
    }


def rows_of(matched: DataFrame) -> list[list[Any]]:
    return sorted(list(row)[:3] for row in matched.collect())


def refusal(messages: DataFrame, trie: SubscriptionTrie) -> str:
    try:
        snapshot.match_spark(messages, trie)
    except ValueError as error:
        return str(error)
    return "none"


# A lost executor ------------------------------------------------------------------------------------------------------

BATCHES, BATCH, PARTITIONS = 10, 250, 4


def lost(what: str, folder: Path) -> None:
    """Match while a part of the cluster is killed in the middle of a task, and compare with the trie's answers."""
    from pyspark.sql import SparkSession

    settings = SETTINGS | {
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH),
        "spark.executor.memory": "1g",
        "spark.task.maxFailures": "4",
    }
    spark = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=settings).getOrCreate()
    trie = SubscriptionTrie()
    trie.subscribe_many((f"w{n % 50}.{'*' if n % 3 else n % 20}", f"s{n}") for n in range(500))
    where = folder / "published"
    snapshot.Publisher(trie, where).publish()
    for source in (trie, where):
        mark = folder / f"killed {type(source).__name__}"
        messages = killed_once(spark, what, mark)
        found = Counter(tuple(row) for row in matched(messages, source).collect())
        wanted = Counter(
            (number, held.filter, held.subscriber)
            for number in range(BATCHES * BATCH * PARTITIONS)
            for held in trie.entries(topic_of(number))
        )
        say(killed=mark.exists(), equal=found == wanted, rows=found.total(), source=type(source).__name__)
    spark.stop()


def matched(messages: DataFrame, source: Any) -> DataFrame:
    return snapshot.match_spark(messages, source).select("id", "filter", "subscriber")


def topic_of(number: int) -> str:
    return f"w{number % 60}.{number % 20}"


def killed_once(spark: SparkSession, what: str, mark: Path) -> DataFrame:
    """Messages. One of the tasks that produce them kills a process when it is half done. It does so the first time, and
    not when it runs again."""
    numbers = spark.range(BATCHES * BATCH * PARTITIONS, numPartitions=PARTITIONS)
    topics = numbers.selectExpr("id", "concat('w', id % 60, '.', id % 20) as topic")
    return topics.mapInArrow(partial(_deadly, what=what, mark=str(mark)), "id long, topic string")


def _deadly(batches: Iterator[pa.RecordBatch], *, what: str, mark: str) -> Iterator[pa.RecordBatch]:
    for number, batch in enumerate(batches):
        if number == BATCHES // 2:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                daemon = os.getppid()
                os.kill(_parent(daemon) if what == "executor" else _sibling(daemon), signal.SIGKILL)
        yield batch


def _parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def _sibling(daemon: int) -> int:
    """The other worker of the executor; it does the matching."""
    children = Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split()
    return next(int(child) for child in children if int(child) != os.getpid())


if __name__ == "__main__":
    if sys.argv[1] == "connect":
        connect()
    else:
        lost(sys.argv[2], Path(sys.argv[3]))
