"""Memory: how much a subscription takes, whether it is given back, and the garbage collector's part."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.child import in_child, resident_bytes
from benchmarks.matchers import LOCKED, OPTIMISED, PAHO, TRIE, Entrant, present
from benchmarks.model import Benchmark, Contender, Group, check
from benchmarks.workloads import growing_filters


def _size(quick: bool) -> int:
    return 5_000 if quick else 1_000_000


def _fill(entrant: Entrant, matcher: Any, count: int) -> None:
    for number, filter in enumerate(growing_filters(count)):
        matcher.subscribe(entrant.text(filter), number)


def growth_when_filled(entrant: Entrant, count: int) -> float:
    """Return by how many bytes this process grows for so many subscriptions; their strings are made on the
    way."""
    matcher = entrant.make()
    matcher.subscribe(entrant.text("a.b.*"), 0)
    gc.collect()
    before = resident_bytes()
    _fill(entrant, matcher, count)
    gc.collect()
    after = resident_bytes()
    check(0 in matcher.match(entrant.text("a.b.c")), f"{entrant.name} has lost its first filter")
    return after - before


def _per_subscription(quick: bool) -> Iterator[Group]:
    count = _size(quick)
    yield [
        Contender(entrant.name, partial(in_child, growth_when_filled, entrant, count), count)
        for entrant in present([TRIE, PAHO, LOCKED, OPTIMISED])
    ]


BENCHMARKS = [
    Benchmark(
        name="memory",
        title="Memory of 1,000,000 subscriptions: growth of the process, strings included",
        operation="subscription",
        groups=_per_subscription,
        unit="bytes",
        repeats=3,
        warm_ups=0,
        note="Filters of five words, 100 different words at each level, each filter with an int as its subscriber.",
    ),
]
