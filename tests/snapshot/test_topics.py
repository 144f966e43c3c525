"""Topic stores as data: written and loaded, published, restored, followed and taken over."""

from __future__ import annotations

import dataclasses
import datetime
import json
import logging
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from snapshot.published import taking_over
from snapshot.published.claim import _nothing, claimed
from snapshot.published.manifest import _checksum_of, from_json
from subtrie import AMQP, MQTT, NATS, Dialect, SubscriptionTrie, TopicStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES: list[Any] = [
    "text", "", "1", "null", "äöü €", "\ud800", b"utf8", b"", b"\xff\x00", None, True, 1, 0.5, 10**30,
    {"a": [1, None, "x"]}, [], (1, 2), frozenset({1}),
]  # fmt: skip


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
    store: TopicStore[Any] = TopicStore(MQTT, {"a": 1, "b": object()})
    with caplog.at_level(logging.ERROR, "snapshot"), snapshot.Publisher(store, tmp_path) as publisher:
        publisher.publish()
    restored: Any = snapshot.restore(tmp_path)
    assert dict(restored.items()) == {"a": 1}


OWN = Dialect("own", ":", "?", "*", share_prefix="shared", options=(("qos", range(3)),))


@pytest.mark.parametrize("dialect", [MQTT, OWN])
def test_a_topic_that_would_be_no_filter_is_stored(tmp_path: Path, dialect: Dialect) -> None:
    """A store takes it, since the first word of a topic is no sign of a shared subscription."""
    prefix, separator = str(dialect.share_prefix), dialect.separator
    words = [[prefix], [prefix, "g"], [prefix, "", "a"], [prefix, "g", "a"], [prefix, "g", prefix, "h", "a"], ["a"]]
    store: TopicStore[Any] = TopicStore(dialect, {separator.join(each): each for each in words})
    snapshot.write(store, tmp_path / "store.parquet")
    publisher = snapshot.Publisher(store, tmp_path / "published")
    publisher.publish()
    follower = snapshot.follow(tmp_path / "published")
    del store[prefix]
    store[separator.join([prefix, "h"])] = 5
    publisher.publish()
    follower.poll()
    assert len(snapshot.load(tmp_path / "store.parquet")) == len(words)
    taken, publisher = snapshot.take_over(tmp_path / "published", dialect)
    for copy in (snapshot.restore(tmp_path / "published"), follower.trie, taken):
        assert entries(copy) == entries(store)
        assert copy.dialect == dialect
    assert publisher.publish() == 2


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


