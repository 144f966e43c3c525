"""Tail: how long single matches take while another thread subscribes in bursts.

The time includes whatever keeps the thread waiting: the operating system, which gives the processor to another program,
and collections, which stop all threads. So the same is also measured without collections, and with a match that does
nothing, which shows the longest delay due to the machine and the interpreter.
"""

from __future__ import annotations

import gc
import time
from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event
from typing import Any

from benchmarks.matchers import LOCKED, TRIE, UNDER_LOCK, Entrant, filled, verify
from benchmarks.model import Benchmark, Contender, Group, OneRun, check
from benchmarks.workloads import growing_filters, throughput_filters, throughput_topics
from subtrie import SubscriptionTrie

READERS = 2
QUANTILES = {"median": 0.5, "99 %": 0.99, "99.9 %": 0.999, "longest": 1.0}


class Idle(SubscriptionTrie):
    """A trie whose matches do nothing; subscribing is as in any other."""

    def match(self, topic: str, /) -> tuple[Any, ...]:
        return ()


IDLE = Entrant("no match at all", Idle)


def _groups(quick: bool) -> Iterator[Group]:
    filters = throughput_filters()
    burst = 500 if quick else 100_000
    group: Group = []
    for entrant in (TRIE, UNDER_LOCK, LOCKED):
        verify(entrant, filled(entrant, filters), filters, throughput_topics(filters, 50))
    for entrant, named, collecting in (
        (TRIE, TRIE.name, True),
        (TRIE, f"{TRIE.name}, no collections", False),
        (UNDER_LOCK, UNDER_LOCK.name, True),
        (LOCKED, LOCKED.name, True),
        (IDLE, IDLE.name, True),
        (IDLE, f"{IDLE.name}, no collections", False),
    ):
        latencies = OneRun(partial(_quantiles, entrant, filters, burst, collecting))
        group += [Contender(f"{named}: {name}", latencies.next, 1) for name in QUANTILES]
    yield group


def _quantiles(entrant: Entrant, filters: Sequence[str], burst: int, collecting: bool) -> list[float]:
    """Return quantiles of the seconds that a match takes while one thread subscribes so many filters."""
    matcher = filled(entrant, filters)
    together, done = Barrier(READERS + 1), Event()
    (gc.enable if collecting else gc.disable)()
    try:
        with ThreadPoolExecutor(READERS + 1) as pool:
            readers = [pool.submit(_read, matcher, filters, together, done, seed) for seed in range(READERS)]
            writer = pool.submit(_write, matcher, burst, together, done)
            check(writer.result() == burst, f"{entrant.name}: a subscription was there already")
            seconds = sorted(second for reader in readers for second in reader.result())
    finally:
        gc.enable()
    return [seconds[min(int(share * len(seconds)), len(seconds) - 1)] for share in QUANTILES.values()]


def _read(matcher: Any, filters: Sequence[str], together: Barrier, done: Event, seed: int) -> array[float]:
    topics = throughput_topics(filters, 1_000, seed)
    match, clock = matcher.match, time.perf_counter
    seconds = array("d")  # a list of millions would be visited in every collection
    together.wait()
    while not (seconds and done.is_set()):
        for topic in topics:
            start = clock()
            match(topic)
            seconds.append(clock() - start)
    return seconds


def _write(matcher: Any, burst: int, together: Barrier, done: Event) -> int:
    filters = list(growing_filters(burst))
    subscribe = matcher.subscribe
    together.wait()
    try:
        return sum(subscribe(filter, number) for number, filter in enumerate(filters))
    finally:
        done.set()


BENCHMARKS = [
    Benchmark(
        name="tail",
        title=f"Latency of a match by {READERS} threads while 100,000 filters are subscribed in a burst",
        operation="match",
        groups=_groups,
        unit="us",
        repeats=5,
        note="The time includes waiting: for a processor, for a collection, and with a GIL for a turn (the "
        "interpreter's switch interval is 5 ms). `no match at all` shows the waiting alone.",
    )
]
