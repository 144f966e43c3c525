"""Without a specification, what the object itself answers alone is right. Calls are made on objects that are kept from the
calls before: they answer what fresh ones would."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import pytest

import stress
from stress import Scenarios, explore
from tests.stress.cases import CASES, Case

pytestmark = pytest.mark.once

made = itertools.count()


class Stack:
    def __init__(self) -> None:
        next(made)
        self.items: list[int] = []
        self.lock = threading.Lock()

    def push(self, item: int) -> None:
        with self.lock:
            self.items.append(item)

    def pop(self) -> int | None:
        with self.lock:
            return self.items.pop() if self.items else None


TOTAL = [0]


class OfModule(Stack):
    """What it counts outlives it, and is put back."""

    pushed = 0

    def push(self, item: int) -> None:
        with self.lock:
            TOTAL[0] += item
            type(self).pushed += item

    def pop(self) -> int | None:
        with self.lock:
            return TOTAL[0] + self.pushed


class OfTime(Stack):
    def push(self, item: int) -> None:
        time.sleep(item)

    def pop(self) -> int | None:
        return round(time.monotonic())


class OfNumbers(Stack):
    """Every object is another one."""

    number = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).number += 1
        self.mine = self.number

    def pop(self) -> int | None:
        return self.mine


class Once(Stack):
    """Takes its lock in one call, and gives it back in another."""

    def push(self, item: int) -> None:
        self.lock.acquire(timeout=1)

    def pop(self) -> int | None:
        if self.lock.locked():
            self.lock.release()
            return 1
        return None


CALLS = [("push", stress.one_of(1, 2)), ("pop",)]


def said_of(factory: Any, calls: Any) -> Any:
    try:
        outcome = explore(factory, None, Scenarios(calls, scenarios=4, executions=40), seed=2, duration=60)
    except (ValueError, stress.SpecError) as error:
        return type(error)
    return outcome.verdict, outcome.executions, outcome.missing, outcome.token


def with_fresh_objects(monkeypatch: pytest.MonkeyPatch, factory: Any, calls: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr("stress.explorer.alone._MOST_ALIVE", 0)
        return said_of(factory, calls)


def test_one_object_serves_many_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = next(made)
    with_fresh_objects(monkeypatch, Stack, CALLS)
    fresh = next(made)
    said_of(Stack, CALLS)
    assert next(made) - fresh < (fresh - begun) / 2


@pytest.mark.parametrize("factory", [Stack, OfModule, OfTime, OfNumbers, Once])
def test_what_is_kept_answers_as_a_fresh_object_does(factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert said_of(factory, CALLS) == with_fresh_objects(monkeypatch, factory, CALLS)


@pytest.mark.slow("shows little that the classes above do not show")
@pytest.mark.parametrize("case", [each for each in CASES if each.is_for_here][::20], ids=lambda case: case.id)
def test_so_does_every_twentieth_class_of_the_table(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    with case.made() as factory:
        _, threads, _ = case.asked(factory)
        calls = list(dict.fromkeys(itertools.chain(*threads)))
        assert said_of(factory, calls) == with_fresh_objects(monkeypatch, factory, calls)
