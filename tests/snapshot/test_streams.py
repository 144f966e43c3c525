"""Streams: messages matched with a published set, and a published set as a stream of changes."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import snapshot
from snapshot import streaming
from snapshot.published.store import store_of
from subtrie import SubscriptionTrie
from tests.snapshot.support import run_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def trie() -> Iterator[SubscriptionTrie]:
    trie = SubscriptionTrie()
    trie.subscribe("a.#", "alice", qos=1)
    yield trie
    trie.check()


@pytest.fixture
def published(trie: SubscriptionTrie, tmp_path: Path) -> Iterator[snapshot.Publisher]:
    with snapshot.Publisher(trie, tmp_path / "published") as publisher:
        publisher.publish()
        yield publisher


def put(folder: Path, number: int, *topics: str) -> None:
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"id": number * 10 + n, "topic": topic}) for n, topic in enumerate(topics)]
    (folder / f".{number:03}").write_text("\n".join(lines))
    (folder / f".{number:03}").rename(folder / f"{number:03}.json")


def go_back(
    where: Path, trie: SubscriptionTrie, publisher: snapshot.Publisher, newer: int, see: Callable[[], object]
) -> None:
    """Publish two versions, see them, go back to a copy from before, and publish ``newer`` other versions."""
    shutil.copytree(where, where.parent / "copy")
    for number in range(2):
        trie.subscribe("lost", f"s{number}")
        publisher.publish()
    see()
    shutil.rmtree(where)
    shutil.move(where.parent / "copy", where)
    trie, publisher = snapshot.take_over(where)
    for number in range(newer):
        trie.subscribe("other", f"s{number}")
        publisher.publish()


class TestMatchStream:
    def test_matches_each_batch_with_the_version_that_was_newest(
        self, spark: SparkSession, trie: SubscriptionTrie, published: snapshot.Publisher, tmp_path: Path
    ) -> None:
        put(tmp_path / "messages", 0, "a.b", "c")
        messages = spark.readStream.schema("id int, topic string").json(str(tmp_path / "messages"))
        run_stream(snapshot.match_stream(messages, tmp_path / "published"), tmp_path)
        trie.subscribe("c", "bob")
        trie.unsubscribe("a.#", "alice")
        second = published.publish()
        put(tmp_path / "messages", 1, "a.b", "c")
        matched = snapshot.match_stream(messages, tmp_path / "published")
        assert matched.columns == ["id", "topic", "filter", "subscriber", "options", "version"]
        run_stream(matched, tmp_path)
        rows = spark.read.parquet(str(tmp_path / "out")).orderBy("id").collect()
        assert [(row.id, row.filter, row.subscriber, row.version) for row in rows] == [
            (0, "a.#", "alice", second - 1),
            (11, "c", "bob", second),
        ]

    def test_matches_a_frame_that_is_no_stream_and_leaves_no_record(
        self, spark: SparkSession, published: snapshot.Publisher, tmp_path: Path
    ) -> None:
        matched = snapshot.match_stream(spark.createDataFrame([("a.b",)], "topic string"), tmp_path / "published")
        for _ in range(2):
            assert [(row.filter, row.version) for row in matched.collect()] == [("a.#", published.version)]
        assert list((tmp_path / "published" / "_matched").iterdir()) == []

    def test_refuses_messages_that_have_a_version(
        self, spark: SparkSession, published: snapshot.Publisher, tmp_path: Path
    ) -> None:
        messages = spark.createDataFrame([("a", 1)], "topic string, Version int")
        with pytest.raises(ValueError, match="two columns 'version'"):
            snapshot.match_stream(messages, tmp_path / "published")

    @pytest.mark.slow
    @pytest.mark.once
    def test_loses_nothing_and_repeats_nothing_when_the_driver_is_killed(
        self, trie: SubscriptionTrie, published: snapshot.Publisher, tmp_path: Path
    ) -> None:
        chance = random.Random()
        seed = chance.randrange(10**6)
        print(f"seed {seed}")
        chance.seed(seed)
        versions = {1: trie.snapshot()}
        batches = 0
        for kill in [True, False]:
            for _ in range(4):
                put(tmp_path / "messages", batches, *(chance.choice(["a.b", "c", "b.c", "x\0"]) for _ in range(5)))
                batches += 1
            trie.subscribe(chance.choice(["#", "c", "b.*"]), f"s{batches}")
            versions[published.publish()] = trie.snapshot()
            drive(tmp_path, chance.randrange(1, 4) if kill else None)
        rows = committed(tmp_path)
        found = Counter((row["id"], row["filter"], row["subscriber"], row["_topic_error"] is None) for row in rows)
        version_of = {row["id"] // 10: row["version"] for row in rows}
        wanted: Counter[Any] = Counter()
        for batch in range(batches):
            for line in (tmp_path / "messages" / f"{batch:03}.json").read_text().splitlines():
                message = json.loads(line)
                if message["topic"] == "x\0":
                    wanted[message["id"], None, None, False] += 1
                elif batch in version_of:
                    for held in versions[version_of[batch]].entries(message["topic"]):
                        wanted[message["id"], held.filter, held.subscriber, True] += 1
        assert found == wanted
        assert all(len({row["version"] for row in rows if row["id"] // 10 == batch}) <= 1 for batch in range(batches))
        assert len(set(version_of.values())) > 1


def drive(folder: Path, batches: int | None) -> None:
    """Run the driver to its end, or kill it when `batches` batches have got a version since it started."""
    records = folder / "published" / "_matched"
    begun = len(list(records.glob("*.json")))
    driver = subprocess.Popen(
        [sys.executable, "-m", "tests.snapshot.stream_driver", str(folder)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while batches is not None and driver.poll() is None:
            if len(list(records.glob("*.json"))) >= begun + batches:
                break
            with_timeout(driver, 0.02)
        if batches is None:
            _, errors = driver.communicate(timeout=100)
            assert driver.returncode == 0, errors
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
        if driver.stderr is not None:
            driver.stderr.close()


def with_timeout(driver: subprocess.Popen[str], seconds: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        driver.wait(seconds)


def committed(folder: Path) -> list[dict[str, Any]]:
    """The rows of the files in the sink's own log, which are those that Spark reads."""
    log = folder / "matched" / "_spark_metadata"
    rows: list[dict[str, Any]] = []
    for entry in sorted(log.glob("[0-9]*")):
        for line in entry.read_text().splitlines()[1:]:
            path = json.loads(line)["path"].removeprefix("file://")
            rows += pq.ParquetFile(path).read().to_pylist()
    return rows


