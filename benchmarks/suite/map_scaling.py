"""The Ctrie as a map that several threads use at once, against other ways to share a map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks import jvm
from benchmarks.maps import jvm_is_there, present, shuffled_keys
from benchmarks.model import Benchmark, Contender, Group, check
from benchmarks.threads import THREADS, Work, timed_in_threads

_NOTE = (
    "Read by map[key]. On free-threaded Python 3.13, dict.get takes a hundred times as long as dict[key] if another"
    " thread made the keys: it locks the dict twice."
)


def _groups(quick: bool) -> Iterator[Group]:
    size, keys, passes = (1_000, 1_000, 1) if quick else (100_000, 20_000, 5)
    uses = keys * passes
    threads, warm_up = (THREADS[:2], 0) if quick else (THREADS, jvm.WARM_UP)
    group: Group = []
    for entrant in present():
        map = entrant.make(dict.fromkeys(shuffled_keys(size, seed=1), 0))
        check(all(map.get(key) == 0 for key in shuffled_keys(size, seed=2)), f"{entrant.name} lacks keys")
        for t in threads:
            measure = partial(timed_in_threads, t, partial(_work, map, size, keys, passes))
            group.append(Contender(entrant.name, measure, t * uses, t))
    if jvm_is_there():
        group += [
            Contender(jvm.NAME, partial(jvm.seconds, "mixed", size, keys, t, passes, warm_up), t * uses, t)
            for t in threads
        ]
    yield group


def _work(map: Any, size: int, keys: int, passes: int, thread: int) -> Work:
    """Each thread uses some of the keys again and again, so cold keys cost the same for one thread as for many."""
    own = shuffled_keys(size, seed=thread, count=keys) * passes
    return partial(_get_and_set, map, own)


def _get_and_set(map: Any, keys: Sequence[str]) -> None:
    for read, written in zip(keys[::2], keys[1::2], strict=True):
        _ = map[read]
        map[written] = 0


BENCHMARKS = [
    Benchmark(
        name="map-scaling-mixed",
        title="One map of 100,000 keys shared by several threads: get and set in turn",
        operation="operation",
        groups=_groups,
        x_label="threads",
        plot="scaling",
        repeats=5,
        note=_NOTE,
    )
]
