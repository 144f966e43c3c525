"""Messages matched by Spark on two cores."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import snapshot
from benchmarks.model import Benchmark, Contender, Group, check
from snapshot import held_sets
from subtrie import SubscriptionTrie

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

WORDS = (20, 50, 50, 40, 20)
"""How many different words there are at each place of a topic."""

MANY_WORDS = (*WORDS[:-1], 10 * WORDS[-1])
"""With these, ten times as many subscriptions give a message as many matches: no filter is wild at the last place."""

SHORT_WORDS = (5, 5, 5, 5, 5, 5, 5, 5)
SIGNATURES = 300
"""How many different ways to have wildcards there are among filters of as many words as these."""

HOT = "w0.w0.w0.w0.w0"
HOT_MESSAGES = 20

SAMPLE = 10_000
"""The same matches returned again and again, to show the cost of the rows alone."""


def session() -> SparkSession:
    """Spark with two cores."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


Way = tuple[tuple[int, ...], int | None]
"""The places of the one-word wildcards in a filter, and that of a many-words wildcard."""

TEN_WAYS: list[Way] = [(tuple(place for place in range(4) if wild >> place & 1), None) for wild in range(1, 11)]


def _ways(count: int, places: int) -> list[Way]:
    """So many ways to have wildcards; those with the fewest come first. Each way is a signature of its own."""
    ways = [
        (ones, many)
        for wildcards in range(1, places)
        for many in (None, *range(places))
        for ones in combinations([place for place in range(places) if place != many], wildcards - (many is not None))
    ]
    return ways[:count]


def _filter(chance: random.Random, ways: list[Way], places: tuple[int, ...]) -> str:
    """A random filter; one in five has wildcards."""
    words = [f"w{chance.randrange(count)}" for count in places]
    if chance.random() < 0.2:
        ones, many = ways[chance.randrange(len(ways))]
        for place in ones:
            words[place] = "*"
        if many is not None:
            words[many] = "#"
    return ".".join(words)


def _trie(
    subscriptions: int, ways: list[Way] = TEN_WAYS, hot: int = 0, places: tuple[int, ...] = WORDS
) -> SubscriptionTrie:
    chance = random.Random(1)
    trie = SubscriptionTrie()
    trie.subscribe_many(
        (_filter(chance, ways, places), f"s{chance.randrange(5_000)}", {"qos": 1}) for _ in range(subscriptions)
    )
    trie.subscribe_many((HOT, f"hot{number}") for number in range(hot))
    return trie


def _messages(
    spark: SparkSession, count: int, *, skewed: bool = False, hot: int = 0, places: tuple[int, ...] = WORDS
) -> DataFrame:
    draw = "pow(rand({place}), 8)" if skewed else "rand({place})"
    words = ", ".join(
        f"concat('w', cast(floor({draw.format(place=place)} * {size}) as int))" for place, size in enumerate(places)
    )
    topic = f"if(id % {count // max(hot, 1)} < {min(hot, 1)}, '{HOT}', concat_ws('.', {words}))"
    frame = spark.range(count, numPartitions=2).selectExpr("id", f"{topic} as topic").cache()
    check(frame.count() == count, "messages are missing")
    return frame


def _groups(quick: bool) -> Iterator[Group]:
    spark = session()
    messages, small = (2_000, 200) if quick else (1_000_000, 100_000)
    yield _group("uniform", _trie(small), _messages(spark, messages), small)
    yield _group("skewed topics", _trie(small), _messages(spark, messages // 10, skewed=True), small)
    varied = _trie(small, _ways(SIGNATURES - 1, len(SHORT_WORDS)), places=SHORT_WORDS)  # one more has no wildcards
    topics = _messages(spark, messages // 10, places=SHORT_WORDS)
    yield _group(f"{SIGNATURES} signatures", varied, topics, small)
    hot = _trie(small // 10, hot=small)
    many = _messages(spark, messages // 10, hot=HOT_MESSAGES)
    yield _group(f"one filter with as many subscribers, {HOT_MESSAGES} messages", hot, many, small)


def _group(what: str, trie: SubscriptionTrie, messages: DataFrame, subscriptions: int) -> Group:
    from pyspark.sql.types import IntegerType, StructField, StructType

    topics = messages.groupBy("topic").count().collect()
    matches = sum(row["count"] * sum(1 for _ in trie.entries(row["topic"])) for row in topics)
    group: Group = []
    rows = snapshot.match_spark(messages, trie)
    summed = rows.selectExpr("count(*)", "sum(hash(id, filter, subscriber))")
    group.append(Contender(f"{what}: trie", partial(_run, summed, matches), messages.count(), float(subscriptions)))
    sample = _as_given_back(rows.limit(SAMPLE).toArrow())
    schema = StructType([*rows.schema.fields, StructField(held_sets.NUMBER, IntegerType())])
    alone = messages.mapInArrow(partial(_same_rows, sample=sample, times=matches / messages.count()), schema)
    summed = alone.selectExpr("count(*)", "sum(hash(id, filter, subscriber))")
    floor = partial(_run, summed, matches, tolerance=2 + matches // 1_000)
    return [*group, Contender(f"{what}: rows without matching", floor, messages.count(), float(subscriptions))]


def _as_given_back(rows: pa.Table) -> pa.RecordBatch:
    """The rows as workers give them back: with a number for their options."""
    import pyarrow as pa

    place = rows.schema.get_field_index("options")
    rows = rows.set_column(place, "options", pa.nulls(len(rows), rows.schema.field(place).type))
    numbers = pa.array([0] * len(rows), pa.int32())
    (batch,) = rows.append_column(held_sets.NUMBER, numbers).combine_chunks().to_batches()
    return batch


def _same_rows(batches: Iterator[pa.RecordBatch], sample: pa.RecordBatch, times: float) -> Iterator[pa.RecordBatch]:
    """The same number of matches for each row, whatever is in it."""
    owed = 0.0
    for batch in batches:
        owed += len(batch) * times
        while owed >= len(sample):
            owed -= len(sample)
            yield sample
    yield sample[: round(owed)]


def _run(summed: DataFrame, matches: int, tolerance: int = 0) -> float:
    start = time.perf_counter()
    row = summed.first()
    seconds = time.perf_counter() - start
    wrong = row is None or abs(row[0] - matches) > tolerance
    check(not wrong, f"Spark found {row}, the trie {matches} matches")
    return seconds


BENCHMARKS = [
    Benchmark(
        name="spark-match",
        title="Messages matched by Spark, local[2], by number of subscriptions",
        operation="message",
        groups=_groups,
        repeats=3,
        x_label="subscriptions",
        note="Warm: the workers have the set. Each answer has as many matches as `entries` names. Rows without "
        "matching are a lower bound for the trie: Python workers return as many rows, always the same ones.",
    ),
]
