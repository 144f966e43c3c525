"""Right without a lock."""

# mypy: ignore-errors

from __future__ import annotations

import collections
import itertools
import threading
from typing import Any

from tests.stress.in_bad_faith.cases import Locked, is_right


@is_right
class OfVersion(Locked):
    """A sequence lock: readers try again."""

    def __init__(self) -> None:
        super().__init__()
        self.version = self.a = self.b = 0

    def put(self, x: int) -> None:
        with self.lock:
            self.version += 1
            self.a = x
            self.b = x
            self.version += 1

    def read(self) -> Any:
        while True:
            version = self.version
            if version % 2 == 0:
                found = self.a, self.b
                if self.version == version:
                    return found


@is_right
class OfTickets:
    """Tickets, and whose turn it is."""

    def __init__(self) -> None:
        self.tickets = itertools.count()
        self.turn = self.n = 0

    def increment(self) -> int:
        mine = next(self.tickets)
        while self.turn != mine:
            pass
        self.n += 1
        found = self.n
        self.turn = mine + 1
        return found


@is_right
class OfPeterson:
    """Mutual exclusion of two threads by plain variables."""

    def __init__(self) -> None:
        self.wants = [False, False]
        self.waits = self.n = 0
        self.names = itertools.count()
        self.local = threading.local()

    def increment(self) -> int:
        me = next(self.names) % 2
        self.wants[me] = True
        self.waits = me
        while self.wants[1 - me] and self.waits == me:
            pass
        self.n += 1
        found = self.n
        self.wants[me] = False
        return found


@is_right
class OfSpinningTryLock(Locked):
    def increment(self) -> int:
        while not self.lock.acquire(blocking=False):
            pass
        try:
            self.n += 1
            return self.n
        finally:
            self.lock.release()


@is_right
class OfReadersAndWriters:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.readers, self.writing = 0, False
        self.a = self.b = 0

    def put(self, x: int) -> None:
        with self.changed:
            while self.readers or self.writing:
                self.changed.wait()
            self.writing = True
        self.a = x
        self.b = x
        with self.changed:
            self.writing = False
            self.changed.notify_all()

    def read(self) -> Any:
        with self.changed:
            while self.writing:
                self.changed.wait()
            self.readers += 1
        found = self.a, self.b
        with self.changed:
            self.readers -= 1
            self.changed.notify_all()
        return found


@is_right
class OfSetDefaultBox:
    def __init__(self) -> None:
        self.of: dict[str, Any] = {}

    def get(self) -> Any:
        return self.of.setdefault("it", (1, 2))


@is_right
class OfDequeOfTokens:
    def __init__(self) -> None:
        self.numbers = collections.deque(range(1, 10))

    def increment(self) -> int:
        return self.numbers.popleft()


@is_right
class OfSwap:
    """One attribute that refers to all of the state."""

    def __init__(self) -> None:
        self.pair = (0, 0)

    def put(self, x: int) -> None:
        self.pair = (x, x)

    def read(self) -> Any:
        a, b = self.pair
        return a, b
