"""What works with which Spark: each test is a feature, and a row of the table in docs/spark.md.

`make test-sparks` runs this file with each version of Spark and writes the table. A feature that a version lacks must
be refused by a sentence that names the version that has it.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from snapshot.sparks import release
from subtrie import MQTT, SubscriptionTrie
from tests.snapshot.sparks_table import PAGE, rows_of
from tests.snapshot.support import held_by, run_stream, trie_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEATURES: list[str] = []
REFUSED = re.compile(r"needs Spark (\d+\.\d+) or later, and this is ")


def feature(label: str, since: tuple[int, int] = (3, 5)) -> Callable[[Any], Any]:
    """The test of a feature. Before Spark ``since``, the feature must be refused by a sentence."""
    FEATURES.append(label)

    def decorate(test: Any) -> Any:
        @functools.wraps(test)
        def run(*given: Any, **named: Any) -> None:
            outcome = "yes"
            try:
                test(*given, **named)
            except Exception as error:
                found = REFUSED.search(str(error))
                if found is None:
                    raise
                assert release() < tuple(map(int, found[1].split("."))) <= since
                outcome = "needs {}.{}".format(*since)
            record(label, outcome)
            assert (outcome == "yes") == (release() >= since)

        return run

    return decorate


def record(label: str, outcome: str) -> None:
    """Add to the report that `make test-sparks` asked for."""
    if "SPARKS_REPORT" in os.environ:
        report = Path(os.environ["SPARKS_REPORT"])
        held = json.loads(report.read_text()) if report.exists() else {"pyspark": versions()}
        report.write_text(json.dumps(held | {label: outcome}))


def versions() -> str:
    """The head of a column."""
    spark, *others = (f"{name} {version(name)}" for name in ("pyspark", "pyarrow", "pandas"))
    return f"**{spark.removeprefix('pyspark ')}** ({', '.join(others)})"


@pytest.fixture
def trie() -> Iterator[SubscriptionTrie]:
    rows = [("a/+/c", "alice", {"qos": 1}), ("a/#", "bob"), ("$share/g/a/b/c", "carol"), ("$share/g/a/b/c", "dave")]
    trie = trie_of(*rows, dialect=MQTT)
    yield trie
    trie.check()


@pytest.fixture
def where(trie: SubscriptionTrie, tmp_path: Path) -> str:
    """A directory of three versions: the set of ``trie`` and changes, which since the last full instant only delete."""
    with snapshot.Publisher(trie, tmp_path / "published") as publisher:
        publisher.publish()
        trie.subscribe("b", "erin")
        assert publisher.publish() == snapshot.compact(tmp_path / "published")
        trie.unsubscribe("a/#", "bob")
        publisher.publish()
    return str(tmp_path / "published")


@pytest.fixture
def messages(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1, "a/b/c"), (2, "b"), (3, "x"), (4, "a/\0"), (5, None)], "id int, topic string")


def found(frame: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.select(*names).collect())


def matches(trie: SubscriptionTrie) -> list[tuple[int, str]]:
    return sorted(
        (n, held.subscriber) for n, topic in ((1, "a/b/c"), (2, "b"), (3, "x")) for held in trie.entries(topic)
    )


@feature("`to_arrow`, `to_pandas`, `write`, `load`, publishing (without Spark)")
def test_arrow(trie: SubscriptionTrie, where: str, tmp_path: Path) -> None:
    snapshot.write(trie, tmp_path / "set.parquet")
    assert held_by(snapshot.load(tmp_path / "set.parquet")) == held_by(snapshot.restore(where)) == held_by(trie)
    assert sorted(snapshot.to_pandas(trie)["filter"]) == sorted(snapshot.to_arrow(trie)["filter"].to_pylist())
    assert snapshot.to_pandas(trie).set_index("subscriber").loc["alice", "options"] == {"qos": "1"}


@feature("`to_spark`, `diff_to_spark`, `from_spark`")
def test_frames(spark: SparkSession, trie: SubscriptionTrie) -> None:
    before = trie.snapshot()
    trie.subscribe("new", "erin", qos=2)
    frame = snapshot.to_spark(trie, spark)
    assert found(frame, "filter", "subscriber") == sorted(held_by(trie))
    assert frame.where("subscriber = 'alice'").first().options == {"qos": "1"}  # type: ignore[union-attr]
    assert frame.where("subscriber = 'alice'").first().words == ["a", "+", "c"]  # type: ignore[union-attr]
    assert held_by(snapshot.from_spark(frame)) == held_by(trie)
    assert found(snapshot.diff_to_spark(trie, before, spark), "filter", "change") == [("new", "added")]
    empty = snapshot.to_spark(SubscriptionTrie(MQTT), spark)
    assert empty.count() == 0
    assert len(snapshot.from_spark(empty, MQTT)) == 0


@feature("`match_spark`, with a trie and with a published directory")
def test_matching(trie: SubscriptionTrie, where: str, messages: DataFrame) -> None:
    for source in (trie, where):
        joined = snapshot.match_spark(messages, source, mode="PERMISSIVE")
        assert found(joined.where("_topic_error is null"), "id", "subscriber") == matches(trie)
        assert found(joined.where("_topic_error is not null"), "id") == [(4,)]


@feature("`match_stream`")
def test_match_stream(spark: SparkSession, trie: SubscriptionTrie, where: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text('{"id": 1, "topic": "a/b/c"}\n{"id": 2, "topic": "b"}\n')
    stream = spark.readStream.schema("id int, topic string").json(str(tmp_path / "in"))
    run_stream(snapshot.match_stream(stream, where), tmp_path)
    rows = spark.read.parquet(str(tmp_path / "out"))
    assert found(rows, "id", "subscriber") == matches(trie)
    assert found(rows.select("version").distinct(), "version") == [(3,)]


@feature("the questions: `busiest_filters`, `dead_filters`, `topics_per_subscriber`, `overlaps`, `growth`")
def test_questions(spark: SparkSession, trie: SubscriptionTrie, where: str, messages: DataFrame) -> None:
    asked = messages.where("id != 4").union(spark.sql("select 6, 'b'"))
    names = ("filter", "messages", "subscriptions", "deliveries")
    busiest = [("$share/g/a/b/c", 1, 2, 2), ("a/+/c", 1, 1, 1), ("b", 2, 1, 2)]
    assert found(snapshot.busiest_filters(asked, trie), *names) == busiest
    assert found(snapshot.dead_filters(asked.where("id != 1"), where), "filter") == [("$share/g/a/b/c",), ("a/+/c",)]
    of_each = found(snapshot.topics_per_subscriber(asked, trie), "subscriber", "topics", "messages")
    assert of_each == [("alice", 1, 1), ("carol", 1, 1), ("dave", 1, 1), ("erin", 1, 2)]
    assert ("a/+/c", "a/b/c", "covers") in found(snapshot.overlaps(trie, spark), "filter", "other", "relation")
    growth = found(snapshot.growth(where, spark), "version", "subscriptions", "added", "removed")
    assert growth == [(1, 4, 4, 0), (2, 5, 1, 0), (3, 4, 0, 1)]


@feature("`read`: the set of a version or a time")
def test_read(spark: SparkSession, where: str) -> None:
    for at in (None, 2, snapshot.versions(where)[1].time):
        assert found(snapshot.read(spark, where, at), "filter", "subscriber") == sorted(
            held_by(snapshot.restore(where, at))
        )


@feature("data source: changes, as a batch and as a stream", since=(4, 0))
def test_changes(spark: SparkSession, where: str, tmp_path: Path) -> None:
    snapshot.register(spark)
    options = {"readChangeFeed": "true", "startingVersion": "2"}
    columns = ("_commit_version", "_change_type", "filter")
    changes = spark.read.format("subscriptions").options(**options).load(where)
    assert found(changes, *columns) == [(2, "insert", "b"), (3, "delete", "a/#")]
    view = ", ".join(f"{name} '{value}'" for name, value in ({"path": where} | options).items())
    spark.sql(f"create temporary view changed using subscriptions options ({view})")
    assert found(spark.table("changed"), *columns) == [(2, "insert", "b"), (3, "delete", "a/#")]
    spark.catalog.dropTempView("changed")
    with pytest.raises(Exception, match="or is a temporary view"):
        spark.sql(f"create table changed using subscriptions options ({view})")
    with pytest.raises(Exception, match=r"A set is read by snapshot\.read"):
        spark.read.format("subscriptions").load(where).collect()
    run_stream(spark.readStream.format("subscriptions").options(**options, endingVersion="2").load(where), tmp_path)
    assert found(spark.read.parquet(str(tmp_path / "out")), *columns) == [(2, "insert", "b")]


@feature("data source: `maxVersionsPerTrigger`", since=(4, 2))
def test_limits(spark: SparkSession, where: str, tmp_path: Path) -> None:
    snapshot.register(spark)
    options = {"readChangeFeed": "true", "startingVersion": "1", "maxVersionsPerTrigger": "1"}
    batches = run_stream(spark.readStream.format("subscriptions").options(**options).load(where), tmp_path)
    assert batches == 3
    assert len(found(spark.read.parquet(str(tmp_path / "out")), "filter")) == 6


@feature("data source: writing is refused with the reason", since=(4, 0))
def test_writing(spark: SparkSession, trie: SubscriptionTrie, where: str) -> None:
    snapshot.register(spark)
    frame = snapshot.to_spark(trie, spark)
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match=r"read by Spark and not written.*snapshot\.Publisher"):
            frame.write.format("subscriptions").mode(mode).save(where)
    assert len(snapshot.versions(where)) == 3


@feature("SQL function `topic_matches`", since=(4, 0))
def test_topic_matches(spark: SparkSession, trie: SubscriptionTrie, where: str) -> None:
    snapshot.register(spark)
    snapshot.read(spark, where).createOrReplaceTempView("held")
    rows = spark.sql("select subscriber from held where topic_matches(filter, 'a/b/c', dialect)")
    assert found(rows, "subscriber") == sorted((held.subscriber,) for held in trie.entries("a/b/c"))
    for wrong in (
        "select subscriber from held where topic_matches(filter, 'a/b/c')",
        "select topic_matches('a.>', 'a.b')",
    ):
        with pytest.raises(Exception, match="is probably of another dialect: say which"):
            spark.sql(wrong).collect()
    spark.catalog.dropTempView("held")


@pytest.mark.once
def test_the_page_has_a_row_for_each_feature() -> None:
    assert [row[0] for row in rows_of(PAGE.read_text())[2:]] == FEATURES, "run `make test-sparks`"
