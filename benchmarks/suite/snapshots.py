"""Snapshots: what taking one costs, and what the first writes after it cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.matchers import TRIE, filled
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.workloads import growing_filters
from ctrie import Ctrie
from subtrie import SubscriptionTrie

CALLS = 500
WRITES = 100


def _sizes(quick: bool) -> tuple[int, int]:
    return 1_000, 10_000 if quick else 1_000_000


def _trie(count: int) -> tuple[SubscriptionTrie, list[str]]:
    """Return a trie with so many filters, and some filters that it does not have yet."""
    filters = list(growing_filters(count + WRITES))
    trie: SubscriptionTrie = filled(TRIE, filters[:count])
    check(len(trie) == count, "the trie lacks filters")
    return trie, filters[count:]


def _calls(quick: bool) -> Iterator[Group]:
    group: Group = []
    for count in _sizes(quick):
        trie, fresh = _trie(count)
        content = dict.fromkeys(map(str, range(count)))
        map_ = Ctrie(content)
        subscribe = partial(_touch, trie, fresh[0])
        put = partial(map_.__setitem__, "0", None)
        for series, take, write in (
            ("SubscriptionTrie.snapshot", trie.snapshot, subscribe),
            ("SubscriptionTrie.fork", trie.fork, subscribe),
            ("Ctrie.readonly_snapshot", map_.readonly_snapshot, put),
            ("Ctrie.snapshot", map_.snapshot, put),
        ):
            check(len(take()) == count, f"{series} lacks something")
            group.append(Contender(series, partial(_each_after_a_write, take, write), CALLS, count))
        group.append(Contender("dict.copy", partial(timed, content.copy), 1, count))
    yield group


def _touch(trie: SubscriptionTrie, filter: str) -> None:
    trie.subscribe(filter, 0)
    trie.unsubscribe(filter, 0)


def _each_after_a_write(take: Callable[[], Any], write: Callable[[], object]) -> float:
    """Time only the calls. Each follows a write, since a snapshot without a change could cost less."""
    seconds = 0.0
    for _ in range(CALLS):
        write()
        start = time.perf_counter()
        snapshot = take()
        seconds += time.perf_counter() - start
        del snapshot
    return seconds


def _writes(quick: bool) -> Iterator[Group]:
    group: Group = []
    for count in _sizes(quick):
        trie, fresh = _trie(count)
        for series, snapshot in (("subscribe", False), ("subscribe after a snapshot", True)):
            measure = partial(_writes_after, trie, fresh, snapshot)
            group.append(Contender(f"{series}, {count:,} filters", measure, WRITES))
    yield group


def _writes_after(trie: SubscriptionTrie, fresh: list[str], snapshot: bool) -> float:
    size = len(trie)
    # Both begin with nodes that belong to the trie: `len` has just taken a snapshot, which these writes pay for.
    for _ in range(2):
        _subscribe_all(trie, fresh)
        for filter in fresh:
            trie.unsubscribe(filter, 0)
    taken = trie.snapshot() if snapshot else None
    seconds = timed(partial(_subscribe_all, trie, fresh))
    check(taken is None or len(taken) == size, "a snapshot has changed")
    for filter in fresh:
        trie.unsubscribe(filter, 0)
    return seconds


def _subscribe_all(trie: SubscriptionTrie, filters: list[str]) -> None:
    for filter in filters:
        trie.subscribe(filter, 0)


BENCHMARKS = [
    Benchmark(
        name="snapshot",
        title="Cost of a snapshot, by size",
        operation="call",
        groups=_calls,
        x_label="filters or keys",
        plot="growth",
        note="Each call comes after a write, which is not timed.",
    ),
    Benchmark(
        name="after-snapshot",
        title=f"Cost of the first {WRITES} subscribes after a snapshot",
        operation="subscribe",
        groups=_writes,
        baseline="subscribe, 1,000 filters",
    ),
]