class TestRecord:
    def test_names_one_version_however_often_it_is_asked(
        self, trie: SubscriptionTrie, published: snapshot.Publisher, tmp_path: Path
    ) -> None:
        where, record = str(tmp_path / "published"), store_of(tmp_path / "record")
        record.prepare(("",))
        first = streaming.recorded(where, record, streaming._Task("q", 0))
        trie.subscribe("b", "bob")
        second = published.publish()
        assert streaming.recorded(where, record, streaming._Task("q", 0)) == first
        assert streaming.recorded(where, record, streaming._Task("q", 1)).version == second
        assert streaming.recorded(where, record, streaming._Task("other", 0)).version == second

    @pytest.mark.parametrize("newer", [1, 2, 3])
    def test_refuses_a_directory_that_went_back(
        self, trie: SubscriptionTrie, published: snapshot.Publisher, tmp_path: Path, newer: int
    ) -> None:
        """Whether the number of the version that was seen is there again or not."""
        where, record = tmp_path / "published", store_of(tmp_path / "record")
        record.prepare(("",))
        go_back(where, trie, published, newer, lambda: streaming.recorded(str(where), record, streaming._Task("q", 0)))
        for batch in (0, 1):
            with pytest.raises((snapshot.HistoryError, snapshot.NotPublishedError)):
                streaming.recorded(str(where), record, streaming._Task("q", batch))
        streaming.recorded(str(where), record, streaming._Task("anew", 0))

    def test_of_old_batches_is_removed(self, published: snapshot.Publisher, tmp_path: Path) -> None:
        where, record = str(tmp_path / "published"), store_of(tmp_path / "record")
        record.prepare(("",))
        for batch in (0, 1, streaming.KEPT_RECORDS):
            streaming.recorded(where, record, streaming._Task("q", batch))
        assert sorted(record.names("")) == ["q.1.json", f"q.{streaming.KEPT_RECORDS}.json"]

    def test_of_a_version_that_is_gone_or_of_another_directory_is_refused(
        self, trie: SubscriptionTrie, published: snapshot.Publisher, tmp_path: Path
    ) -> None:
        where, record = str(tmp_path / "published"), store_of(tmp_path / "record")
        record.prepare(("",))
        (tmp_path / "record" / "q.0.json").write_text(json.dumps({"version": 99, "directory": "x"}))
        with pytest.raises(snapshot.NotPublishedError, match=r"matched with version 99 .* keep more versions"):
            streaming.recorded(where, record, streaming._Task("q", 0))
        (tmp_path / "record" / "q.1.json").write_text(json.dumps({"version": 1, "directory": "x"}))
        with pytest.raises(ValueError, match="is of another published directory"):
            streaming.recorded(where, record, streaming._Task("q", 1))
        (tmp_path / "record" / "q.2.json").write_text("no")
        with pytest.raises(ValueError, match="is not the record of a micro-batch"):
            streaming.recorded(where, record, streaming._Task("q", 2))