class TestLimits:
    """How old values get and how many there are is part of what is stored."""

    def limited(self, **limits: Any) -> TopicStore[Any]:
        store: TopicStore[Any] = TopicStore(MQTT, **{"max_age": 3600.0, "max_topics": 5, **limits})
        for number in range(5):
            store[f"a/{number}"] = number
        return store

    @pytest.mark.parametrize("max_age", [None, 60, 0.5e6, float("inf")])
    @pytest.mark.parametrize("max_topics", [None, 5, 10**12])
    def test_come_back(self, tmp_path: Path, max_age: float | None, max_topics: int | None) -> None:
        store = self.limited(max_age=max_age, max_topics=max_topics)
        right = (None if max_age == float("inf") else max_age, max_topics)
        snapshot.write(store, tmp_path / "store.parquet")
        loaded = snapshot.load(tmp_path / "store.parquet", kind=TopicStore)
        assert (loaded.max_age, loaded.max_topics) == right
        with snapshot.Publisher(store, tmp_path / "published") as publisher:
            publisher.publish()
            store["a/0"] = "other"
            publisher.publish()
        restored = snapshot.restore(tmp_path / "published", kind=TopicStore)
        assert (restored.max_age, restored.max_topics) == right
        assert entries(restored) == entries(store)
        taken: Any = snapshot.take_over(tmp_path / "published")[0]
        assert (taken.max_age, taken.max_topics) == right
        manifest = json.loads(sorted((tmp_path / "published/_versions").glob("*.json"))[-1].read_text())
        assert manifest["limits"] == dict(zip(("max_age", "max_topics"), right, strict=True))

    def test_are_those_of_the_last_publisher(self, tmp_path: Path) -> None:
        with snapshot.Publisher(self.limited(), tmp_path) as publisher:
            publisher.publish()
        store, publisher = snapshot.take_over(tmp_path, into=TopicStore(MQTT, max_topics=100))
        assert entries(store) == entries(snapshot.restore(tmp_path))
        store["new"] = 1
        publisher.publish()
        restored = snapshot.restore(tmp_path, kind=TopicStore)
        assert (restored.max_age, restored.max_topics, len(restored)) == (None, 100, 6)

    @pytest.mark.parametrize("seed", range(6))
    def test_do_not_make_a_follower_or_a_restored_store_differ(self, tmp_path: Path, seed: int) -> None:
        """Both have all that was published, though either has limits of its own."""
        chance = random.Random(seed)
        store: TopicStore[Any] = TopicStore(MQTT, max_topics=9)
        store["a"] = 0
        with snapshot.Publisher(store, tmp_path) as publisher:
            publisher.publish()
            with snapshot.follow(tmp_path) as follower:
                for step in range(30):
                    for _ in range(chance.randrange(6)):
                        store[f"a/{chance.randrange(30)}"] = step
                    for topic in chance.sample(list(store), min(len(store), chance.randrange(3))):
                        del store[topic]
                    publisher.publish()
                    follower.poll()
                    assert entries(follower.trie) == entries(store)
            held = entries(store)
        restored, publisher = snapshot.take_over(tmp_path)
        before = entries(restored)
        assert before == held or len(before) < len(held), "it may make room at once"
        publisher.publish()
        assert entries(snapshot.restore(tmp_path)) == entries(restored)

    def test_what_a_restored_store_let_go_is_gone_from_the_next_version(self, tmp_path: Path) -> None:
        """By age, which went on while nobody had the store, and by number, if a new one has fewer."""
        store: TopicStore[Any] = TopicStore(MQTT, max_age=1e12)
        for number in range(20):
            store.put(f"a/{number}", number, float(number))
        with snapshot.Publisher(store, tmp_path) as publisher:
            publisher.publish()
        fewer, publisher = snapshot.take_over(tmp_path, into=TopicStore(MQTT, max_topics=8))
        publisher.publish()
        assert 0 < len(fewer) <= 10
        assert entries(snapshot.restore(tmp_path)) == entries(fewer)
        younger, publisher = snapshot.take_over(tmp_path, into=TopicStore(MQTT, max_age=60))
        publisher.publish()
        assert entries(snapshot.restore(tmp_path)) == entries(younger) == []

    def test_of_age_hold_in_a_follower(self, tmp_path: Path) -> None:
        """Though the publisher may have ended."""
        store: TopicStore[Any] = TopicStore(MQTT, max_age=3600)
        store.put("a", 1, time.time() - 3599.7)
        store["b"] = 2
        with snapshot.Publisher(store, tmp_path) as publisher:
            publisher.publish()
        replica: Any = snapshot.follow(tmp_path).trie
        deadline = time.monotonic() + 60
        while "a" in replica:
            assert time.monotonic() < deadline
        assert dict(replica.items()) == {"b": 2}

    @pytest.mark.parametrize(
        "limits", [{}, {"max_age": -1, "max_topics": None}, {"max_age": None, "max_topics": "x"}, []]
    )
    def test_that_are_none_are_damage(self, tmp_path: Path, limits: Any) -> None:
        version = dataclasses.replace(_nothing(MQTT, datetime.datetime.now(datetime.UTC)), limits=None)
        text = version.to_json().replace(b'"limits": null', b'"limits": ' + json.dumps(limits).encode())
        body = text[: -len(_checksum_of(b""))]
        with pytest.raises(snapshot.DamagedError):
            from_json(body + _checksum_of(body), 0, "here")


class TestKinds:
    def test_are_what_was_published_unless_another_is_asked_for(self, tmp_path: Path) -> None:
        sets = SubscriptionTrie(MQTT)
        sets.subscribe("a", "s")
        for name, source in (("set", sets), ("store", filled())):
            with snapshot.Publisher(source, tmp_path / name) as publisher:
                publisher.publish()
            snapshot.write(source, tmp_path / f"{name}.parquet")
            kind: Any = type(source)
            other: Any = TopicStore if kind is SubscriptionTrie else SubscriptionTrie
            for read, place in ((snapshot.restore, name), (snapshot.load, f"{name}.parquet")):
                call: Any = read
                assert type(call(tmp_path / place)) is type(call(tmp_path / place, kind=kind)) is kind
                with pytest.raises(ValueError, match=f"{place} has .*, and kind= asks for a {other.__name__}"):
                    call(tmp_path / place, kind=other)
                with pytest.raises(TypeError, match="kind must be"):
                    call(tmp_path / place, kind=dict)


