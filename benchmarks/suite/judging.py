"""The stress tests' own speed: histories judged, and executions explored."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

import stress
from benchmarks.model import Benchmark, Contender, Group, check, timed
from stress import Operation, Raised, Spec

OPERATIONS = 20_000
OVERLAP = (2, 4, 8, 16)

Told = tuple[str, tuple[Any, ...], Any]


def _register() -> Callable[[Random, int], Told]:
    held = [0]

    def call(random: Random, fresh: int) -> Told:
        if random.random() < 0.5:
            return "read", (), held[0]
        held[0] = fresh
        return "write", (fresh,), None

    return call


def _buffer(put: str, get: str, out: Callable[[deque[int]], int]) -> Callable[[Random, int], Told]:
    content: deque[int] = deque()

    def call(random: Random, fresh: int) -> Told:
        if random.random() < 0.5:
            return get, (), out(content) if content else None
        content.append(fresh)
        return put, (fresh,), None

    return call


def _set() -> Callable[[Random, int], Told]:
    content: deque[int] = deque()

    def call(random: Random, fresh: int) -> Told:
        if random.random() < 0.5:
            return "pop", (), content.popleft() if content else Raised("KeyError")
        content.append(fresh)
        return "add", (fresh,), None

    return call


def _map() -> Callable[[Random, int], Told]:
    content: dict[int, int] = {}

    def call(random: Random, fresh: int) -> Told:
        key = random.randrange(8)
        if random.random() < 0.5:
            return "get", (key,), content.get(key)
        content[key] = fresh
        return "put", (key, fresh), None

    return call


KINDS: dict[str, tuple[Callable[[], Spec], Callable[[], Callable[[Random, int], Told]]]] = {
    "map of eight keys": (stress.Map, _map),
    "register": (lambda: stress.Register(0), _register),
    "stack": (stress.Stack, partial(_buffer, "push", "pop", deque.pop)),
    "set": (stress.Set, _set),
    "queue": (stress.Queue, partial(_buffer, "enqueue", "dequeue", deque.popleft)),
}


def _history(calls: Callable[[Random, int], Told], count: int, overlap: int) -> list[Operation]:
    """A right history: the operations take effect one after another, each between its call and its return."""
    random = Random(overlap)
    half = 10 * overlap
    rows = (
        (10 * at - random.randrange(half), 10 * at + random.randrange(half), *calls(random, at))
        for at in range(1, count + 1)
    )
    return [Operation(at, at, *row) for at, row in enumerate(rows)]


def _judged(quick: bool) -> Iterator[Group]:
    count = 500 if quick else OPERATIONS
    for overlap in OVERLAP[: 2 if quick else None]:
        group: Group = []
        for series, (spec, calls) in KINDS.items():
            history = _history(calls(), count, overlap)
            check(bool(stress.check(history, spec())), f"a right history of a {series} is not found right")
            judge = partial(stress.check, history, spec())
            group.append(Contender(series, partial(timed, judge), count, overlap))
        yield group


BENCHMARKS = [
    Benchmark(
        name="judging",
        title=f"Judging a history of {OPERATIONS:,} operations with unique values",
        operation="operation",
        groups=_judged,
        x_label="operations that overlap",
        plot="growth",
        repeats=5,
    ),
]
