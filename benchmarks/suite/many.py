"""Many at once: keys and members looked up, and maps, sets and tries filled, compared with one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.workloads import growing_filters
from subtrie import SubscriptionTrie

SUBSCRIBE = "SubscriptionTrie.subscribe, one by one"


def _subscribing(quick: bool) -> Iterator[Group]:
    for size in (100,) if quick else (100_000, 1_000_000):
        rows = [(filter, number) for number, filter in enumerate(growing_filters(size))]
        filled = SubscriptionTrie[Any]()
        check(filled.subscribe_many(rows) == size, "subscribe_many")
        check(filled.stats() == _subscribed(rows).stats(), "nodes of subscribe_many")
        del filled
        ways: dict[str, Callable[[], Any]] = {
            SUBSCRIBE: partial(_subscribed, rows),
            "SubscriptionTrie.subscribe_many": lambda rows=rows: SubscriptionTrie().subscribe_many(rows),  # type: ignore[misc]
        }
        yield [Contender(name, partial(timed, way), size, size) for name, way in ways.items()]


def _subscribed(rows: list[tuple[str, int]]) -> SubscriptionTrie[Any]:
    trie: SubscriptionTrie[Any] = SubscriptionTrie()
    for filter, subscriber in rows:
        trie.subscribe(filter, subscriber)
    return trie


BENCHMARKS = [
    Benchmark(
        name="subscribe-many",
        title="Subscribing to many filters at once, into an empty trie",
        operation="subscribe",
        groups=_subscribing,
        baseline=SUBSCRIBE,
        x_label="filters",
        plot="growth",
        repeats=3,
        note="Filters of five words in random order, every tenth with a wildcard.",
    ),
]
