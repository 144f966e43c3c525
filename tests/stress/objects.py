"""Small objects that are known to be right, or wrong: what campaigns and commands are tried on."""

from __future__ import annotations

import threading
from typing import Any

from stress import Counter, Deferred, one_of, unique


class LossyCounter:
    """Reads, adds and writes back in separate steps."""

    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        n = self.n
        self.n = n + 1
        return n + 1

    def value(self) -> int:
        return self.n


class LockedCounter(LossyCounter):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def increment(self) -> int:
        with self.lock:
            return super().increment()


class CounterWithMore(Counter):
    """With calls that change nothing, and answer nothing."""

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        return (state, None) if op in ("claim", "peek") else super().step(state, op, args)


class WrongAlone(LockedCounter):
    """What one thread sees alone is no fault, unless a specification says so."""

    def value(self) -> int:
        return self.n + 1


class TornMatcher:
    """A matcher on two dicts under a lock, but `match` reads them without the lock, one after the other."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.literal: dict[str, frozenset[Any]] = {}
        self.wildcard: dict[str, frozenset[Any]] = {}

    def table(self, filter: str) -> dict[str, frozenset[Any]]:
        return self.wildcard if "*" in filter else self.literal

    def subscribe(self, filter: str, subscriber: Any) -> bool:
        with self.lock:
            there = self.table(filter).get(filter, frozenset())
            self.table(filter)[filter] = there | {subscriber}
            return subscriber not in there

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        with self.lock:
            there = self.table(filter).get(filter, frozenset())
            self.table(filter)[filter] = there - {subscriber}
            return subscriber in there

    def match(self, topic: str) -> frozenset[Any]:
        exact = self.literal.get(topic, frozenset())
        return exact | self.wildcard.get("*." + topic.partition(".")[2], frozenset())


class LockedMatcher(TornMatcher):
    def match(self, topic: str) -> frozenset[Any]:
        with self.lock:
            return super().match(topic)


class LockedMap:
    """A dict under a lock, with snapshots that are copies."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.content: dict[Any, Any] = {}

    def put(self, key: Any, value: Any) -> None:
        with self.lock:
            self.content[key] = value

    def get(self, key: Any) -> Any:
        with self.lock:
            return self.content.get(key)

    def pop(self, key: Any, default: Any) -> Any:
        with self.lock:
            return self.content.pop(key, default)

    def items(self) -> list[tuple[Any, Any]]:
        with self.lock:
            return list(self.content.items())

    def snapshot(self) -> Deferred:
        with self.lock:
            taken = dict(self.content)
        return Deferred(lambda: list(taken.items()))


class SharingMap(LockedMap):
    """Its snapshot is the dict itself."""

    def snapshot(self) -> Deferred:
        return Deferred(lambda: list(self.content.items()))


class CachedMap(LockedMap):
    """Caches what was read. Writers clear a key's entry after they have left the lock."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: dict[Any, Any] = {}

    def put(self, key: Any, value: Any) -> None:
        super().put(key, value)
        self.cache.pop(key, None)

    def pop(self, key: Any, default: Any) -> Any:
        found = super().pop(key, default)
        self.cache.pop(key, None)
        return found

    def get(self, key: Any) -> Any:
        if (found := self.cache.get(key, self)) is self:  # the map itself stands for "not cached"
            self.cache[key] = found = super().get(key)
        return found


COUNTING = [("increment",), ("value",)]
LOST_INCREMENTS = {"lost update", "stale read", "impossible answer"}
"""The names that a report may give to lost increments of a counter. Chance decides which answer shows the loss, and
whether other losses in the same window hide what that answer lacks."""
FILTER, WHO = one_of("a.b", "*.b"), one_of("x", "y")
MATCHING = [("subscribe", FILTER, WHO), ("unsubscribe", FILTER, WHO), ("match", "a.b")]
MAPPING = [("put", one_of("a", "b"), unique), ("get", one_of("a", "b")), ("pop", one_of("a", "b"), None)]