class TestTakeOverInto:
    def test_makes_a_new_directory_that_of_a_store(self, tmp_path: Path) -> None:
        for step in range(3):
            store, publisher = snapshot.take_over(tmp_path, into=TopicStore(MQTT))
            assert len(store) == step
            with publisher:
                store[f"a/{step}"] = step
                publisher.publish()
        assert [version.changes for version in snapshot.versions(tmp_path)] == [1, 1, 1]

    def test_fills_a_trie_of_any_settings(self, tmp_path: Path) -> None:
        noticed: list[tuple[str, bool]] = []
        for step in range(3):
            empty = SubscriptionTrie(MQTT, index=True, exact=True, on_interest=lambda *told: noticed.append(told))
            trie, publisher = snapshot.take_over(tmp_path, into=empty)
            assert trie is empty
            assert sorted(trie.filters("s")) == [f"a/{number}" for number in range(step)]
            with publisher:
                trie.subscribe(f"a/{step}", "s", qos=step % 3)
                publisher.publish()
        assert [version.changes for version in snapshot.versions(tmp_path)] == [1, 1, 1]
        assert len(noticed) == 1 + 2 + 3
        trie.check()

    def test_gets_what_was_published_meanwhile(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        held: Any = filled()
        publishers = [snapshot.Publisher(held, tmp_path, keep=1)]
        publishers[-1].publish()
        stores = [held]
        for changes in (1, 40):

            def later(*arguments: Any, changes: int = changes) -> Any:
                for number in range(changes):
                    stores[-1]["late"] = number
                    publishers[-1].publish()
                return claimed(*arguments)

            monkeypatch.setattr(taking_over, "claimed", later)
            store, publisher = snapshot.take_over(tmp_path, into=TopicStore(MQTT), keep=1)
            assert entries(store) == entries(stores[-1])
            assert publisher.publish() == publisher.version
            stores.append(store)
            publishers.append(publisher)

    def test_refuses_what_it_cannot_fill(self, tmp_path: Path) -> None:
        full: TopicStore[Any] = TopicStore(MQTT, {"a": 1})
        trie = SubscriptionTrie(MQTT)
        trie.subscribe("a", "s")
        refused: list[tuple[Any, type[Exception], str]] = [
            (full, ValueError, "into= has content"),
            (trie, ValueError, "into= has content"),
            (SubscriptionTrie(MQTT).snapshot(), TypeError, "is a snapshot"),
            (TopicStore(MQTT).snapshot(), TypeError, "snapshot"),
            (SubscriptionTrie(MQTT, weak=True), ValueError, "weak=True"),
            ({}, TypeError, "into= must be an empty"),
        ]
        for into, kind, message in refused:
            with pytest.raises(kind, match=message):
                snapshot.take_over(tmp_path / "new", into=into)
        with pytest.raises(ValueError, match="into= is of the dialect MQTT, not NATS"):
            snapshot.take_over(tmp_path / "new", NATS, into=TopicStore(MQTT))
        assert not (tmp_path / "new").exists()

    def test_refuses_another_kind_or_dialect_and_leaves_it_empty(self, tmp_path: Path) -> None:
        with snapshot.Publisher(filled(), tmp_path / "store") as publisher:
            publisher.publish()
        sets = SubscriptionTrie(MQTT)
        sets.subscribe("a", "s")
        with snapshot.Publisher(sets, tmp_path / "set") as publisher:
            publisher.publish()
        into: Any
        for name, into, message in (
            ("store", SubscriptionTrie(MQTT), "has the topics of a store"),
            ("set", TopicStore(MQTT), "has subscriptions, not topics"),
            ("store", TopicStore(NATS), "of the dialect MQTT, not NATS"),
            ("set", SubscriptionTrie(NATS), "of the dialect MQTT, not NATS"),
        ):
            with pytest.raises(ValueError, match=message):
                snapshot.take_over(tmp_path / name, into=into)
            assert not list(into.subscriptions() if isinstance(into, SubscriptionTrie) else into.entries())
        assert sets.subscribe("b", "s")
        with snapshot.Publisher(sets, tmp_path / "set") as publisher:
            assert publisher.publish()

    def test_that_fails_leaves_it_empty(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with snapshot.Publisher(filled(), tmp_path) as publisher:
            publisher.publish()

        def fails(*_: Any) -> Any:
            raise OSError(28, "no space")

        monkeypatch.setattr(taking_over, "claimed", fails)
        store: TopicStore[Any] = TopicStore(MQTT)
        with pytest.raises(OSError, match="no space"):
            snapshot.take_over(tmp_path, into=store)
        assert len(store) == 0
        monkeypatch.undo()
        snapshot.take_over(tmp_path, into=store)
        assert entries(store) == entries(filled())
