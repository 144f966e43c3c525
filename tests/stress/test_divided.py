"""Instructions that read several things, one after another: a pattern of `match`, an unpacking. Where threads run at the
same time, another one may come in between, and the explorer says so."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

import stress
from stress.processes import gil_enabled
from tests.stress.one_at_a_time import one_at_a_time


class Keys:
    def __init__(self) -> None:
        self.items: Any = {"a": 0, "b": 0}

    def put(self, n: int) -> None:
        self.items.update(a=n, b=n)

    def get(self) -> Any:
        match self.items:
            case {"a": a, "b": b}:
                return a, b


class Attributes:
    __match_args__ = ("a", "b")

    def __init__(self) -> None:
        self.a = self.b = 0

    def put(self, n: int) -> None:
        vars(self).update(a=n, b=n)

    def get(self) -> Any:
        match self:
            case Attributes(a=a, b=b):
                return a, b


class Places(Attributes):
    def get(self) -> Any:
        match self:
            case Places(a, b):
                return a, b


class Items:
    def __init__(self) -> None:
        self.items: Any = [0, 0]

    def put(self, n: int) -> None:
        self.items[:] = [n, n]

    def get(self) -> Any:
        match self.items:
            case [a, b]:
                return a, b


class Unpacked(Items):
    def get(self) -> Any:
        a, b = self.items
        return a, b


class Starred(Items):
    def get(self) -> Any:
        a, *others = self.items
        return a, *others


class Turned(Items):
    """A deque."""

    def __init__(self) -> None:
        self.items = deque([0, 0])

    def put(self, n: int) -> None:
        self.items.reverse()
        self.items[0] = n

    def get(self) -> Any:
        a, b = self.items
        return a, b


CLASSES = [Keys, Attributes, Places, Items, Unpacked, Starred]


@pytest.mark.parametrize("made", CLASSES)
def test_another_thread_may_come_in_between_unless_threads_take_turns(made: Any) -> None:
    outcome = stress.explore(made, None, [[("put", 1)], [("get",)]])
    assert outcome.verdict is (stress.Verdict.LINEARIZABLE if gil_enabled() else stress.Verdict.UNKNOWN)
    assert ("reads several things" in outcome.summary) is not gil_enabled()


@pytest.mark.parametrize("made", [*CLASSES, Turned])
def test_with_a_lock_none_comes_in_between(made: Any) -> None:
    outcome = stress.explore(one_at_a_time(made, "put", "get"), None, [[("put", 1)], [("get",)], [("get",)]])
    assert outcome.verdict is stress.Verdict.LINEARIZABLE, outcome.report()
