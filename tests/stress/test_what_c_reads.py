"""What C reads of objects that hold one another, and keeps when a call of the program's returns to it. Wrong classes, and
right ones beside them.
"""

# mypy: ignore-errors

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import operator
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

import ctrie
from stress import Verdict, explore
from tests.stress.one_at_a_time import one_at_a_time

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")


class Parts:
    def __init__(self, items: list[int]) -> None:
        self.items = items


class Moves:
    """An item moves from one part to the other in two steps: it is in one of them always."""

    def __init__(self) -> None:
        self.one, self.other = Parts([1]), Parts([])
        self.whole: Any = self._put_together()

    def _put_together(self) -> Any:
        raise NotImplementedError

    def move(self) -> None:
        self.other.items.append(self.one.items.pop())

    def save(self) -> int:
        return pickle.dumps(self.whole).count(b"K\x01")


class InNamespace(Moves):
    def _put_together(self) -> Any:
        parts = SimpleNamespace(one=SimpleNamespace(items=[1]), other=SimpleNamespace(items=[]))
        self.__dict__.clear()
        return parts

    def move(self) -> None:
        self.whole.other.items.append(self.whole.one.items.pop())


class InSet(Moves):
    def _put_together(self) -> Any:
        return {self.one, self.other}


class InFrozenSet(Moves):
    def _put_together(self) -> Any:
        return frozenset([self.one, self.other])


class InKeys(Moves):
    def _put_together(self) -> Any:
        return {self.one: None, self.other: None}


class InException(InNamespace):
    def _put_together(self) -> Any:
        return ValueError(super()._put_together())

    def move(self) -> None:
        parts = self.whole.args[0]
        parts.other.items.append(parts.one.items.pop())


class Told(InNamespace):
    def save(self) -> str:
        return repr(self.whole)


class Compared(InNamespace):
    def save(self) -> bool:
        none = SimpleNamespace(items=[])
        return self.whole == SimpleNamespace(one=none, other=none)


MOVES = [InNamespace, InSet, InFrozenSet, InKeys, InException, Told, Compared]


@pytest.mark.parametrize("moves", MOVES)
def test_reads_all_that_is_held(moves: Any) -> None:
    calls = [[("save",)], [("move",)]]
    outcome = explore(moves, None, calls)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary
    outcome = explore(one_at_a_time(moves, "move", "save"), None, calls)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


class Cached:
    """The cache can keep a value that was read before it was cleared."""

    def __init__(self) -> None:
        self.value = 1
        self.cached = functools.lru_cache(self._read)

    def _read(self) -> int:
        return self.value

    def get(self) -> int:
        return self.cached()

    def set(self, value: int) -> None:
        self.value = value
        self.cached.cache_clear()


def test_a_cache_keeps_an_answer_after_it_was_given() -> None:
    outcome = explore(Cached, None, [[("get",)], [("set", 2), ("get",)]])
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary


class Point:
    def __init__(self) -> None:
        self.at = (1, 0)


class Copied:
    def __init__(self) -> None:
        self.point = Point()

    def move(self) -> None:
        self.point.at = (0, 1)

    def get(self) -> tuple[int, int]:
        return copy.copy(self.point).at


def test_what_copyreg_keeps_in_classes_is_nobodys_state() -> None:
    with contextlib.suppress(AttributeError):
        del Point.__slotnames__
    outcome = explore(Copied, None, [[("get",)], [("move",)]])
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


class Takes:
    """Looks at its state, and changes it in a second step."""

    def __init__(self) -> None:
        self.items, self.digits, self.n = [1, 2, 3], bytearray(b"1"), 0
        self.source = iter([1, 2, 3, 4, 5])


class ByBool(Takes):
    def take(self) -> bool:
        was = bool(self.items)
        self.items.clear()
        return was


class ByInt(Takes):
    def take(self) -> int:
        n = int(self.digits)
        self.digits[:] = b"%d" % (n + 1)
        return n


class ByClassMethod(Takes):
    def take(self) -> int:
        n = int.from_bytes(self.digits, "big")
        self.digits[:] = bytes([n + 1])
        return n


class ByFromKeys(Takes):
    def take(self) -> list[int]:
        n = list(dict.fromkeys(self.items))
        self.items.append(n[-1] + 1)
        return n


class ByMapOfMethod(Takes):
    def take(self) -> int:
        n = len(self.items)
        list(map(list.append, [self.items], [1]))
        return n


class ByMapOfPartial(Takes):
    def take(self) -> int:
        n = len(self.items)
        list(map(functools.partial(list.append, self.items), [1]))
        return n


class ByMapOfSetattr(Takes):
    def take(self) -> int:
        n = self.n
        list(map(setattr, [self], ["n"], [n + 1]))
        return n


class ByMapOfSetitem(Takes):
    def take(self) -> int:
        n = self.items[0]
        list(map(operator.setitem, [self.items], [0], [n + 1]))
        return n


class ByMapOfNext(Takes):
    def take(self) -> Any:
        return list(map(next, [self.source, self.source])), next(self.source, None)


class ByStarmap(Takes):
    def take(self) -> int:
        n = len(self.items)
        list(itertools.starmap(list.pop, [(self.items,)]))
        return n


class ByReduce(Takes):
    def take(self) -> int:
        n = len(self.items)
        functools.reduce(operator.iadd, [self.items, [4]])
        return n


@pytest.mark.parametrize(
    "takes",
    [
        ByBool, ByInt, ByClassMethod, ByFromKeys, ByMapOfMethod, ByMapOfPartial, ByMapOfSetattr, ByMapOfSetitem,
        ByMapOfNext, ByStarmap, ByReduce,
    ],
)  # fmt: skip
def test_functions_in_c_access_what_they_are_given(takes: Any) -> None:
    calls = [[("take",)], [("take",)]]
    outcome = explore(takes, None, calls)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary
    outcome = explore(one_at_a_time(takes, "take"), None, calls)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary
