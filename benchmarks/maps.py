"""The contenders of the Ctrie as a map: one adapter each, all with `get`, `[key]`, `[key] = value` and `del [key]`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any

from benchmarks import jvm
from ctrie import AtomicReference, Ctrie


class Locked:
    """A map that is not thread-safe, every call under one lock."""

    def __init__(self, map: MutableMapping[str, int]) -> None:
        self._map = map
        self._lock = Lock()

    def get(self, key: str) -> int | None:
        with self._lock:
            return self._map.get(key)

    def __getitem__(self, key: str) -> int:
        with self._lock:
            return self._map[key]

    def __setitem__(self, key: str, value: int) -> None:
        with self._lock:
            self._map[key] = value

    def __delitem__(self, key: str) -> None:
        with self._lock:
            del self._map[key]


class Swapped:
    """An immutable map in an atomic reference: a writer builds another one and puts it there if nobody else
    has."""

    def __init__(self, map: Any) -> None:
        self._reference = AtomicReference(map)

    def get(self, key: str) -> int | None:
        found: int | None = self._reference.load().get(key)
        return found

    def __getitem__(self, key: str) -> int:
        found: int = self._reference.load()[key]
        return found

    def __setitem__(self, key: str, value: int) -> None:
        while True:
            map = self._reference.load()
            if self._reference.compare_and_set(map, map.set(key, value)):
                return

    def __delitem__(self, key: str) -> None:
        while True:
            map = self._reference.load()
            if self._reference.compare_and_set(map, map.delete(key)):
                return


def _locked_dict(content: Mapping[str, int]) -> Any:
    return Locked(dict(content))


def _locked_sorted_dict(content: Mapping[str, int]) -> Any:
    return Locked(import_module("sortedcontainers").SortedDict(content))


def _atomic_dict(content: Mapping[str, int]) -> Any:
    return import_module("cereggii").AtomicDict(dict(content))


def _swapped_map(content: Mapping[str, int]) -> Any:
    return Swapped(import_module("immutables").Map(content))


@dataclass(frozen=True)
class MapEntrant:
    """A contender: how to make it with content."""

    name: str
    make: Callable[[Mapping[str, int]], Any]


ENTRANTS = (
    MapEntrant("dict", dict),
    MapEntrant("Ctrie", Ctrie),
    MapEntrant("dict + lock", _locked_dict),
    MapEntrant("SortedDict + lock", _locked_sorted_dict),
    MapEntrant("cereggii AtomicDict", _atomic_dict),
    MapEntrant("immutables Map in an atomic reference", _swapped_map),
)


def present() -> list[MapEntrant]:
    """Leave out those that are not installed, and say so."""
    found = []
    for entrant in ENTRANTS:
        try:
            entrant.make({})
        except ImportError as missing:
            print(f"{entrant.name} left out: {missing}")
        else:
            found.append(entrant)
    return found


def jvm_is_there() -> bool:
    """Return whether the JVM's TrieMap can compete; if not, print why."""
    missing = jvm.missing()
    if missing:
        print(f"{jvm.NAME} left out: {missing}")
    return missing is None


def shuffled_keys(size: int, seed: int, count: int | None = None) -> list[str]:
    """Make `count` of `size` different strings (all of them unless told), in an order without pattern: a map's memory
    is not read front to back."""
    numbers = random.Random(seed).sample(range(size), size if count is None else count)
    return [f"key{number}" for number in numbers]
