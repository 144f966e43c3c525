"""Snapshots: what taking one costs."""

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


def _sizes(quick: bool) -> tuple[int, int]:
    return 1_000, 10_000 if quick else 1_000_000


def _trie(count: int) -> tuple[SubscriptionTrie, str]:
    """Return a trie with so many filters, and a filter that it does not have yet."""
    *filters, fresh = growing_filters(count + 1)
    trie: SubscriptionTrie = filled(TRIE, filters)
    check(len(trie) == count, "the trie lacks filters")
    return trie, fresh


def _calls(quick: bool) -> Iterator[Group]:
    group: Group = []
    for count in _sizes(quick):
        trie, fresh = _trie(count)
        content = dict.fromkeys(map(str, range(count)))
        map_ = Ctrie(content)
        subscribe = partial(_touch, trie, fresh)
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
]
