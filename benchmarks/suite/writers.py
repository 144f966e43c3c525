"""Writers: how fast one thread matches while no thread writes, and while another writes without a pause."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from threading import Barrier, Event
from typing import Any

from benchmarks.matchers import (
    FILTERING,
    INVERTED,
    LOCKED,
    NAIVE,
    OPTIMISED,
    PAHO_UNDER_LOCK,
    TRIE,
    UNDER_LOCK,
    Entrant,
    filled,
    present,
    verify,
)
from benchmarks.model import Benchmark, Contender, Group, OneRun, check
from benchmarks.workloads import DIGITS, throughput_filters, throughput_topics

ALONE = "match, nobody writes"
BESIDE = "match, one thread writes"
WRITE = "the writes"
CHUNK = 20
"""Matches between two looks at the clock: few, since behind a lock each may wait for a turn of the interpreter."""
CHANGES = 200


def series(entrant: Entrant, what: str) -> str:
    """Name a series of this benchmark."""
    return f"{entrant.name}: {what}"


def _groups(quick: bool) -> Iterator[Group]:
    filters = throughput_filters(count=100 if quick else 1_000)
    seconds = 0.02 if quick else 0.5
    group: Group = []
    for entrant in present([TRIE, UNDER_LOCK, INVERTED, OPTIMISED, LOCKED, PAHO_UNDER_LOCK, FILTERING, NAIVE]):
        matcher = filled(entrant, filters)
        topics = throughput_topics(filters, 50)
        if entrant is INVERTED:  # it needs to know all topics
            topics = [".".join((a, b, c)) for a in DIGITS for b in DIGITS for c in DIGITS]
        verify(entrant, matcher, filters, topics)
        alone = partial(_read, entrant, matcher, filters, seconds, Barrier(1))
        both = OneRun(partial(_both, entrant, matcher, filters, seconds))
        group.append(Contender(series(entrant, ALONE), alone, 1))
        group.append(Contender(series(entrant, BESIDE), both.next, 1))
        group.append(Contender(series(entrant, WRITE), both.next, 1))
    yield group


def _both(entrant: Entrant, matcher: Any, filters: Sequence[str], seconds: float) -> list[float]:
    """Return the seconds of a match and of a write, with one thread for each at the same time."""
    together, done = Barrier(2), Event()
    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(_write, entrant, matcher, together, done)
        try:
            match = _read(entrant, matcher, filters, seconds, together)
        finally:
            done.set()
        return [match, writer.result()]


def _read(entrant: Entrant, matcher: Any, filters: Sequence[str], seconds: float, together: Barrier) -> float:
    topics = cycle(entrant.texts(throughput_topics(filters, 2_000, seed=3)))
    match, clock = matcher.match, time.perf_counter
    matches = 0
    together.wait()
    start = now = clock()
    while now < start + seconds:
        for _ in range(CHUNK):
            match(next(topics))
        matches += CHUNK
        now = clock()
    return (now - start) / matches


def _write(entrant: Entrant, matcher: Any, together: Barrier, done: Event) -> float:
    filters = entrant.texts(throughput_filters(seed=4, count=CHANGES))
    subscribe, unsubscribe = matcher.subscribe, matcher.unsubscribe
    writes = 0
    together.wait()
    start = time.perf_counter()
    for number, filter in cycle(enumerate(filters)):
        subscribe(filter, (0, number))
        check(unsubscribe(filter, (0, number)), f"{entrant.name} has lost a write")
        writes += 2
        if done.is_set():
            break
    return (time.perf_counter() - start) / writes


BENCHMARKS = [
    Benchmark(
        name="writers",
        title="One thread matches: alone, and while another one subscribes and unsubscribes",
        operation="operation",
        groups=_groups,
        baseline=series(TRIE, BESIDE),
        repeats=5,
        note=(
            "The throughput workload: 1,000 filters, about 3 matches per message. The writer does not pause, so both"
            " threads do as much as the matcher allows, for the same time. With a GIL they take turns of 5 ms."
        ),
    )
]
