"""Published faults, rebuilt as small as they go."""

# mypy: ignore-errors

from __future__ import annotations

import itertools
import threading
from typing import Any

from tests.stress.in_bad_faith.cases import Locked, is_right, is_wrong


@is_wrong
class OfLinecache:
    """Looks whether a line is there, and then takes it: `clear` comes between (CPython gh-133253)."""

    def __init__(self) -> None:
        self.lines = {"a": 0, "b": 0}

    def put(self, x: int) -> None:
        self.lines.clear()
        self.lines.update(a=x, b=x)

    def read(self) -> Any:
        if "a" in self.lines:
            return self.lines["a"], self.lines["b"]
        return 0, 0


@is_wrong
class OfGauss:
    """Keeps the second of two numbers for the next call, which two calls get (`random.gauss`)."""

    def __init__(self) -> None:
        self.drawn = itertools.count(1)
        self.kept: int | None = next(self.drawn)

    def increment(self) -> int:
        kept = self.kept
        self.kept = None
        return next(self.drawn) if kept is None else kept


@is_wrong
class OfCacheIncrement:
    """Gets, and then sets (`incr` of caches)."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.cache = {"n": 0}

    def get_one(self) -> int:
        with self.lock:
            return self.cache["n"]

    def set_one(self, n: int) -> None:
        with self.lock:
            self.cache["n"] = n

    def increment(self) -> int:
        n = self.get_one() + 1
        self.set_one(n)
        return n


SETTINGS: Any = None


@is_wrong
class OfSysconfig:
    """A variable of a module, which is set before it is filled (CPython gh-92452)."""

    def __init__(self) -> None:
        global SETTINGS
        SETTINGS = None

    def get(self) -> Any:
        global SETTINGS
        if SETTINGS is None:
            SETTINGS = {}
            SETTINGS["a"] = 1
            SETTINGS["b"] = 2
        return SETTINGS.get("a"), SETTINGS.get("b")


@is_wrong
class OfPool:
    """A pool that is made anew after a fork: whoever looks first may get the old one (redis-py 906 and the like)."""

    def __init__(self) -> None:
        self.process, self.free = 0, [0]

    def take(self) -> int:
        if self.process != 1:
            self.process = 1
            self.free = [1]
        return self.free.pop() if self.free else 0


@is_wrong
class OfWhilePop:
    """`while items: items.pop()` in two threads."""

    def __init__(self) -> None:
        self.items = [1]

    def take(self) -> int:
        found = 0
        while self.items:
            found += self.items.pop()
        return found


@is_wrong
class OfConnectionCount:
    """The limit is looked at outside of the lock (urllib3 1252 and the like)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.left = 1

    def take(self) -> int:
        if self.left <= 0:
            return 0
        with self.lock:
            self.left -= 1
        return 1


@is_wrong
class OfSharedGenerator:
    """Two threads resume one generator: "generator already executing"."""

    def __init__(self) -> None:
        self.last = 0
        self.numbers = self.made()

    def made(self) -> Any:
        while True:
            self.last = self.last + 1
            yield self.last

    def increment(self) -> int:
        return next(self.numbers)


@is_wrong
class OfViewInACall:
    """Each call makes a view of its own of the same bytes."""

    def __init__(self) -> None:
        self.bytes = bytearray(1)

    def take(self) -> int:
        view = memoryview(self.bytes)
        if view[0] == 0:
            view[0] = 1
            return 1
        return 0


@is_right
class OfBufferInACall(Locked):
    """Each call has bytes of its own."""

    def increment(self) -> int:
        view = memoryview(bytearray(2))
        with self.lock:
            self.n += 1
            view[0] = self.n
        return view[0]
