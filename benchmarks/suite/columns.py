"""Sets as columns: rows per second out of a trie and back, by each method."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import snapshot
from benchmarks.model import Benchmark, Contender, Group, check
from benchmarks.suite.spark_match import session
from benchmarks.workloads import growing_filters
from subtrie import SubscriptionTrie

LARGE = 1_000_000


def _trie(count: int) -> SubscriptionTrie:
    trie = SubscriptionTrie()
    trie.subscribe_many(
        (filter, f"subscriber-{number % 5000}", {"qos": number % 3})
        for number, filter in enumerate(growing_filters(count))
    )
    check(len(trie) == count, "the trie lacks filters")
    return trie


def _ways(quick: bool) -> Iterator[Group]:
    count = 10_000 if quick else LARGE
    trie, spark = _trie(count), session()
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "set.parquet"))
        snapshot.write(trie, path)
        table = snapshot.to_arrow(trie)
        ways: dict[str, Callable[[], Any]] = {
            "to_arrow": lambda: snapshot.to_arrow(trie),
            "to_reader, read": lambda: _read(trie),
            "write": partial(snapshot.write, trie, path),
            "load": lambda: snapshot.load(path),
            "from_arrow": lambda: snapshot.from_arrow(table),
            "to_spark, full scan": lambda: _scan(snapshot.to_spark(trie, spark)),
        }
        yield [Contender(name, partial(_way, work, count), count, count) for name, work in ways.items()]


def _way(work: Callable[[], Any], count: int) -> float:
    """The time of one method, without the time to free its result. As in a user's process, no object is frozen."""
    gc.unfreeze()
    try:
        start = time.perf_counter()
        made = work()
        seconds = time.perf_counter() - start
    finally:
        gc.freeze()
    check(made is None or (made if isinstance(made, int) else len(made)) == count, "rows are missing")
    return seconds


def _read(trie: SubscriptionTrie) -> int:
    return sum(len(batch) for batch in snapshot.to_reader(trie))


def _scan(frame: Any) -> int:
    """Let Spark read every column of every row. It cannot hash a map, so the map is turned into entries."""
    from pyspark.sql import functions as F

    row = frame.withColumn("options", F.map_entries("options")).selectExpr("count(*)", "sum(hash(*))").first()
    return int(row[0])


BENCHMARKS = [
    Benchmark(
        name="columns",
        title="A set as columns, out of a trie and in again",
        operation="row",
        groups=_ways,
        repeats=3,
        x_label="subscriptions",
        note="Filters of five words in random order; 5,000 subscribers, one option. A scan sums a hash of all columns.",
    ),
]
