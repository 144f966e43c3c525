"""The Ctrie as a map, against `dict` and other ways to share a map between threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks import jvm
from benchmarks.maps import MapEntrant, jvm_is_there, present, shuffled_keys
from benchmarks.model import Benchmark, Contender, Group, check, timed


def _groups(operation: str, quick: bool) -> Iterator[Group]:
    group: Group = []
    for size in (1_000, 10_000 if quick else 1_000_000):
        uses = 2_000 if quick else 100_000
        content = {key: number for number, key in enumerate(shuffled_keys(size, seed=1))}
        asked = (shuffled_keys(size, seed=2) * (uses // size + 1))[:uses]
        # New keys are a tenth of the map, so that it keeps its size; they are added and removed more often.
        fresh = [f"new{key}" for key in shuffled_keys(max(size // 10, 100), seed=3)][:uses]
        keys = asked if operation == "get" else fresh
        rounds = max(1, uses // len(keys))
        for entrant in present():
            map = entrant.make(content)
            _verify(entrant, map, content, fresh[0])
            measure = partial(_OPERATIONS[operation], map, keys, rounds)
            group.append(Contender(entrant.name, measure, len(keys) * rounds, size))
        if jvm_is_there():
            in_jvm = partial(jvm.seconds, operation, size, len(keys), 1, rounds, 0 if quick else jvm.WARM_UP)
            group.append(Contender(jvm.NAME, in_jvm, len(keys) * rounds, size))
    yield group


def _verify(entrant: MapEntrant, map: Any, content: dict[str, int], fresh: str) -> None:
    check(all(map.get(key) == value for key, value in content.items()), f"{entrant.name} lacks something")
    check(map.get(fresh) is None, f"{entrant.name} has too much")
    map[fresh] = 1
    check(map.get(fresh) == 1, f"{entrant.name} keeps nothing")
    del map[fresh]
    check(map.get(fresh) is None, f"{entrant.name} forgets nothing")


def _get_each(map: Any, keys: Sequence[str]) -> None:
    get = map.get
    for key in keys:
        get(key)


def _set_each(map: Any, keys: Sequence[str]) -> None:
    for key in keys:
        map[key] = 0


def _delete_each(map: Any, keys: Sequence[str]) -> None:
    for key in keys:
        del map[key]


def _get(map: Any, keys: Sequence[str], rounds: int) -> float:
    return sum(timed(partial(_get_each, map, keys)) for _ in range(rounds))


def _insert(map: Any, keys: Sequence[str], rounds: int) -> float:
    seconds = 0.0
    for _ in range(rounds):
        seconds += timed(partial(_set_each, map, keys))
        _delete_each(map, keys)
    return seconds


_OPERATIONS: dict[str, Callable[[Any, Sequence[str], int], float]] = {
    "get": _get,
    "insert": _insert,
}
_TITLES = {
    "get": "Map: get of a key that is there",
    "insert": "Map: set of a new key",
}

BENCHMARKS = [
    Benchmark(
        name=f"map-{operation}",
        title=title,
        operation=operation,
        groups=partial(_groups, operation),
        baseline="dict",
        x_label="keys",
    )
    for operation, title in _TITLES.items()
]
