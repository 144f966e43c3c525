"""Accesses that no instruction shows by itself: items that C takes from a shared iterator, dictionaries of objects that
are exchanged, notes of exceptions, and code that is compiled while the object is explored. Pairs of a wrong class and
of a right one.
"""

# mypy: ignore-errors

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

import ctrie
from stress import Counter, Verdict, explore
from tests.stress.one_at_a_time import one_at_a_time

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")
TAKES = [[("take",)], [("take",)]]


class Taking:
    """Has an iterator, from which threads take."""

    def __init__(self) -> None:
        self.source = iter([1, 2, 3, 4])


class ByListTwice(Taking):
    def take(self) -> Any:
        return list(itertools.islice(self.source, 1)) + list(itertools.islice(self.source, 1))


class ByList(Taking):
    def take(self) -> Any:
        return list(itertools.islice(self.source, 2))


class BySum(Taking):
    def take(self) -> Any:
        return next(self.source, 0) + sum(self.source)


class BySumAlone(Taking):
    def take(self) -> Any:
        return sum(self.source)


class ByUnpacking(Taking):
    def take(self) -> Any:
        first, second = itertools.islice(self.source, 2)
        return first, second, next(self.source, None)


class ByContains(Taking):
    def take(self) -> Any:
        return 1 in self.source, 3 in self.source


class ByZip(Taking):
    def take(self) -> Any:
        return [(one, other, next(self.source, None)) for one, other in zip(self.source, self.source, strict=False)]


class ByStar(Taking):
    def take(self) -> Any:
        return (next(self.source, 0), *self.source)


class BySlice(Taking):
    def take(self) -> Any:
        found = [next(self.source, 0), 0]
        found[1:] = self.source
        return found


class ByRange:
    """What it takes from has no container behind it."""

    def __init__(self) -> None:
        self.source = iter(range(10))

    def take(self) -> Any:
        return list(itertools.islice(self.source, 2))


@pytest.mark.parametrize("wrong", [ByListTwice, BySum, ByUnpacking, ByContains, ByZip, ByStar, BySlice])
def test_who_takes_twice_is_interrupted(wrong: Any) -> None:
    assert explore(wrong, None, TAKES).verdict is Verdict.ILLEGAL


@pytest.mark.parametrize("right", [ByList, BySumAlone, ByRange])
def test_who_takes_once_is_right(right: Any) -> None:
    assert explore(right, None, TAKES).verdict is Verdict.LINEARIZABLE


# ------------------------------------------------------------------------------------------------- exchanged dictionaries


class Exchanged:
    """Its two attributes come and go together."""

    def __init__(self) -> None:
        self.x = self.y = 0

    def put(self, value: int) -> None:
        self.__dict__ = {"x": value, "y": value}

    def read(self) -> Any:
        return self.x, self.y


class ReadAtOnce(Exchanged):
    def read(self) -> Any:
        both = self.__dict__
        return both["x"], both["y"]


class AlsoChanged(ReadAtOnce):
    def read(self) -> Any:
        self.x = self.x + 1
        self.y = self.y + 1
        return super().read()


class Borg:
    """All objects have the same attributes."""

    state: Any = {}
    lock = threading.Lock()

    def __init__(self) -> None:
        self.__dict__ = Borg.state


class OfBorg:
    def __init__(self) -> None:
        Borg.state = {"n": 0}

    def increment(self) -> int:
        one = Borg()
        one.n = one.n + 1
        return one.n


class OfBorgUnderLock(OfBorg):
    def increment(self) -> int:
        with Borg.lock:
            return super().increment()


@pytest.mark.parametrize(
    ("factory", "verdict"),
    [(Exchanged, Verdict.ILLEGAL), (AlsoChanged, Verdict.ILLEGAL), (ReadAtOnce, Verdict.LINEARIZABLE)],
)
def test_all_attributes_depend_on_the_dictionary(factory: Any, verdict: Verdict) -> None:
    assert explore(factory, None, [[("put", 1)], [("read",)]]).verdict is verdict


@pytest.mark.parametrize(("factory", "verdict"), [(OfBorg, Verdict.ILLEGAL), (OfBorgUnderLock, Verdict.LINEARIZABLE)])
def test_objects_that_have_one_dictionary_have_the_same_attributes(factory: Any, verdict: Verdict) -> None:
    assert explore(factory, Counter(), [[("increment",)], [("increment",)]]).verdict is verdict


# ------------------------------------------------------------------------------------------------- notes, compiled code


class Noted:
    """Counts by the notes of an exception."""

    def __init__(self) -> None:
        self.error = ValueError()
        self.error.__notes__ = []

    def increment(self) -> int:
        n = len(self.error.__notes__) + 1
        self.error.add_note("one more")
        return n


class Compiled:
    """The factory compiles the code that runs."""

    def __init__(self) -> None:
        self.n = 0
        self.code = eval("lambda it: (it.__setattr__('n', it.n + 1), it.n)[1]")

    def increment(self) -> int:
        return self.code(self)


@pytest.mark.parametrize(
    ("factory", "verdict"),
    [
        (Noted, Verdict.ILLEGAL),
        (one_at_a_time(Noted, "increment"), Verdict.LINEARIZABLE),
        (Compiled, Verdict.ILLEGAL),
        (one_at_a_time(Compiled, "increment"), Verdict.LINEARIZABLE),
    ],
)
def test_it_has_steps(factory: Any, verdict: Verdict) -> None:
    outcome = explore(factory, Counter(), [[("increment",)], [("increment",)]])
    assert outcome.verdict is verdict, outcome.summary
