"""An access that the explorer does not see makes no verdict: neither a proof, nor an accusation."""

# mypy: ignore-errors

from __future__ import annotations

import json
import warnings
import weakref
from operator import attrgetter
from typing import Any

import pytest

import ctrie
import stress
from stress import Verdict, explore, treat

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")
NOT_SEEN = "an access was not seen"


class Pair:
    """The getters of its properties are functions in C, which read attributes that no step tells of."""

    left = property(attrgetter("_left"))
    right = property(attrgetter("_right"))

    def __init__(self) -> None:
        self._left = self._right = 0

    def move(self) -> None:
        self._left = 1
        self._right = 1

    def total(self) -> tuple[int, int]:
        return self.left, self.right


class One(Pair):
    def move(self) -> None:
        self._left = 1

    def total(self) -> int:
        return self.left


class Part:
    pass


class Weak:
    """A weak reference is asked twice, and the object may end in between."""

    def __init__(self) -> None:
        self.part = Part()
        self.weak = weakref.ref(self.part)

    def move(self) -> None:
        self.part = None

    def total(self) -> bool:
        if self.weak() is None:
            return True
        return self.weak() is not None


class Warns:
    """What `catch_warnings` puts back is what another thread has put there."""

    def move(self) -> int:
        return self.total()

    def total(self) -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("once", UserWarning, stacklevel=1)
            return len(caught)


MOVE_AND_TOTAL: Any = [[("move",)], [("total",)]]


# On a free-threaded build, an object may end later than the last reference to it is let go. So it is chance there
# whether an execution shows that.
@pytest.mark.parametrize("made", [Pair, pytest.param(Weak, marks=pytest.mark.once)])
def test_no_proof(made: Any) -> None:
    outcome = explore(made, None, MOVE_AND_TOTAL, seed=1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert NOT_SEEN in outcome.summary
    assert made is Pair or "test_between.py:" in outcome.summary


class LongPair(Pair):
    """A long loop hides the short time between its two writes."""

    def move(self) -> None:
        self._left = 1
        for _ in range(300):
            pass
        self._right = 1

    def total(self) -> tuple[int, int]:
        left = self.left
        for _ in range(300):
            pass
        return left, self.right


class Whole(stress.Spec):
    """Both change at once."""

    initial = (0, 0)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return ((1, 1), None) if op == "move" else (state, state)


@pytest.mark.parametrize("seed", range(4))
def test_the_ends_of_a_long_loop_come_first(seed: int) -> None:
    outcome = explore(LongPair, None, MOVE_AND_TOTAL, seed=seed)
    assert outcome.verdict is Verdict.UNKNOWN
    assert NOT_SEEN in outcome.summary


@pytest.mark.parametrize("how", [{"preemptions": 0}, {"preemptions": 10}, {"samples": 100}, {"stops": True}])
def test_no_schedules_are_right_without_it(how: Any) -> None:
    outcome = explore(Pair, None, MOVE_AND_TOTAL, seed=1, **how)
    assert outcome.verdict is Verdict.UNKNOWN
    assert NOT_SEEN in outcome.summary


def test_nor_are_drawn_scenarios() -> None:
    outcome = explore(Pair, Whole(), stress.Scenarios([("move",), ("total",)], before=0, after=0), seed=1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert NOT_SEEN in outcome.summary


def test_warnings_are_handled_as_before() -> None:
    before = warnings.filters, list(warnings.filters), warnings.showwarning
    explore(Warns, None, MOVE_AND_TOTAL, seed=1)
    assert (warnings.filters, list(warnings.filters), warnings.showwarning) == before


def test_no_accusation() -> None:
    outcome = explore(One, None, MOVE_AND_TOTAL, seed=1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert NOT_SEEN in outcome.summary


class Told:
    """Two values that belong together, and are written by Python code that has no steps."""

    def __init__(self) -> None:
        self.values = {"a": 0, "b": 0}

    def move(self) -> None:
        self.values["a"] = 1
        self.values["b"] = 1

    def total(self) -> str:
        return json.dumps(self.values, indent=1)


class ToldOnce(Told):
    def move(self) -> None:
        self.values = {"a": 1, "b": 1}


def test_code_without_steps_that_another_thread_disturbs_is_named() -> None:
    treat("json", "one step")
    try:
        outcome = explore(Told, None, [[("move",), ("move",)], [("total",)]], seed=1)
        disturbed = explore(Disturbed, None, MOVE_AND_TOTAL, seed=1)
        once = explore(ToldOnce, None, MOVE_AND_TOTAL, seed=1)
    finally:
        treat("json", None)
    assert not outcome
    assert "dumps, which another thread disturbs, ran without steps" in disturbed.summary
    assert once


class Disturbed(Told):
    """Each change by itself is right. What is written while one comes is not known."""

    def move(self) -> None:
        self.values["c"] = 1
