"""Calls that wait for one another and take effect at once, as a handoff's do: nothing is said of them, and nothing wrong."""

from __future__ import annotations

import queue
import threading
from typing import Any

import pytest

import stress
from stress import WAITS, Operation, Spec, SpecError, Verdict, check


class Slot:
    """Hands over one item at a time."""

    def __init__(self) -> None:
        self.moved = threading.Condition()
        self.items: list[Any] = []
        self.taken = 0

    def put(self, item: Any) -> None:
        with self.moved:
            while self.items:
                self.moved.wait()
            self.items.append(item)
            mine = self.taken
            self.moved.notify_all()
            while self.taken == mine:
                self.moved.wait()

    def take(self) -> Any:
        with self.moved:
            while not self.items:
                self.moved.wait()
            self.taken += 1
            self.moved.notify_all()
            return self.items.pop()


class Unsafe:
    """A blocking queue that looks and takes in two steps."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self.moved = threading.Condition()

    def put(self, item: Any) -> None:
        with self.moved:
            self.items.append(item)
            self.moved.notify_all()

    def get(self) -> Any:
        with self.moved:
            while not self.items:
                self.moved.wait()
        return self.items.pop(0)


PAIR = [[("put", 1)], [("take",)]]
ROLES: list[list[tuple[Any, ...]]] = [[("put", stress.unique)], [("take",)]]


def test_a_handoff_is_undecided() -> None:
    explored = stress.explore(Slot, None, PAIR)
    assert explored.verdict is Verdict.UNKNOWN
    assert "put and take end one another's wait" in explored.schedules
    assert "let an `invariant` judge" in explored.schedules
    with pytest.raises(ValueError, match=r"put, take would wait from the start"):
        stress.run(Slot, None, [], roles=ROLES, rounds=2)


def test_an_invariant_judges_a_handoff() -> None:
    right = stress.explore(Slot, None, PAIR, invariant=lambda slot: not slot.items)
    assert right.verdict is Verdict.LINEARIZABLE, right.report()
    wrong = stress.explore(Slot, None, PAIR, invariant=lambda slot: bool(slot.items))
    assert wrong.verdict is Verdict.ILLEGAL


def test_a_specification_of_calls_that_meet_is_refused() -> None:
    class Handoff(Spec):
        meetings = (("put", "take"),)

        def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
            return WAITS

    with pytest.raises(SpecError, match="`meetings`, which are not judged"):
        check([Operation(0, 0, 1, 4, "put", (7,), None)], Handoff())
    with pytest.raises(SpecError, match="`meetings`, which are not judged"):
        stress.explore(Slot, Handoff(), PAIR)


def test_who_waits_for_another_call_is_judged() -> None:
    assert stress.explore(queue.Queue, None, [[("put", 1)], [("get",)], [("get",)]]).verdict is Verdict.LINEARIZABLE

    lost = stress.explore(Unsafe, None, [[("put", 1)], [("get",)], [("get",)]])
    assert lost.verdict is Verdict.ILLEGAL
