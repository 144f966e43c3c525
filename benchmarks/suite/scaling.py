"""Scaling: the throughput workload by several threads at once, on one shared matcher."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from typing import Any

from benchmarks.matchers import CACHED, LOCKED, TRIE, UNDER_LOCK, Entrant, filled, verify
from benchmarks.model import Benchmark, Contender, Group
from benchmarks.suite.throughput import LOOP, call_each, split_and_get
from benchmarks.threads import THREADS, Work, timed_in_threads
from benchmarks.workloads import DIGITS, throughput_filters, throughput_topics

AT_ONCE = 100
"""Topics of a batch."""


class Client:
    """A subscriber as in a program: an object of a class of its own."""


def _groups(quick: bool) -> Iterator[Group]:
    filters = throughput_filters()
    messages, passes = (1_000, 1) if quick else (50_000, 4)
    threads = THREADS[:2] if quick else THREADS
    clients = [Client() for _ in filters]
    group = []
    for series, entrant, subscriber, count in (
        (TRIE.name, TRIE, int, messages),
        (f"{TRIE.name}, subscribers are objects", TRIE, clients.__getitem__, messages),
        (f"{CACHED.name}, subscribers are objects", CACHED, clients.__getitem__, messages),
        (UNDER_LOCK.name, UNDER_LOCK, int, messages),
        (LOCKED.name, LOCKED, int, messages // 20),
    ):
        prepare = partial(_matching, _matcher(entrant, filters, subscriber), filters, count, passes)
        group += in_threads(series, prepare, count * passes, threads)
    many = partial(_matching_many, _matcher(TRIE, filters, int), filters, messages, passes)
    group += in_threads(f"{TRIE.name}, match_many of {AT_ONCE} topics", many, messages * passes, threads)
    loop = partial(_loop, filters, messages, passes)
    yield group + in_threads(LOOP, loop, messages * passes, threads)


def in_threads(series: str, prepare: Callable[[int], Work], operations: int, threads: Iterable[int]) -> Group:
    """Return a contender for each number of threads.

    Args:
        prepare: makes the work of a thread, given its number.
        operations: the number that each thread does.
    """
    return [Contender(series, partial(timed_in_threads, t, prepare), t * operations, t) for t in threads]


def _matcher(entrant: Entrant, filters: Sequence[str], subscriber: Callable[[int], Any]) -> Any:
    by_number = filled(entrant, filters)
    verify(entrant, by_number, filters, throughput_topics(filters, 100))
    return by_number if subscriber is int else filled(entrant, filters, subscriber)


def _matching(matcher: Any, filters: Sequence[str], messages: int, passes: int, thread: int) -> Work:
    topics = throughput_topics(filters, messages, seed=thread)
    return partial(call_each, matcher.match, chain.from_iterable(repeat(topics, passes)))


def _matching_many(matcher: Any, filters: Sequence[str], messages: int, passes: int, thread: int) -> Work:
    topics = throughput_topics(filters, messages, seed=thread)
    batches = [topics[start : start + AT_ONCE] for start in range(0, messages, AT_ONCE)]
    return partial(call_each, matcher.match_many, chain.from_iterable(repeat(batches, passes)))


def _loop(filters: Sequence[str], messages: int, passes: int, thread: int) -> Work:
    topics = throughput_topics(filters, messages, seed=thread)
    return partial(split_and_get, dict.fromkeys(DIGITS), chain.from_iterable(repeat(topics, passes)))


BENCHMARKS = [
    Benchmark(
        name="scaling",
        title="Throughput workload on one shared matcher, read by several threads",
        operation="message",
        groups=_groups,
        x_label="threads",
        plot="scaling",
        note=(
            "Each thread makes its own topics and its own bound method, and waits at a barrier before the clock starts."
            " The time is from the first thread's start to the last one's end."
        ),
    )
]
