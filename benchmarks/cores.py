"""What one shared structure does on many cores, in a minute: `python -m benchmarks.cores [--threads 1 2 4 8 16]`.

The benchmarks `scaling`, `mixed-90-10` and `map-scaling-mixed` ask the same with all contenders, in half an hour.
A machine with many cores is often lent only for minutes. Rates are millions of operations a second, of all threads
together; medians of three repeats. Each thread makes its own strings, as `benchmarks.threads` says.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.maps import present, shuffled_keys
from benchmarks.matchers import CACHED, TRIE, UNDER_LOCK, filled
from benchmarks.suite import map_scaling, scaling
from benchmarks.suite.throughput import call_each
from benchmarks.threads import THREADS, Work, timed_in_threads
from benchmarks.workloads import throughput_filters, throughput_topics
from ctrie import Ctrie

REPEATS = 3
KEYS = 100_000
Row = tuple[str, Callable[[int], Work], int]
"""A name, what makes a thread's work, and how many operations that is."""


def rows() -> Iterator[Row]:
    """The questions, those to tries first."""
    filters = throughput_filters()
    for name, entrant, count in (
        ("match", TRIE, 50_000),
        ("match, answers remembered", CACHED, 50_000),
        ("match, the trie under a lock", UNDER_LOCK, 10_000),
    ):
        yield name, partial(scaling._matching, filled(entrant, filters), filters, count, 4), count * 4
    trie = filled(TRIE, filters)
    yield "deliveries", partial(_deliveries, trie, filters), 20_000
    yield "90 % match, 10 % subscribe and unsubscribe", partial(_mixed, trie, filters), 20_000
    yield "subscribe and unsubscribe, own filters", partial(_changes, trie), 10_000
    for one in present():
        shared = one.make(dict.fromkeys(shuffled_keys(KEYS, seed=1), 0))
        yield f"get: {one.name}", partial(_reads, shared), 100_000
        yield f"get and set: {one.name}", partial(map_scaling._work, shared, KEYS, 20_000, 1), 20_000
    own: Ctrie[str, int] = Ctrie(dict.fromkeys(shuffled_keys(KEYS, seed=1), 0))
    yield "insert and delete, own keys: Ctrie", partial(_own_keys, own), 20_000


def _reads(map: Any, thread: int) -> Work:
    return partial(_read_each, map, shuffled_keys(KEYS, seed=thread, count=20_000) * 5)


def _read_each(map: Any, keys: Sequence[str]) -> None:
    for key in keys:
        _ = map[key]


def _deliveries(trie: Any, filters: Sequence[str], thread: int) -> Work:
    return partial(call_each, trie.deliveries, throughput_topics(filters, 20_000, seed=thread))


def _mixed(trie: Any, filters: Sequence[str], thread: int) -> Work:
    topics = throughput_topics(filters, 20_000, seed=thread)
    match, subscribe, unsubscribe = trie.match, trie.subscribe, trie.unsubscribe

    def work() -> None:
        for number, topic in enumerate(topics):
            if number % 20 == 0:
                subscribe(topic, thread)
            elif number % 20 == 10:
                unsubscribe(topics[number - 10], thread)
            else:
                match(topic)

    return work


def _changes(trie: Any, thread: int) -> Work:
    own = [f"{thread}.{number % 97}.{number % 1_009}.x" for number in range(5_000)]
    subscribe, unsubscribe = trie.subscribe, trie.unsubscribe

    def work() -> None:
        for filter in own:
            subscribe(filter, thread)
        for filter in own:
            unsubscribe(filter, thread)

    return work


def _own_keys(shared: Ctrie[str, int], thread: int) -> Work:
    own = [f"new {thread} {number}" for number in range(10_000)]

    def work() -> None:
        for key in own:
            shared[key] = thread
        for key in own:
            del shared[key]

    return work


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cores", description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=list(THREADS), help="numbers of threads")
    threads = parser.parse_args(arguments).threads
    table = Table("million operations a second", *map(str, threads))
    for name, prepare, count in rows():
        rates = [each * count / _seconds(each, prepare) / 1e6 for each in threads]
        table.add_row(name, *(f"{rate:.2f}" for rate in rates))
    Console(width=110).print(table)


def _seconds(threads: int, prepare: Callable[[int], Work]) -> float:
    return median(timed_in_threads(threads, prepare) for _ in range(REPEATS))


if __name__ == "__main__":
    main()
