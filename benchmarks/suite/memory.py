"""Memory: how much a subscription takes, whether it is given back, and the garbage collector's part."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from benchmarks.child import in_child, resident_bytes
from benchmarks.matchers import LOCKED, OPTIMISED, PAHO, TRIE, Entrant, present
from benchmarks.model import Benchmark, Contender, Group, OneRun, check
from benchmarks.workloads import growing_filters

ROUNDS = 10


def _size(quick: bool) -> int:
    return 5_000 if quick else 1_000_000


def _fill(entrant: Entrant, matcher: Any, count: int) -> None:
    for number, filter in enumerate(growing_filters(count)):
        matcher.subscribe(entrant.text(filter), number)


def _empty(entrant: Entrant, matcher: Any, count: int) -> None:
    for number, filter in enumerate(growing_filters(count)):
        check(matcher.unsubscribe(entrant.text(filter), number), f"{entrant.name} has lost {filter}")


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


def sizes_over_rounds(count: int) -> list[float]:
    """Fill and empty a trie again and again; return the size of this process after each round."""
    trie = TRIE.make()
    sizes = []
    for _ in range(ROUNDS):
        _fill(TRIE, trie, count)
        _empty(TRIE, trie, count)
        check(len(trie) == 0, "the trie is not empty")
        gc.collect()
        sizes.append(float(resident_bytes()))
    trie.check()
    return sizes


def _refilled(quick: bool) -> Iterator[Group]:
    rounds = OneRun(partial(in_child, sizes_over_rounds, _size(quick)))
    yield [Contender(f"SubscriptionTrie, after round {number}", rounds.next, 1) for number in range(1, ROUNDS + 1)]


def collection_seconds(kind: str, count: int) -> float:
    """Return what a full collection takes with so many subscriptions alive, or so many sets in a dict."""
    if kind == "dict of sets":
        alive: Any = {filter: {number} for number, filter in enumerate(growing_filters(count))}
        check(len(alive) > 0.99 * count, "the dict lacks filters")
    else:
        alive = TRIE.make()
        _fill(TRIE, alive, count)
        check(len(alive) == count, "the trie lacks filters")
    gc.collect()
    start = time.perf_counter()
    gc.collect()
    return time.perf_counter() - start


def _collections(quick: bool) -> Iterator[Group]:
    yield [
        Contender(kind, partial(in_child, collection_seconds, kind, _size(quick)), 1)
        for kind in ("dict of sets", "SubscriptionTrie")
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
    Benchmark(
        name="refill",
        title="Size of the process after filling with 1,000,000 filters and emptying, round after round",
        operation="process",
        groups=_refilled,
        unit="MB",
        repeats=1,
        warm_ups=0,
    ),
    Benchmark(
        name="collection",
        title="A full garbage collection with 1,000,000 subscriptions alive",
        operation="collection",
        groups=_collections,
        baseline="dict of sets",
        unit="us",
        repeats=3,
        warm_ups=0,
    ),
]
