"""Sets, their differences and questions about them as Spark data frames, and the errors if Spark cannot answer."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from snapshot import columns, environment, matching, questions, sets
from subtrie import MQTT, SubscriptionTrie
from tests.snapshot.support import trie_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "struct<filter:string,words:array<string>,depth:int,wildcards:int,subscriber:string,"
    "options:map<string,string>,dialect:string,group:string,snapshot_id:string,taken_at:timestamp>"
)


@pytest.fixture
def trie() -> Iterator[SubscriptionTrie]:
    trie = trie_of(("a.*", "alice", {"qos": 1}), ("a.*", "bob"), ("#", "alice"), ("x.y", "carol"), ("b", "bob"))
    yield trie
    trie.check()


@pytest.fixture
def messages(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("a.1",), ("a.1",), ("a.2",), ("b",), (None,)], "topic string")


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def as_texts(trie: SubscriptionTrie) -> set[tuple[str, str, frozenset[tuple[str, str | None]]]]:
    """The content of a trie, where every value that is not a string is the text that exports have for it."""
    table = snapshot.to_arrow(trie, key=str).select(["filter", "subscriber", "options"])
    return {(row["filter"], row["subscriber"], frozenset(row["options"])) for row in table.to_pylist()}


class TestFrames:
    """What `to_arrow` and `from_arrow` do with columns is asked without Spark."""

    def test_show_the_instant_of_the_call_as_a_file_does(
        self, spark: SparkSession, trie: SubscriptionTrie, tmp_path: Path
    ) -> None:
        """And files that Spark has written are loaded."""
        frame, wanted = snapshot.to_spark(trie, spark), as_texts(trie)
        snapshot.write(trie, tmp_path / "set.parquet")
        trie.clear()
        assert frame.schema.simpleString() == SCHEMA
        shown = spark.read.parquet(str(tmp_path / "set.parquet"))
        assert frame.schema == snapshot.to_spark(trie, spark).schema
        assert shown.drop("types").schema == frame.drop("words", "depth", "wildcards").schema
        frame.repartition(2).write.parquet(str(tmp_path / "spark"))
        for built in (snapshot.from_spark(shown), snapshot.load(tmp_path / "spark")):
            assert as_texts(built) == wanted
        assert snapshot.to_spark(trie_of(("a", (1, 2))), spark, key=str).collect()[0]["subscriber"] == "(1, 2)"

    def test_of_changes_name_each_where_long_texts_make_batches_short(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(columns, "BATCH_TEXT", 3)
        older = trie_of(("a", "s"), ("b", "s"), ("d", "s"))
        newer = trie_of(("a", "s", {"n": 1}), ("c", "s"), ("d", "s"), ("e", "s"))
        changes = snapshot.diff_to_spark(newer, older, spark).orderBy("filter").collect()
        wanted = [("a", "updated"), ("b", "removed"), ("c", "added"), ("e", "added")]
        assert [(row["filter"], row["change"]) for row in changes] == wanted
        with pytest.raises(ValueError, match="both have the key '7'"):  # of one that came and one that went
            snapshot.diff_to_spark(trie_of(("a", "7")), trie_of(("a", 7)), spark)

    def test_need_a_set_and_a_session(self, spark: SparkSession, trie: SubscriptionTrie) -> None:
        nothing: Any = None
        for export in (snapshot.to_spark, lambda wrong, on: snapshot.diff_to_spark(trie, wrong, on)):
            with pytest.raises(
                TypeError, match="the source must be a SubscriptionTrie or a snapshot of one, not NoneType"
            ):
                export(nothing, spark)
        for ask in (lambda: snapshot.to_spark(trie, nothing), lambda: snapshot.register(nothing)):
            with pytest.raises(TypeError, match=r"spark must be a SparkSession, not NoneType; SparkSession.builder"):
                ask()


class TestQuestions:
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
            changed()
            assert rows(snapshot.dead_filters(messages, str(tmp_path) if is_published else trie)) == []
        assert taken > 1

    def test_of_a_directory_whose_name_has_brackets(
        self, spark: SparkSession, messages: DataFrame, trie: SubscriptionTrie, tmp_path: Path
    ) -> None:
        where = tmp_path / "a[b]{c,d}*? \\e"
        with snapshot.Publisher(trie, where) as publisher:
            publisher.publish()
            trie.subscribe("never", "ann")
            trie.subscribe("b", "bob", qos=1)
            trie.unsubscribe("a.*", "alice")
            publisher.publish()
        assert rows(snapshot.dead_filters(messages, where)) == [("never", 1), ("x.y", 1)]
        growth = snapshot.growth(where, spark)
        assert rows(growth.drop("time")) == [(1, 5, 5, 0, 0), (2, 5, 1, 1, 1)]
        times = [version.time for version in snapshot.versions(where)]
        assert rows(growth.selectExpr("unix_micros(time)")) == [(round(time.timestamp() * 1e6),) for time in times]

    def test_overlaps(self, spark: SparkSession) -> None:
        chance = random.Random(3)
        trie = SubscriptionTrie(MQTT)
        for _ in range(40):
            filter = "/".join(chance.choices("ab+", k=chance.randrange(1, 4))) + chance.choice(["", "/#"])
            trie.subscribe(filter, "s")
        words = {held.filter: MQTT.split_filter(held.filter) for held in trie.subscriptions()}
        wanted = {
            (one, two, relation(words[one], words[two]))
            for one in words
            for two in words
            if one != two and MQTT.overlaps(words[one], words[two])
        }
        trie.subscribe(f"$share/g/{min(words)}", "s")
        found = rows(snapshot.overlaps(trie, spark))
        assert len(found) == len(wanted)
        assert set(found) == wanted
        assert len({kind for _, _, kind in wanted}) >= 3
        trie.check()


def relation(one: tuple[str, ...], two: tuple[str, ...]) -> str:
    covers, covered = MQTT.subsumes(one, two), MQTT.subsumes(two, one)
    return "equals" if covers and covered else "covers" if covers else "is covered by" if covered else "overlaps"


LACKS: list[tuple[Any, str]] = [
    (("/usr/bin/python3", "3.11", "subtrie (No module named 'subtrie')"), "run /usr/bin/python3, which lacks sub"),
    (("/usr/bin/python3", "2.7", ""), r"run /usr/bin/python3, Python 2.7, and the driver Python 3.\d+; set PYSP"),
    ("ModuleNotFoundError: No module named 'pyarrow'", "cannot run this package: ModuleNotFoundError"),
]


class TestEnvironment:
    def test_is_asked_what_it_lacks_and_told_in_one_sentence(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, trie: SubscriptionTrie, tmp_path: Path
    ) -> None:
        environment.require_workers(spark)
        assert environment._ask(spark)[1:] == (f"{sys.version_info[0]}.{sys.version_info[1]}", "")
        for answer, says in LACKS:
            monkeypatch.setattr(environment, "_asked", {})
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(environment, "_ask", lambda spark, answer=answer: answer)
                with pytest.raises(snapshot.WorkersError, match=says) as raised:
                    snapshot.match_spark(spark.createDataFrame([("a",)], "topic string"), trie)
            assert "\n" not in str(raised.value)
        other = tmp_path / "python"
        other.write_text("#!/bin/sh\necho ModuleNotFoundError: no encodings >&2; exit 1\n")
        other.chmod(0o700)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(other))
        assert environment._ask(spark) == "ModuleNotFoundError: no encodings"

    def test_is_named_by_the_line_that_says_what_happened(self) -> None:
        trace = (
            'An exception was thrown:\nTraceback (most recent call last):\n  File "x"\nModuleNotFoundError: no y\n\n'
        )
        assert environment._last_line(trace) == "ModuleNotFoundError: no y"
        assert environment._last_line("[PYTHON_VERSION_MISMATCH] other\n\tat java") == "[PYTHON_VERSION_MISMATCH] other"

    def test_with_a_stopped_session_is_told(self, trie: SubscriptionTrie) -> None:
        stopped: Any = SimpleNamespace(createDataFrame=None, sparkContext=SimpleNamespace(_jsc=None))
        with pytest.raises(RuntimeError, match="the Spark session was stopped"):
            snapshot.to_spark(trie, stopped)
