"""What was made before the exploration and is used in it: locks, conditions, caches."""

# mypy: ignore-errors

from __future__ import annotations

import functools
import os
import queue
import threading
from collections import deque
from typing import Any, ClassVar

import stress
from tests.stress.in_bad_faith.cases import CASES, Number, is_right, is_wrong

ONE, OTHER, INNER = threading.Lock(), threading.Lock(), threading.RLock()
LOCKS = {"one": threading.Lock(), "other": threading.Lock()}
CHANGED = threading.Condition(threading.Lock())
SIGNALS = {"free": threading.Semaphore(1)}


@is_wrong
class OfTwoLocksMadeBefore(Number):
    """Each call has a lock, but not the same one."""

    def increment(self) -> int:
        with ONE:
            n = self.n
        with OTHER:
            self.n = n + 1
            return n + 1


def _adds_and_takes(made: Any) -> Any:
    CASES[made.__name__] = False, made, None, [[("add",), ("add",)], [("take",)]]
    return made


@_adds_and_takes
class OfALockForEachCall(Number):
    def add(self) -> int:
        with ONE:
            self.n += 1
            return self.n

    def take(self) -> int:
        with OTHER:
            self.n -= 1
            return self.n


@_adds_and_takes
class OfLocksInADictionary(OfALockForEachCall):
    def add(self) -> int:
        with LOCKS["one"]:
            self.n += 1
            return self.n

    def take(self) -> int:
        with LOCKS["other"]:
            self.n -= 1
            return self.n


@is_right
class OfConditionOnLockMadeBefore:
    """The condition of each object is on the lock of all, which other methods use by itself."""

    lock: ClassVar[Any] = threading.RLock()

    def __init__(self) -> None:
        self.n = 0
        self.changed = threading.Condition(self.lock)

    def increment(self) -> int:
        with self.changed:
            self.n += 1
            self.changed.notify()
            return self.value()

    def value(self) -> int:
        with self.lock:
            return self.n


class OfBoundedQueue:
    lock: ClassVar[Any] = threading.RLock()

    def __init__(self) -> None:
        self.items: deque[int] = deque()
        self.free, self.filled = threading.Condition(self.lock), threading.Condition(self.lock)

    def add(self, item: int) -> None:
        with self.lock:
            while len(self.items) >= 1:
                self.free.wait()
            self.items.append(item)
            self.filled.notify()

    def take(self) -> int:
        with self.lock:
            while not self.items:
                self.filled.wait()
            self.free.notify()
            return self.items.popleft()


CASES["OfBoundedQueue"] = True, OfBoundedQueue, None, [[("add", 1), ("add", 2)], [("take",)]]


@is_right
class OfSemaphoreInADictionary(Number):
    def increment(self) -> int:
        with SIGNALS["free"]:
            self.n += 1
            return self.n


@is_right
class OfConditionOfTheModule(Number):
    def increment(self) -> int:
        with CHANGED:
            self.n += 1
            CHANGED.notify()
            return self.n


class Registry:
    n = 0


@functools.cache
def registry() -> Registry:
    return Registry()


REGISTRY = registry()


@is_right
class OfFilledCache:
    """The cache has its answer since the module was imported."""

    def increment(self) -> int:
        with INNER:
            REGISTRY.n = registry().n + 1
            return REGISTRY.n


def _boxed() -> Any:
    class Box:
        n = 0

    def count(*, box: Any = Box()) -> int:  # noqa: B008
        with INNER:
            box.n += 1
            return box.n

    return count


@is_right
class OfKeywordDefault:
    count = staticmethod(_boxed())

    def increment(self) -> int:
        return self.count()


FREE: queue.SimpleQueue[str] = queue.SimpleQueue()
FREE.put("a connection")
STARTED = threading.Event()
STARTED.set()
GATE = threading.Lock()
GATE.acquire()


@is_right
class OfPoolOfTheModule:
    def take(self) -> int:
        try:
            FREE.get_nowait()
        except queue.Empty:
            return 0
        return 1


@is_right
class OfEventThatIsSet:
    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0

    def increment(self) -> int:
        STARTED.wait()
        with self.lock:
            self.n += 1
            return self.n


class OfGate(Number):
    """Who comes through the gate leaves it open for the other one."""

    def open(self) -> None:
        self.n = 1
        GATE.release()

    def pass_through(self) -> int:
        GATE.acquire()
        GATE.release()
        return self.n


class Gate(stress.Spec):
    initial = False

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "open":
            return True, None
        return (True, 1) if state else stress.WAITS


CASES["OfGate"] = True, OfGate, Gate(), [[("open",)], [("pass_through",)]]


def _once(right: bool) -> Any:
    def noted(made: Any) -> Any:
        CASES[made.__name__] = right, made, None, [[("first",)], [("first",)]]
        return made

    return noted


@_once(right=True)
class OfAnEnvironmentVariable:
    """The process keeps it, so each execution has to begin without it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def first(self) -> bool:
        with self.lock:
            if "IN_BAD_FAITH" in os.environ:
                return False
            os.environ["IN_BAD_FAITH"] = "once"
            return True


@_once(right=False)
class OfAnEnvironmentVariableUnlocked:
    def first(self) -> bool:
        if "IN_BAD_FAITH" in os.environ:
            return False
        os.environ["IN_BAD_FAITH"] = "once"
        return True
