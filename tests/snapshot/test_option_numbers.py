"""Options as numbers of a table in the plan: rows keep their options, whether or not these are in the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

import snapshot
from snapshot import held_sets, option_numbers, worker
from snapshot.option_numbers import OptionMap, numbered, renumbered
from subtrie import SubscriptionTrie

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAPS = pa.map_(pa.string(), pa.string())


def column(*options: OptionMap | None) -> pa.MapArray:
    return pa.array([None if each is None else list(each) for each in options], MAPS)


QOS: OptionMap = (("qos", "1"),)
NULL: OptionMap = (("no_local", None), ("qos", "1"))


class TestNumbered:
    def test_numbers_follow_what_is_known(self) -> None:
        numbers, options = numbered(column(QOS, (), NULL, QOS), [NULL])
        assert options == (NULL, QOS, ())
        assert numbers.to_pylist() == [1, 2, 0, 1]

    def test_of_many_different_options_the_first_have_numbers(self) -> None:
        rows: list[OptionMap] = [(("id", str(number)),) for number in range(2_000)]
        numbers, options = numbered(column(*rows), ())
        assert options == tuple(rows[: option_numbers.MOST])
        assert numbers.to_pylist() == [*range(option_numbers.MOST), *[None] * (2_000 - option_numbers.MOST)]

    def test_long_options_have_none(self) -> None:
        long: OptionMap = (("note", "n" * option_numbers.LONGEST),)
        numbers, options = numbered(column(long, QOS), ())
        assert (numbers.to_pylist(), options) == ([None, 0], (QOS,))

    def test_nor_have_those_of_a_column_with_nulls_and_of_an_empty_one(self) -> None:
        assert numbered(column(QOS, None), ())[0].to_pylist() == [None, None]
        assert len(numbered(column(), ())[0]) == 0

    def test_a_plan_may_know_others(self) -> None:
        assert renumbered([QOS, (), NULL], [NULL, QOS]).to_pylist() == [1, None, 0]


def test_a_worker_gives_back_a_number_or_the_options() -> None:
    trie = SubscriptionTrie()
    trie.subscribe("a", "alice", qos=1)
    trie.subscribe("a", "bob", qos=2)
    held = held_sets.built(snapshot.to_arrow(trie).select(held_sets.JOINED).to_batches(), trie.dialect)
    names = ["topic", *held_sets.JOINED, held_sets.NUMBER]
    (batch,) = worker.join(
        [pa.record_batch({"topic": ["a"]})], worker.Job(0, None, 1, names, "FAILFAST", options=(QOS,)), held
    )
    found = {row["subscriber"]: (row["options"], row[held_sets.NUMBER]) for row in batch.to_pylist()}
    assert found == {"alice": (None, 0), "bob": ([("qos", "2")], None)}
    held.rows.check()
    trie.check()


def test_spark_shows_all_options_alike(spark: SparkSession) -> None:
    trie = SubscriptionTrie()
    trie.subscribe("a", "none")
    trie.subscribe("a", "null", no_local=None)
    trie.subscribe("a", "quoted", note="'\\\"\n\x00é")
    for number in range(option_numbers.MOST + 20):
        trie.subscribe("a", f"s{number}", id=number)
    expected = {
        held.subscriber: {name: None if value is None else str(value) for name, value in held.options.items()}
        for held in trie.subscriptions()
    }
    messages = spark.createDataFrame([("a",)], "topic string")
    for plan in ("trie", "join"):
        rows = snapshot.match_spark(messages, trie, plan=plan).collect()  # type: ignore[arg-type]
        assert {row["subscriber"]: row["options"] for row in rows} == expected
    trie.check()
