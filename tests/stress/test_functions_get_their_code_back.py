"""After an exploration, every function has its own code again: code that gets steps twice ends the process."""

from __future__ import annotations

import dataclasses
import gc
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from stress import Counter, Verdict, explore

TWICE: list[Any] = [[("increment",)], [("increment",)]]


def compiled_again() -> Any:
    """A function whose code is equal to that of the others, and not the same."""
    names: dict[str, Any] = {}
    exec("def increment(self):\n    self.n += 1\n    return self.n", names)
    return names["increment"]


class Plain:
    """Loses updates; so does what has the same text."""

    def __init__(self) -> None:
        self.n = 0
        self.add = OTHERS[self.n]

    increment = compiled_again()


class Calling(Plain):
    """Calls a function that is reached in no other way."""

    def increment(self) -> Any:
        return self.add(self)


class Guarded(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def increment(self) -> Any:
        with self.lock:
            return super().increment() + 0 * self.add(Plain())


OTHERS = [compiled_again() for _ in range(6)]


@dataclasses.dataclass
class One:
    n: int = 0


@dataclasses.dataclass
class Other:
    n: int = 0


class OfTwins:
    """Uses classes whose methods Python has compiled from one text."""

    def __init__(self) -> None:
        self.one, self.other = One(), Other()

    def increment(self) -> int:
        self.one = One(self.one.n + 1)
        self.other = Other(self.one.n)
        return self.other.n


FUNCTIONS: list[Any] = [
    Plain.increment, *OTHERS, Calling.increment, Guarded.increment, OfTwins.increment, One.__init__, Other.__init__,
]  # fmt: skip


@pytest.fixture
def frozen() -> Iterator[None]:
    """The collector knows of nothing that there is."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def explored_again_and_again() -> None:
    codes = [each.__code__ for each in FUNCTIONS]
    for _ in range(2):
        for factory in (Plain, Calling, OfTwins):
            assert explore(factory, Counter(), TWICE).verdict is Verdict.ILLEGAL
        assert explore(Guarded, Counter(), TWICE).verdict is Verdict.LINEARIZABLE
        assert all(each.__code__ is code for each, code in zip(FUNCTIONS, codes, strict=True))


@pytest.mark.once  # the other test does the same where the collector does not help
def test_functions_that_are_equal() -> None:
    explored_again_and_again()


def test_functions_that_the_collector_does_not_know(frozen: None) -> None:
    explored_again_and_again()
