"""Bitmaps: what the two inverted bitmaps cost to change and to keep."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.child import in_child, resident_bytes
from benchmarks.matchers import INVERTED, OPTIMISED, TRIE, Entrant, filled, present
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.workloads import growing_filters

TOPICS = 1_000
FRESH = 50
FILTERS = 1_000


def _topics(count: int) -> list[str]:
    return [filter.replace("*", "w7") for filter in growing_filters(count)]


def _knowing(entrant: Entrant, count: int) -> Any:
    """Return a matcher with so many filters that has seen a topic for each."""
    matcher = filled(entrant, growing_filters(count))
    for number, topic in enumerate(_topics(count)):
        check(number in matcher.match(topic), f"{entrant.name}: {topic}")
    return matcher


def _changes(quick: bool) -> Iterator[Group]:
    known = 100 if quick else TOPICS
    filters = list(growing_filters(known + FRESH))[known:]
    group: Group = []
    for entrant in present([OPTIMISED, INVERTED, TRIE]):
        matcher = _knowing(entrant, known)
        group.append(Contender(entrant.name, partial(_subscribe, matcher, filters), FRESH))
    yield group


def _each(matcher: Any, filters: list[str]) -> None:
    for filter in filters:
        matcher.subscribe(filter, -1)


def _subscribe(matcher: Any, filters: list[str]) -> float:
    seconds = timed(partial(_each, matcher, filters))
    for filter in filters:
        check(matcher.unsubscribe(filter, -1), f"{filter} is lost")
    return seconds


def growth(entrant: Entrant, count: int, known: int) -> float:
    """Return by how many bytes this process grows for so many filters, and for the topics that it sees."""
    topics = _topics(known)
    gc.collect()
    before = resident_bytes()
    matcher = filled(entrant, growing_filters(count))
    for topic in topics:
        matcher.match(topic)
    gc.collect()
    after = resident_bytes()
    check(len(matcher) == count, f"{entrant.name} lacks filters")
    return float(after - before)


def _memory(quick: bool) -> Iterator[Group]:
    count, topics = (500, (50, 100)) if quick else (FILTERS, (1_000, 10_000))
    yield [
        Contender(entrant.name, partial(in_child, growth, entrant, count, known), count, known)
        for known in topics
        for entrant in present([OPTIMISED, INVERTED, TRIE])
    ]


BENCHMARKS = [
    Benchmark(
        name="bitmap-subscribe",
        title=f"Cost of subscribe with {TOPICS:,} filters there and {TOPICS:,} topics known",
        operation="subscribe",
        groups=_changes,
        baseline=OPTIMISED.name,
    ),
    Benchmark(
        name="bitmap-memory",
        title=f"Memory for each of {FILTERS:,} filters, by the number of topics that have been matched",
        operation="filter",
        groups=_memory,
        baseline=OPTIMISED.name,
        unit="bytes",
        x_label="topics",
        repeats=3,
        warm_ups=0,
        note="Including the filters' own strings. An inverted bitmap takes memory for the topics, not for the filters.",
    ),
]
