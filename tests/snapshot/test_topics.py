"""Topic stores as data: written and loaded, published, restored, followed and taken over."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES: list[Any] = [
    "text",
    "",
    "1",
    "null",
    "äöü €",
    "\ud800",
    b"utf8",
    b"",
    b"\xff\x00",
    None,
    True,
    1,
    0.5,
    10**30,
    {"a": [1, None, "x"]},
    [],
    (1, 2),
    frozenset({1}),
]


def filled(dialect: Dialect = MQTT) -> TopicStore[Any]:
    store: TopicStore[Any] = TopicStore(dialect)
    for number, value in enumerate(VALUES):
        store.put(dialect.separator.join(("a", str(number))), value, 1_700_000_000.1234567 + number)
    return store


def entries(store: Any) -> list[Any]:
    return sorted(((topic, type(value), repr(value), time) for topic, value, time in store.entries()), key=repr)


@pytest.mark.parametrize("dialect", [AMQP, MQTT, NATS])
def test_a_file_gives_back_topics_values_and_times(dialect: Dialect, tmp_path: Path) -> None:
    store = filled(dialect)
    snapshot.write(store, tmp_path / "store.parquet")
    loaded: Any = snapshot.load(tmp_path / "store.parquet")
    assert isinstance(loaded, TopicStore)
    assert loaded.dialect == dialect
    assert entries(loaded) == entries(store)
    store["new"] = 1
    snapshot.write(store, tmp_path / "store.parquet")
    assert entries(snapshot.load(tmp_path / "store.parquet")) == entries(store)
    loaded.check()


def test_an_empty_store_is_one(tmp_path: Path) -> None:
    store: TopicStore[Any] = TopicStore(MQTT)
    snapshot.write(store, tmp_path / "store.parquet")
    assert isinstance(snapshot.load(tmp_path / "store.parquet"), TopicStore)
    with snapshot.Publisher(store, tmp_path / "published") as publisher:
        publisher.publish()
    assert isinstance(snapshot.restore(tmp_path / "published"), TopicStore)


def test_versions_are_restored_and_followed(tmp_path: Path) -> None:
    store = filled()
    with snapshot.Publisher(store, tmp_path) as publisher:
        held = {publisher.publish(): entries(store)}
        with snapshot.follow(tmp_path) as follower:
            replica: Any = follower.trie
            for step in range(4):
                store[f"new/{step}"] = b"\xff" * step
                store["a/1"] = step
                store["a/2"] = store["a/2"]  # the same value, at another time
                del store[f"a/{step + 5}"]
                version = publisher.publish()
                held[version] = entries(store)
                assert follower.poll() == version
                assert follower.trie is replica
                assert entries(replica) == entries(store)
        assert publisher.publish() == version, "nothing has changed"
    for version, right in held.items():
        restored: Any = snapshot.restore(tmp_path, at=version)
        assert entries(restored) == right
        restored.check()


def test_a_directory_is_continued(tmp_path: Path) -> None:
    store = filled()
    with snapshot.Publisher(store, tmp_path) as publisher:
        publisher.publish()
    other: Any
    other, taken = snapshot.take_over(tmp_path, MQTT)
    assert isinstance(other, TopicStore)
    with taken:
        other["new"] = "x"
        version = taken.publish()
    assert [each.changes for each in snapshot.versions(tmp_path)][-1] == 1
    restored = snapshot.restore(tmp_path)
    assert entries(restored) == entries(other)
    with snapshot.Publisher(restored, tmp_path) as publisher:
        assert publisher.publish() == version


def test_an_old_store_does_not_undo_what_was_published_since(tmp_path: Path) -> None:
    with snapshot.Publisher(filled(), tmp_path) as publisher:
        publisher.publish()
        old = snapshot.restore(tmp_path)
        later: Any = snapshot.restore(tmp_path)
    later["new"] = 1
    with snapshot.Publisher(later, tmp_path) as publisher:
        publisher.publish()
    with pytest.raises(snapshot.OutdatedError):
        snapshot.Publisher(old, tmp_path)


def test_what_has_expired_is_gone_from_the_next_version(tmp_path: Path) -> None:
    store: TopicStore[Any] = TopicStore(MQTT, max_age=3600, max_topics=3)
    store.put("old", 1, 0.0)
    for number in range(6):
        store[f"new/{number}"] = number
    with snapshot.Publisher(store, tmp_path) as publisher:
        publisher.publish()
    restored: Any = snapshot.restore(tmp_path)
    assert sorted(restored) == ["new/3", "new/4", "new/5"]


def test_a_topic_that_cannot_be_stored_stops_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store: TopicStore[Any] = TopicStore(MQTT, {"a": 1, "$share/g": 2, "b": object()})
    with caplog.at_level(logging.ERROR, "snapshot"), snapshot.Publisher(store, tmp_path) as publisher:
        publisher.publish()
    restored: Any = snapshot.restore(tmp_path)
    assert dict(restored.items()) == {"a": 1}
    assert "$share/g" in caplog.text


def test_sets_and_stores_are_told_apart(tmp_path: Path) -> None:
    with snapshot.Publisher(filled(), tmp_path) as publisher:
        publisher.publish()
    with pytest.raises(ValueError, match="dialect"):
        snapshot.Publisher(SubscriptionTrie(MQTT), tmp_path)


def test_columns_tell_topic_value_and_time() -> None:
    table = snapshot.to_arrow(filled())
    rows = {row["filter"]: dict(row["options"]) for row in table.to_pylist()}
    assert rows["a/0"] == {"type": "text", "value": "text", "stored_at": "1700000000.1234567"}
    assert (rows["a/8"]["type"], rows["a/8"]["value"]) == ("hex", "ff00")
    assert rows["a/14"]["value"] == '{"a": [1, null, "x"]}'
    assert set(table["dialect"].to_pylist()) == {"MQTT topics"}


@pytest.mark.once
def test_spark_reads_a_store(spark: SparkSession, tmp_path: Path) -> None:
    with snapshot.Publisher(filled(), tmp_path) as publisher:
        publisher.publish()
    snapshot.register(spark)
    rows = spark.read.format("subscriptions").load(str(tmp_path))
    found = rows.selectExpr("filter as topic", "options['value'] as value").where("topic = 'a/0'").collect()
    assert [tuple(row) for row in found] == [("a/0", "text")]
    with pytest.raises(ValueError, match="has the topics of a store"):
        snapshot.match_spark(spark.createDataFrame([("a",)], "topic string"), str(tmp_path))
