"""Subscription sets, and differences of two, as Spark data frames."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import snapshot
from ctrie import Ctrie
from snapshot import columns
from subtrie import AMQP, MQTT, SubscriptionTrie, TopicError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = (
    "struct<filter:string,words:array<string>,depth:int,wildcards:int,subscriber:string,"
    "options:map<string,string>,dialect:string,group:string,snapshot_id:string,taken_at:timestamp>"
)


@pytest.fixture
def trie() -> Iterator[SubscriptionTrie]:
    trie = SubscriptionTrie()
    trie.subscribe("stock.*", "alice", qos=1)
    trie.subscribe("stock.#", "bob")
    trie.subscribe("", "alice")
    yield trie
    trie.check()


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: (row["filter"], row["subscriber"]))


class TestToSpark:
    def test_has_the_columns_and_rows_of_the_arrow_table(self, spark: SparkSession, trie: SubscriptionTrie) -> None:
        frame = snapshot.to_spark(trie, spark)
        assert frame.schema.simpleString() == SCHEMA
        volatile = ["snapshot_id", "taken_at"]
        expected = snapshot.to_arrow(trie).drop_columns(volatile).to_pylist(maps_as_pydicts="strict")
        assert rows(frame.drop(*volatile)) == sorted(expected, key=lambda row: (row["filter"], row["subscriber"]))

    def test_of_an_empty_set_has_the_same_schema(self, spark: SparkSession, trie: SubscriptionTrie) -> None:
        empty = snapshot.to_spark(SubscriptionTrie(), spark)
        assert empty.schema == snapshot.to_spark(trie, spark).schema
        assert empty.count() == 0

    def test_holds_the_instant_at_which_it_was_taken(self, spark: SparkSession, trie: SubscriptionTrie) -> None:
        before = datetime.datetime.now(datetime.UTC)
        frame = snapshot.to_spark(trie, spark)
        after = datetime.datetime.now(datetime.UTC)
        microseconds = {row[0] for row in frame.selectExpr("unix_micros(taken_at)").collect()}
        assert len(microseconds) == 1
        assert before.timestamp() * 1e6 - 1 <= microseconds.pop() <= after.timestamp() * 1e6 + 1

    def test_goes_on_showing_a_snapshot_of_a_trie_that_changes(
        self, spark: SparkSession, trie: SubscriptionTrie
    ) -> None:
        frame = snapshot.to_spark(trie, spark)
        trie.clear()
        assert frame.count() == 3

    def test_asks_for_keys(self, spark: SparkSession) -> None:
        trie = SubscriptionTrie()
        trie.subscribe("a", (1, 2))
        assert rows(snapshot.to_spark(trie, spark, key=str))[0]["subscriber"] == "(1, 2)"
        trie.check()

    def test_is_what_spark_reads_from_a_file(self, spark: SparkSession, trie: SubscriptionTrie, tmp_path: Path) -> None:
        path = tmp_path / "set.parquet"
        snapshot.write(trie, path)
        read, exported = spark.read.parquet(str(path)), snapshot.to_spark(trie, spark)
        assert read.schema == exported.schema
        volatile = ["snapshot_id", "taken_at"]
        assert rows(read.drop(*volatile)) == rows(exported.drop(*volatile))

    def test_refuses_what_is_no_subscription_trie(self, spark: SparkSession) -> None:
        source: Any = Ctrie()
        with pytest.raises(TypeError, match="the source must be a SubscriptionTrie or a snapshot of one, not Ctrie"):
            snapshot.to_spark(source, spark)


class TestBackFromSpark:
    def test_rows_become_a_trie_again(self, spark: SparkSession, trie: SubscriptionTrie) -> None:
        frame = snapshot.to_spark(trie, spark)
        built = snapshot.from_spark(frame.repartition(3))
        assert held_as_texts(built) == held_as_texts(trie)
        filter = next(trie.subscriptions()).filter
        fewer = snapshot.from_spark(frame.where(frame["filter"] != filter).select("subscriber", "filter"), trie.dialect)
        assert {held.filter for held in built.subscriptions()} - {held.filter for held in fewer.subscriptions()} == {
            filter
        }
        with pytest.raises(ValueError, match="there is no column 'subscriber'"):
            snapshot.from_spark(frame.select("filter"), trie.dialect)
        with pytest.raises(ValueError, match="no column names the dialect: give dialect="):
            snapshot.from_spark(frame.select("filter", "subscriber"))
        twice = frame.unionByName(frame)
        with pytest.raises(ValueError, match=r"row \d+: subscriber .* is on .* already"):
            snapshot.from_spark(twice)
        built.check()

    def test_files_that_spark_has_written_are_loaded(
        self, spark: SparkSession, trie: SubscriptionTrie, tmp_path: Path
    ) -> None:
        snapshot.write(trie, tmp_path / "ours.parquet")
        written = str(tmp_path / "spark")
        spark.read.parquet(str(tmp_path / "ours.parquet")).repartition(2).write.parquet(written)
        loaded = snapshot.load(written)
        assert held_as_texts(loaded) == held_as_texts(trie)
        bad = spark.read.parquet(written).selectExpr("concat(filter, '.', char(0)) as filter", "subscriber", "dialect")
        bad.write.parquet(str(tmp_path / "bad"))
        with pytest.raises(TopicError, match="row 0: forbidden character"):
            snapshot.load(tmp_path / "bad")
        loaded.check()


def held_as_texts(trie: SubscriptionTrie) -> set[tuple[str, str, frozenset[tuple[str, str | None]]]]:
    """The content of a trie, where every value that is not a string is the text that exports have for it."""
    table = snapshot.to_arrow(trie, key=str).select(["filter", "subscriber", "options"])
    return {(row["filter"], row["subscriber"], frozenset(row["options"])) for row in table.to_pylist()}


class TestDiffToSpark:
    def test_tells_what_was_added_removed_and_updated(self, spark: SparkSession, trie: SubscriptionTrie) -> None:
        older = trie.snapshot()
        trie.subscribe("new.*", "carol", qos=2)
        trie.unsubscribe("stock.#", "bob")
        trie.subscribe("stock.*", "alice", qos=0)
        changes = rows(snapshot.diff_to_spark(trie, older, spark))
        assert [(row["filter"], row["subscriber"], row["options"], row["change"]) for row in changes] == [
            ("new.*", "carol", {"qos": "2"}, "added"),
            ("stock.#", "bob", {}, "removed"),
            ("stock.*", "alice", {"qos": "0"}, "updated"),
        ]

    def test_has_the_columns_of_the_set_and_the_change(self, spark: SparkSession, trie: SubscriptionTrie) -> None:
        frame = snapshot.diff_to_spark(trie, trie.snapshot(), spark)
        assert frame.columns == [*snapshot.to_spark(trie, spark).columns, "old_options", "new_options", "change"]
        assert frame.count() == 0

    def test_leaves_out_what_went_and_came_back(self, spark: SparkSession, trie: SubscriptionTrie) -> None:
        older = trie.snapshot()
        trie.unsubscribe("stock.*", "alice")
        trie.subscribe("stock.*", "alice", qos=1)
        assert snapshot.diff_to_spark(trie, older, spark).count() == 0

    def test_turns_the_older_set_into_the_newer(self, spark: SparkSession, trie: SubscriptionTrie) -> None:
        older = trie.snapshot()
        for number in range(100):
            trie.subscribe(f"a.{number}", "alice")
        trie.unsubscribe("", "alice")
        changes = rows(snapshot.diff_to_spark(trie, older, spark))
        replayed = {(row["filter"], row["subscriber"]) for row in rows(snapshot.to_spark(older, spark))}
        replayed |= {(row["filter"], row["subscriber"]) for row in changes if row["change"] == "added"}
        replayed -= {(row["filter"], row["subscriber"]) for row in changes if row["change"] == "removed"}
        assert replayed == {(row["filter"], row["subscriber"]) for row in rows(snapshot.to_spark(trie, spark))}

    def test_names_the_change_of_each_row_where_long_texts_make_batches_short(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(columns, "BATCH_TEXT", 3)
        older, newer = SubscriptionTrie(), SubscriptionTrie()
        older.subscribe_many([("a", "s"), ("b", "s"), ("d", "s")])
        newer.subscribe_many([("a", "s", {"n": 1}), ("c", "s"), ("d", "s"), ("e", "s")])
        changes = rows(snapshot.diff_to_spark(newer, older, spark))
        assert [(row["filter"], row["change"]) for row in changes] == [
            ("a", "updated"),
            ("b", "removed"),
            ("c", "added"),
            ("e", "added"),
        ]

    def test_compares_with_a_set_that_was_kept_in_a_file(
        self, spark: SparkSession, trie: SubscriptionTrie, tmp_path: Path
    ) -> None:
        snapshot.write(trie, tmp_path / "set.parquet")
        trie.unsubscribe("", "alice")
        trie.subscribe("stock.*", "alice", qos=2)
        changes = rows(snapshot.diff_to_spark(trie, snapshot.load(tmp_path / "set.parquet"), spark))
        assert [(row["filter"], row["change"]) for row in changes] == [("", "removed"), ("stock.*", "updated")]

    def test_of_two_dialects_is_an_error(self, spark: SparkSession) -> None:
        with pytest.raises(ValueError, match="different dialects have no difference: MQTT, AMQP"):
            snapshot.diff_to_spark(SubscriptionTrie(MQTT), SubscriptionTrie(AMQP), spark)

    @pytest.mark.parametrize("wrong", [{}, None, Ctrie()], ids=lambda wrong: type(wrong).__name__)
    def test_with_what_is_no_subscription_trie_is_an_error(
        self, spark: SparkSession, trie: SubscriptionTrie, wrong: Any
    ) -> None:
        wanted = f"the source must be a SubscriptionTrie or a snapshot of one, not {type(wrong).__name__}"
        with pytest.raises(TypeError, match=wanted):
            snapshot.diff_to_spark(trie, wrong, spark)
        with pytest.raises(TypeError, match=wanted):
            snapshot.diff_to_spark(wrong, trie, spark)

    def test_one_key_for_a_subscriber_that_came_and_one_that_went_is_an_error(self, spark: SparkSession) -> None:
        older, newer = SubscriptionTrie(), SubscriptionTrie()
        older.subscribe("a", 7)
        newer.subscribe("a", "7")
        with pytest.raises(ValueError, match="both have the key '7'"):
            snapshot.diff_to_spark(newer, older, spark)
