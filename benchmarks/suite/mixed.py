"""Mixed: several threads that match and change subscriptions on one shared matcher."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

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


class Mix(NamedTuple):
    """Of every `write_every` operations, one is a write. With `inserts_only`, what is written stays for the rest of a
    repeat. `operations` is how many a repeat has for each thread.
    """

    name: str
    title: str
    write_every: int
    inserts_only: bool
    operations: int


MIXES = (
    Mix("mixed-90-10", "90 % matches, 10 % subscribe and unsubscribe", 10, inserts_only=False, operations=40_000),
    Mix("mixed-50-50", "50 % matches, 50 % subscribe and unsubscribe", 2, inserts_only=False, operations=40_000),
    Mix("insert-1-3", "one subscribe to three matches", 4, inserts_only=True, operations=8_000),
    Mix("insert-1-1", "one subscribe to one match", 2, inserts_only=True, operations=8_000),
)
COSTS = {TRIE: 1, UNDER_LOCK: 1, LOCKED: 10, PAHO_UNDER_LOCK: 10, OPTIMISED: 20, INVERTED: 400, NAIVE: 400}
"""The factor by which slower matchers get fewer operations."""


def _groups(mix: Mix, quick: bool) -> Iterator[Group]:
    filters = throughput_filters(count=100 if quick else 1_000)
    group: Group = []
    for entrant in present(list(COSTS)):
        most = (200 if quick else mix.operations) // COSTS[entrant]
        operations = most // mix.write_every * mix.write_every + mix.write_every
        matcher = filled(entrant, filters)
        # The inverted bitmap first sees all topics, which it needs to know.
        topics = map(".".join, product(DIGITS, repeat=3)) if entrant is INVERTED else throughput_topics(filters, 50)
        verify(entrant, matcher, filters, topics)
        for threads in THREADS[:2] if quick else THREADS:
            measure = partial(_measure, entrant, matcher, filters, mix, operations, threads)
            group.append(Contender(entrant.name, measure, threads * operations, threads))
    yield group


def _measure(entrant: Entrant, matcher: Any, filters: Sequence[str], mix: Mix, operations: int, threads: int) -> float:
    seconds = timed_in_threads(threads, partial(_work, entrant, matcher, filters, mix, operations))
    for thread in range(threads):
        for filter, subscriber in _written(entrant, mix, operations, thread):
            is_there = matcher.unsubscribe(filter, subscriber)
            check(is_there == mix.inserts_only, f"{entrant.name} has lost a write of {mix.name}")
    return seconds


def _written(entrant: Entrant, mix: Mix, operations: int, thread: int) -> list[tuple[str, tuple[int, int]]]:
    """Return the subscriptions that a thread makes, and takes back if not `inserts_only`.

    Those that stay end with a word of their own: if thousands came to want the same topics, a match would cost what its
    answer takes.
    """
    writes = operations // mix.write_every
    count = writes if mix.inserts_only else writes // 2
    filters = throughput_filters(seed=100 + thread, count=count)
    if mix.inserts_only:
        filters = [f"{filter}.{thread}-{number}" for number, filter in enumerate(filters)]
    return [(entrant.text(filter), (thread, number)) for number, filter in enumerate(filters)]


def _work(entrant: Entrant, matcher: Any, filters: Sequence[str], mix: Mix, operations: int, thread: int) -> Work:
    """Return the work of a thread: its calls, writes spread evenly among matches."""
    match, subscribe, unsubscribe = matcher.match, matcher.subscribe, matcher.unsubscribe
    written = _written(entrant, mix, operations, thread)
    if mix.inserts_only:
        writes: list[Call] = [(subscribe, subscription) for subscription in written]
    else:
        writes = [(change, subscription) for subscription in written for change in (subscribe, unsubscribe)]
    topics = iter(entrant.texts(throughput_topics(filters, operations, seed=thread)))
    calls: list[Call] = []
    for write in writes:
        calls += [(match, (next(topics),)) for _ in range(mix.write_every - 1)]
        calls.append(write)
    calls += [(match, (next(topics),)) for _ in range(operations - len(calls))]
    return partial(_call_all, calls)


def _call_all(calls: Sequence[Call]) -> None:
    for call, arguments in calls:
        call(*arguments)


BENCHMARKS = [
    Benchmark(
        name=mix.name,
        title=f"Throughput workload on one shared matcher: {mix.title}",
        operation="operation",
        groups=partial(_groups, mix),
        x_label="threads",
        plot="scaling",
        repeats=5,
    )
    for mix in MIXES
]
