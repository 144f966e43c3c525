"""Answers that the object goes on changing count as they were when the call returned: they are copied, unless they are told
apart by identity. And what `run` does with what the interpreter keeps in classes, and with generators that threads share."""

from __future__ import annotations

import enum
import subprocess
import sys
import threading
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import Any

import pytest

import stress
from stress import Verdict, explore
from stress.answers import as_it_is


class Cell:
    """Equal by its value, which may change."""

    __slots__ = ("value",)

    def __init__(self, value: Any = 0) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)


class Listed:
    """Answers with its own list."""

    def __init__(self) -> None:
        self.lock, self.there, self.cell = threading.Lock(), list[int](), Cell()

    def add(self, value: int) -> None:
        self.there.append(value)

    def get(self) -> Any:
        return self.there


class Lost(Listed):
    """Answers with its own list, and loses items."""

    def add(self, value: int) -> None:
        self.there = [*self.there, value]


class Deep(Listed):
    """Answers with what has its list in it twice."""

    def get(self) -> Any:
        return self.there, {"again": self.there}


class Valued(Listed):
    """Answers with an object that it goes on changing."""

    def add(self, value: int) -> None:
        with self.lock:
            self.cell.value += value

    def get(self) -> Any:
        return self.cell


@pytest.mark.parametrize("made", [Listed, Deep, Valued, Lost])
def test_who_answers_with_its_own_is_accused_only_if_it_loses_some(made: Any) -> None:
    outcome = explore(made, None, [[("add", 1), ("get",)], [("add", 2), ("get",)]])
    assert outcome.verdict is (Verdict.ILLEGAL if made is Lost else Verdict.LINEARIZABLE), outcome.report()
    if made is not Lost:
        found = stress.run(made, None, [("add", 1), ("get",)], threads=2, duration=0.6, seed=1)
        assert found.verdict is not Verdict.ILLEGAL, found.report()


@dataclass(frozen=True)
class Point:
    x: Any


class Known:
    """Two are never equal."""


class Ending(Cell):
    """Has a finalizer, which a copy would run."""

    def __del__(self) -> None: ...

    __hash__ = Cell.__hash__

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


COPIED: list[Any] = [
    [1, [2, {3}]], {"a": [1]}, OrderedDict(a=[1]), defaultdict(list, a=[1]), deque([1], 3), bytearray(b"ab"),
    ([1], (2, [3])), Cell([3]), Point([1]), (None, True, 1, 1.0, "a", b"b", 1j),
]  # fmt: skip


@pytest.mark.parametrize("value", COPIED, ids=lambda value: type(value).__name__)
def test_a_copy_is_equal_and_of_the_same_type(value: Any) -> None:
    copy = as_it_is(value)
    assert copy == value
    assert type(copy) is type(value)


def test_what_is_told_apart_by_identity_is_not_copied() -> None:
    values: list[Any] = [Known(), Ending(), 1, "a", ValueError(), iter([]), object, len]
    for value in values:
        assert as_it_is(value) is value


def test_what_is_in_it_twice_shows_one_moment() -> None:
    there: list[int] = []
    one, other = as_it_is((there, [there]))
    assert other[0] is one


class Flags(enum.Flag):
    A = 1
    B = 2


class Flagged:
    """`enum` keeps the combination when it is first met."""

    def __init__(self) -> None:
        self.lock, self.flags = threading.Lock(), Flags(0)

    def add(self, bit: int) -> int:
        with self.lock:
            self.flags |= Flags(bit)
            return self.flags.value


@pytest.mark.once
def test_what_an_enumeration_keeps_is_no_state_of_the_object() -> None:
    outcome = stress.run(Flagged, None, [("add", 1), ("add", 2)], threads=2, duration=1, seed=1)
    assert "outlives" not in outcome.summary


SHARED_GENERATOR = """
import stress
class Numbers:
    def __init__(self):
        self.n = 0
        def numbers():
            while True:
                self.n += 1
                yield self.n
        self.numbers = numbers()
    def increment(self):
        return next(self.numbers)
print(stress.run(Numbers, stress.Counter(), [("increment",)], threads=2, duration=1, seed=1).verdict.name)
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="free-threaded interpreters crash even without `run`")
def test_a_generator_that_threads_share_does_not_crash_the_interpreter() -> None:
    found = subprocess.run([sys.executable, "-c", SHARED_GENERATOR], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() in ("ILLEGAL", "LINEARIZABLE")
