"""What happens at the end of objects: it comes when the last of the program's own references goes."""

# mypy: ignore-errors

from __future__ import annotations

import contextlib
import weakref
from typing import Any

from stress.processes import gil_enabled
from tests.stress.in_bad_faith.cases import Locked, Number, is_right, is_wrong

is_right_with_gil = is_right if gil_enabled() else lambda made: made
"""Without the GIL, what one thread has made and another one lets go of ends when the first thread gets to it."""


class Part:
    pass


class Guard:
    """Counts its end."""

    def __init__(self, of: Any) -> None:
        self.of = weakref.ref(of)

    def __del__(self) -> None:
        of = self.of()
        if hasattr(of, "n"):
            of.n += 1


@is_right
class OfEndUnderLock(Locked):
    def increment(self) -> int:
        with self.lock:
            guard = Guard(self)
            del guard
            return self.n


@is_wrong
class OfEndWithoutLock(Number):
    def increment(self) -> int:
        guard = Guard(self)
        del guard
        return self.n


@is_right_with_gil
class OfEndOfPart(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.guards = [Guard(self), Guard(self)]

    def increment(self) -> int:
        with self.lock:
            self.guards.pop()
            return self.n


@is_right_with_gil
class OfWeakPart(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.part = Part()
        self.weak = weakref.ref(self.part)

    def take(self) -> int:
        with self.lock:
            had = self.part is not None
            self.part = None
            return int(had) if self.weak() is None else -1


@is_right_with_gil
class OfWeakParts(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.part = Part()
        self.parts: Any = weakref.WeakValueDictionary(only=self.part)

    def take(self) -> int:
        with self.lock:
            n = len(self.parts)
            self.part = None
            return n


@is_right
class OfWeakOnesOfCalls(Locked):
    def increment(self) -> int:
        with self.lock:
            part = Part()
            part.n = 1
            weak, before = weakref.ref(part), self.n
            weakref.finalize(part, self.count)
            del part
            return self.n if weak() is None else before

    def count(self) -> None:
        self.n += 1


@is_right
class OfEndOfCallable(Locked):
    class Called(Guard):
        def __call__(self) -> None:
            pass

    def increment(self) -> int:
        with self.lock:
            called = self.Called(self)
            called()
            del called
            return self.n


@is_right
class OfEndAfterFailure(Locked):
    class Fails(Guard):
        def __init__(self, of: Any) -> None:
            super().__init__(of)
            self.n = 1
            raise KeyError

    def increment(self) -> int:
        with self.lock:
            with contextlib.suppress(KeyError):
                self.Fails(self)
            return self.n


@is_right
class OfEndInList(Locked):
    """Nothing tells of the end of a list, so the explorer keeps it."""

    def increment(self) -> int:
        with self.lock:
            guards = [Guard(self)]
            guards.append(None)
            del guards
            return self.n
