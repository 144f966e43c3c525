"""Mixed: several threads that match and change subscriptions on one shared matcher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

from benchmarks.matchers import (
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
from benchmarks.model import Benchmark, Contender, Group, check
from benchmarks.threads import THREADS, Work, timed_in_threads
from benchmarks.workloads import DIGITS, throughput_filters, throughput_topics

Call = tuple[Callable[..., object], tuple[object, ...]]


WRITE_EVERY = 10
"""Of so many operations, one is a write: subscribe and unsubscribe in turn."""
OPERATIONS = 40_000
"""The operations of a thread in each repeat."""
COSTS = {TRIE: 1, UNDER_LOCK: 1, LOCKED: 10, PAHO_UNDER_LOCK: 10, OPTIMISED: 20, INVERTED: 400, NAIVE: 400}
"""The factor by which slower matchers get fewer operations."""


def _groups(quick: bool) -> Iterator[Group]:
    filters = throughput_filters(count=100 if quick else 1_000)
    group: Group = []
    for entrant in present(list(COSTS)):
        operations = (200 if quick else OPERATIONS) // COSTS[entrant] // WRITE_EVERY * WRITE_EVERY + WRITE_EVERY
        matcher = filled(entrant, filters)
        # The inverted bitmap first sees all topics, which it needs to know.
        topics = map(".".join, product(DIGITS, repeat=3)) if entrant is INVERTED else throughput_topics(filters, 50)
        verify(entrant, matcher, filters, topics)
        for threads in THREADS[:2] if quick else THREADS:
            measure = partial(_measure, entrant, matcher, filters, operations, threads)
            group.append(Contender(entrant.name, measure, threads * operations, threads))
    yield group


def _measure(entrant: Entrant, matcher: Any, filters: Sequence[str], operations: int, threads: int) -> float:
    seconds = timed_in_threads(threads, partial(_work, entrant, matcher, filters, operations))
    for thread in range(threads):
        for filter, subscriber in _written(entrant, operations, thread):
            check(not matcher.unsubscribe(filter, subscriber), f"{entrant.name} has lost a write")
    return seconds


def _written(entrant: Entrant, operations: int, thread: int) -> list[tuple[str, tuple[int, int]]]:
    """Return the subscriptions that a thread makes and takes back."""
    filters = throughput_filters(seed=100 + thread, count=operations // WRITE_EVERY // 2)
    return [(entrant.text(filter), (thread, number)) for number, filter in enumerate(filters)]


def _work(entrant: Entrant, matcher: Any, filters: Sequence[str], operations: int, thread: int) -> Work:
    """Return the work of a thread: its calls, writes spread evenly among matches."""
    match, changes = matcher.match, (matcher.subscribe, matcher.unsubscribe)
    topics = iter(entrant.texts(throughput_topics(filters, operations, seed=thread)))
    calls: list[Call] = []
    for written in _written(entrant, operations, thread):
        for change in changes:
            calls += [(match, (next(topics),)) for _ in range(WRITE_EVERY - 1)]
            calls.append((change, written))
    calls += [(match, (next(topics),)) for _ in range(operations - len(calls))]
    return partial(_call_all, calls)


def _call_all(calls: Sequence[Call]) -> None:
    for call, arguments in calls:
        call(*arguments)


BENCHMARKS = [
    Benchmark(
        name="mixed-90-10",
        title="Throughput workload on one shared matcher: 90 % matches, 10 % subscribe and unsubscribe",
        operation="operation",
        groups=_groups,
        x_label="threads",
        plot="scaling",
        repeats=5,
    )
]
