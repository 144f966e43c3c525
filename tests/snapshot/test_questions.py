"""Questions about a set, and the errors if Spark cannot answer."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from snapshot import environment, matching, questions, sets
from subtrie import MQTT, SubscriptionTrie

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def trie() -> Iterator[SubscriptionTrie]:
    trie = SubscriptionTrie()
    for filter, subscriber in [("a.*", "alice"), ("a.*", "bob"), ("#", "alice"), ("x.y", "carol"), ("b", "bob")]:
        trie.subscribe(filter, subscriber)
    yield trie
    trie.check()


@pytest.fixture
def messages(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("a.1",), ("a.1",), ("a.2",), ("b",), (None,)], "topic string")


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


class TestQuestions:
    def test_busiest_filters(self, messages: DataFrame, trie: SubscriptionTrie) -> None:
        busiest = snapshot.busiest_filters(messages, trie)
        assert busiest.columns == ["filter", "messages", "subscriptions", "deliveries"]
        assert rows(busiest) == [("#", 4, 1, 4), ("a.*", 3, 2, 6), ("b", 1, 1, 1)]

    def test_dead_filters(self, messages: DataFrame, trie: SubscriptionTrie) -> None:
        assert rows(snapshot.dead_filters(messages, trie)) == [("x.y", 1)]

    @pytest.mark.parametrize("is_published", [False, True])
    def test_dead_filters_of_a_set_that_changes_meanwhile(
        self, messages: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_published: bool
    ) -> None:
        """The set is taken once. Whenever it would be taken again, the other of two filters is there."""
        trie, taken = SubscriptionTrie(), 0
        with snapshot.Publisher(trie, tmp_path) as publisher:

            def changed() -> None:
                nonlocal taken
                taken += 1
                there, gone = ("a.*", "a.#") if taken % 2 else ("a.#", "a.*")
                trie.subscribe(there, "ann")
                trie.unsubscribe_many(held for held in list(trie.subscriptions()) if held.filter == gone)
                publisher.publish()

            for module in (matching, questions):
                real = sets.source_of
                monkeypatch.setattr(module, "source_of", lambda *given, real=real: (changed(), real(*given))[1])
            source = str(tmp_path) if is_published else trie
            changed()
            assert rows(snapshot.dead_filters(messages, source)) == []
        assert taken > 1

    def test_of_a_directory_whose_name_has_brackets(
        self, spark: SparkSession, messages: DataFrame, trie: SubscriptionTrie, tmp_path: Path
    ) -> None:
        where = tmp_path / "a[b]{c,d}*? \\e"
        with snapshot.Publisher(trie, where) as publisher:
            publisher.publish()
            trie.subscribe("never", "ann")
            publisher.publish()
        assert rows(snapshot.dead_filters(messages, where, plan="join")) == [("never", 1), ("x.y", 1)]
        assert rows(snapshot.dead_filters(messages, where, plan="trie")) == [("never", 1), ("x.y", 1)]
        assert [row["added"] for row in snapshot.growth(where, spark).collect()] == [0, 1]

    def test_topics_per_subscriber(self, messages: DataFrame, trie: SubscriptionTrie) -> None:
        topics = snapshot.topics_per_subscriber(messages, trie)
        assert topics.columns == ["subscriber", "topics", "messages"]
        assert rows(topics) == [("alice", 3, 4), ("bob", 3, 4)]

    def test_overlaps(self, spark: SparkSession) -> None:
        chance = random.Random(3)
        trie = SubscriptionTrie(MQTT)
        for _ in range(40):
            filter = "/".join(chance.choices("ab+", k=chance.randrange(1, 4))) + chance.choice(["", "/#"])
            trie.subscribe(filter, "s")
        filters = [held.filter for held in trie.subscriptions()]
        words = {filter: MQTT.split_filter(filter) for filter in filters}
        wanted = {
            (one, two, relation(words[one], words[two]))
            for one in filters
            for two in filters
            if one != two and MQTT.overlaps(words[one], words[two])
        }
        trie.subscribe(f"$share/g/{filters[0]}", "s")
        found = rows(snapshot.overlaps(trie, spark))
        assert len(found) == len(wanted)
        assert set(found) == wanted
        assert len({kind for _, _, kind in wanted}) >= 3
        trie.check()

    def test_growth(self, spark: SparkSession, trie: SubscriptionTrie, tmp_path: Path) -> None:
        with snapshot.Publisher(trie, tmp_path) as publisher:
            publisher.publish()
            assert rows(snapshot.growth(tmp_path, spark).drop("time")) == [(1, 5, 0, 0, 0)]
            trie.subscribe("new", "dave")
            trie.subscribe("b", "bob", qos=1)
            trie.unsubscribe("x.y", "carol")
            publisher.publish()
        growth = snapshot.growth(tmp_path, spark)
        assert growth.columns == ["version", "time", "subscriptions", "added", "removed", "updated"]
        assert rows(growth.drop("time")) == [(1, 5, 0, 0, 0), (2, 5, 1, 1, 1)]
        times = [version.time for version in snapshot.versions(tmp_path)]
        assert rows(growth.selectExpr("unix_micros(time)")) == [(round(time.timestamp() * 1e6),) for time in times]


def relation(one: tuple[str, ...], two: tuple[str, ...]) -> str:
    covers, covered = MQTT.subsumes(one, two), MQTT.subsumes(two, one)
    return "equals" if covers and covered else "covers" if covers else "is covered by" if covered else "overlaps"


class TestEnvironment:
    def test_of_these_workers_lacks_nothing(self, spark: SparkSession) -> None:
        assert environment.lack_of_workers(spark) is None
        assert environment._ask(spark)[1:] == (f"{sys.version_info[0]}.{sys.version_info[1]}", "")

    def test_of_workers_that_cannot_start_is_told_by_spark(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        other = tmp_path / "python"
        other.write_text("#!/bin/sh\necho ModuleNotFoundError: no encodings >&2; exit 1\n")
        other.chmod(0o700)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(other))
        assert environment._ask(spark) == "ModuleNotFoundError: no encodings"

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            (
                ("/usr/bin/python3", "3.11", "subtrie (No module named 'subtrie')"),
                "run /usr/bin/python3, which lacks sub",
            ),
            (
                ("/usr/bin/python3", "2.7", ""),
                r"run /usr/bin/python3, Python 2.7, and the driver Python 3.\d+; set PYSP",
            ),
            ("ModuleNotFoundError: No module named 'pyarrow'", "cannot run this package: ModuleNotFoundError"),
        ],
    )
    def test_that_lacks_something_is_told_in_one_sentence(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, trie: SubscriptionTrie, answer: Any, message: str
    ) -> None:
        monkeypatch.setattr(environment, "_asked", {})
        monkeypatch.setattr(environment, "_ask", lambda spark: answer)
        with pytest.raises(snapshot.WorkersError, match=message) as raised:
            snapshot.match_spark(spark.createDataFrame([("a",)], "topic string"), trie, plan="trie")
        assert "\n" not in str(raised.value)

    def test_takes_the_line_that_says_what_happened(self) -> None:
        trace = (
            'An exception was thrown:\nTraceback (most recent call last):\n  File "x"\nModuleNotFoundError: no y\n\n'
        )
        assert environment._last_line(trace) == "ModuleNotFoundError: no y"
        assert environment._last_line("[PYTHON_VERSION_MISMATCH] other\n\tat java") == "[PYTHON_VERSION_MISMATCH] other"

    def test_without_a_session_is_told(self, trie: SubscriptionTrie) -> None:
        nothing: Any = None
        for ask in (lambda: snapshot.to_spark(trie, nothing), lambda: snapshot.register(nothing)):
            with pytest.raises(TypeError, match=r"spark must be a SparkSession, not NoneType; SparkSession.builder"):
                ask()

    def test_with_a_stopped_session_is_told(self, trie: SubscriptionTrie) -> None:
        class Context:
            _jsc = None

        class Stopped:
            sparkContext = Context()

            def createDataFrame(self) -> None: ...

        stopped: Any = Stopped()
        with pytest.raises(RuntimeError, match="the Spark session was stopped"):
            snapshot.to_spark(trie, stopped)
