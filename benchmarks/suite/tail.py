"""Tail: how long single matches take while others subscribe in a burst.

On the clock that is the match, and whatever keeps its thread waiting meanwhile: the operating system, which gives the
processor to somebody else, and collections, which stop all threads. So each match is also timed on its thread's
processor clock, which stands still while the thread waits, and the same is done with a match that does nothing, whose
longest is what the machine and the interpreter take.
"""

from __future__ import annotations

import time
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
FIGURES = [*QUANTILES, "longest on the processor"]


class Idle(SubscriptionTrie):
    """A trie that is subscribed to as any other, and whose matches do nothing."""

    def match(self, topic: str, /) -> tuple[Any, ...]:
        return ()


IDLE = Entrant("no match at all", Idle)


def _groups(quick: bool) -> Iterator[Group]:
    filters = throughput_filters()
    burst = 500 if quick else 100_000
    group: Group = []
    for entrant in (TRIE, UNDER_LOCK, LOCKED):
        verify(entrant, filled(entrant, filters), filters, throughput_topics(filters, 50))
    for entrant in (TRIE, UNDER_LOCK, LOCKED, IDLE):
        latencies = OneRun(partial(_figures, entrant, filters, burst))
        group += [Contender(f"{entrant.name}: {name}", latencies.next, 1) for name in FIGURES]
    yield group


def _figures(entrant: Entrant, filters: Sequence[str], burst: int) -> list[float]:
    """Return quantiles of the seconds that a match takes while one thread subscribes so many filters, and
    the most that one took of a processor."""
    matcher = filled(entrant, filters)
    together, done = Barrier(READERS + 1), Event()
    with ThreadPoolExecutor(READERS + 1) as pool:
        readers = [pool.submit(_read, matcher, filters, together, done, seed) for seed in range(READERS)]
        writer = pool.submit(_write, matcher, burst, together, done)
        check(writer.result() == burst, f"{entrant.name}: a subscription was there already")
        latencies = [reader.result() for reader in readers]
    seconds = sorted(second for each, _ in latencies for second in each)
    quantiles = [seconds[min(int(share * len(seconds)), len(seconds) - 1)] for share in QUANTILES.values()]
    return [*quantiles, max(on_processor for _, on_processor in latencies)]


def _read(matcher: Any, filters: Sequence[str], together: Barrier, done: Event, seed: int) -> tuple[list[float], float]:
    """Return the seconds that each match took, and the most that one took of a processor."""
    topics = throughput_topics(filters, 1_000, seed)
    match, clock, processor_clock = matcher.match, time.perf_counter, time.thread_time
    seconds: list[float] = []
    longest = 0.0
    together.wait()
    while not (seconds and done.is_set()):
        for topic in topics:
            processor_start = processor_clock()
            start = clock()
            match(topic)
            seconds.append(clock() - start)
            on_processor = processor_clock() - processor_start
            if on_processor > longest:
                longest = on_processor
    return seconds, longest


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
        note="On the clock a match may have to wait: for a processor, for a collection, with a GIL for its turn "
        "(the interpreter's switch interval is 5 ms). `no match at all` shows how long that takes by itself.",
    )
]