def stream_of(where: Path) -> Any:
    """A stream of changes, as Spark makes it."""
    from snapshot.source import Subscriptions  # needs Spark

    make: Any = Subscriptions
    source = make({"path": str(where), "readChangeFeed": "true"})
    return source.streamReader(source.schema())


class TestStreamOfChanges:
    def test_begins_with_the_whole_set_and_goes_on_with_each_version_once(
        self, spark: SparkSession, trie: SubscriptionTrie, published: snapshot.Publisher, tmp_path: Path
    ) -> None:
        snapshot.register(spark)
        changes = (
            spark.readStream.format("subscriptions")
            .options(readChangeFeed="true", maxVersionsPerTrigger="1")
            .load(str(tmp_path / "published"))
        )
        trie.subscribe("b", "bob")
        published.publish()
        assert run_stream(changes, tmp_path) == 1
        published = snapshot.Publisher(trie, tmp_path / "published")  # this claim takes number 3
        for number in range(3):
            trie.subscribe("c", f"s{number}")
            published.publish()
        assert run_stream(changes, tmp_path) == 3
        rows = spark.read.parquet(str(tmp_path / "out")).collect()
        found = sorted((row._commit_version, row.subscriber, row._change_type) for row in rows)
        assert found == [
            (2, "alice", "insert"),
            (2, "bob", "insert"),
            (4, "s0", "insert"),
            (5, "s1", "insert"),
            (6, "s2", "insert"),
        ]

    @pytest.mark.parametrize("newer", [0, 1, 2, 3])
    def test_sees_that_the_directory_went_back(
        self, trie: SubscriptionTrie, published: snapshot.Publisher, tmp_path: Path, newer: int
    ) -> None:
        """As a stream that goes on, and as one that runs its last batch again."""
        where = tmp_path / "published"

        def stream() -> Any:
            return stream_of(where)

        begun = json.loads(json.dumps(stream().initialOffset()))
        seen: list[Any] = []
        go_back(where, trie, published, newer, lambda: seen.append(stream().latestOffset()))
        end = json.loads(json.dumps(seen[0]))
        calls: list[Callable[[], object]] = [
            lambda: stream().latestOffset(end, None),
            lambda: stream().partitions(begun, end),
            lambda: stream().partitions(end, stream().latestOffset()),
        ]
        for call in calls:
            with pytest.raises(snapshot.HistoryError, match="does not continue the history in which version 3 was"):
                call()
        assert stream().partitions(begun, stream().latestOffset())  # begun anew

    def test_stops_with_an_error_that_says_so(
        self, spark: SparkSession, trie: SubscriptionTrie, published: snapshot.Publisher, tmp_path: Path
    ) -> None:
        snapshot.register(spark)
        where = tmp_path / "published"
        changes = spark.readStream.format("subscriptions").option("readChangeFeed", "true").load(str(where))
        go_back(where, trie, published, 1, lambda: run_stream(changes, tmp_path))
        with pytest.raises(Exception, match="does not continue the history in which version 3 was seen"):
            run_stream(changes, tmp_path)

    def test_goes_on_from_a_checkpoint_without_marks(
        self, trie: SubscriptionTrie, published: snapshot.Publisher, tmp_path: Path
    ) -> None:
        trie.subscribe("b", "bob")
        published.publish()
        stream = stream_of(tmp_path / "published")
        end = stream.latestOffset({"version": 1}, None)
        assert end["version"] == 2
        assert len(stream.partitions({"version": 1}, end)) == 1
        assert stream.latestOffset(end, None) == end
