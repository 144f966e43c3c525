"""Sets as columns: rows per second out of a trie and back by each method, the memory, and the slowdown of others."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import snapshot
from benchmarks.child import in_child, resident_bytes
from benchmarks.model import Benchmark, Contender, Group, OneRun, check
from benchmarks.suite.spark_match import session
from benchmarks.workloads import growing_filters
from subtrie import SubscriptionTrie

LARGE, MEMORY = 1_000_000, 5_000_000
MATCHING_SECONDS = 1.0


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


# Memory ---------------------------------------------------------------------------------------------------------------


def _memory(quick: bool) -> Iterator[Group]:
    count = 10_000 if quick else MEMORY
    both = OneRun(partial(in_child, _growth, count))
    yield [Contender(name, both.next, 1, count) for name in ("to_reader, read", "write")]


def _growth(count: int) -> list[float]:
    """The largest growth of a process that has only the trie."""
    trie = _trie(count)
    gc.collect()
    with TemporaryDirectory() as folder:
        small = SubscriptionTrie()
        small.subscribe("a", "b")
        path = str(Path(folder, "set.parquet"))
        grown: list[float] = []
        for warm in (small, trie):
            read = partial(_peak, partial(_read, warm))
            write = partial(_peak, partial(snapshot.write, warm, path))
            grown = [read(), write()]
    return grown


def _peak(work: Callable[[], object]) -> float:
    """The largest memory during some work, minus the memory before. It is read every few milliseconds."""
    before, highest, done = resident_bytes(), [0], threading.Event()

    def look() -> None:
        while not done.wait(0.005):
            highest[0] = max(highest[0], resident_bytes())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        work()
    finally:
        done.set()
        watcher.join()
    return float(max(highest[0] - before, 0))


# Meanwhile ------------------------------------------------------------------------------------------------------------


def _meanwhile(quick: bool) -> Iterator[Group]:
    count = 10_000 if quick else LARGE
    trie = _trie(count)
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "set.parquet"))
        whiles: dict[str, Callable[[], object] | None] = {
            "no export": None,
            "to_reader, read": lambda: _read(trie),
            "write": partial(snapshot.write, trie, path),
        }
        seconds = 0.05 if quick else MATCHING_SECONDS
        yield [
            Contender(f"while: {name}", partial(_matching, trie, work, seconds), 1, 2) for name, work in whiles.items()
        ]


def _matching(trie: SubscriptionTrie, work: Callable[[], object] | None, seconds: float) -> float:
    """The seconds for a match when two threads match while some work is repeated."""
    topics = [filter for filter in growing_filters(2_000) if "*" not in filter]
    done, stop = [0, 0], threading.Event()

    def match(number: int) -> None:
        call = trie.match
        while not stop.is_set():
            for topic in topics[:100]:
                call(topic)
            done[number] += 100

    def export() -> None:
        while work is not None and not stop.is_set():
            work()

    threads = [threading.Thread(target=match, args=(number,)) for number in range(2)]
    exporter = threading.Thread(target=export)
    for thread in (exporter, *threads):
        thread.start()
    start, before = time.perf_counter(), sum(done)
    time.sleep(seconds)
    matches, elapsed = sum(done) - before, time.perf_counter() - start
    stop.set()
    for thread in (exporter, *threads):
        thread.join()
    return elapsed / max(matches, 1)


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
    Benchmark(
        name="columns-memory",
        title="Growth of the process while a set is written or read as a stream of batches",
        operation="export",
        groups=_memory,
        unit="MB",
        repeats=1,
        warm_ups=0,
        x_label="subscriptions",
        note="The largest size, read every 5 ms, minus the size before.",
    ),
    Benchmark(
        name="columns-meanwhile",
        title="Two threads that match while the set is exported",
        operation="match",
        groups=_meanwhile,
        baseline="while: no export",
        repeats=5,
        x_label="threads",
        note="The export runs in a third thread. With the GIL all three take turns.",
    ),
]
