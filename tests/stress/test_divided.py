"""Instructions that read several things, one after another: a pattern of `match`, an unpacking. Where threads run at the
same time, another one may come in between."""

from __future__ import annotations

from collections import ChainMap, OrderedDict, UserDict, deque
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

import stress
from stress.explorer import instrumentation
from stress.explorer.assembly import disassembled
from stress.explorer.codes import codes_in
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
    assert outcome.verdict is (stress.Verdict.LINEARIZABLE if gil_enabled() else stress.Verdict.ILLEGAL)


@pytest.mark.parametrize("made", [*CLASSES, Turned])
def test_with_a_lock_none_comes_in_between(made: Any) -> None:
    outcome = stress.explore(one_at_a_time(made, "put", "get"), None, [[("put", 1)], [("get",)], [("get",)]])
    assert outcome.verdict is stress.Verdict.LINEARIZABLE, outcome.report()


class Point:
    __match_args__: Any = ("x", "y")

    def __init__(self, x: Any = 1, y: Any = 2) -> None:
        self.x, self.y = x, y

    @property
    def both(self) -> Any:
        return self.x, self.y

    @property
    def broken(self) -> Any:
        raise KeyError("broken")


class Other(Point):
    __match_args__ = ["x"]


class Twice(Point):
    __match_args__ = ("x", "x")


class Numbers(Point):
    __match_args__ = (1, 2)


class OfMeta(type):
    def __instancecheck__(cls, each: object) -> bool:
        return each == 3


class Three(metaclass=OfMeta):
    real: Any


def matched(each: Any) -> Any:
    match each:
        case Three(real=found):
            return "three", found
        case int(n) | float(n):
            return "number", n
        case str():
            return "text"
        case Other(x):
            return "other", x
        case Twice(x, y):
            return "twice", x, y
        case Numbers(x):
            return "numbers", x
        case Point(both=(1, y), missing=_):
            return "missing", y
        case Point(0, y):
            return "first", y
        case Point(both=(x, y), x=1):
            return "both", x, y
        case Point(broken=_):
            return "broken"
        case {"a": {"b": [x, *_, y]}, **rest}:
            return "deep", x, y, rest
        case {1: x} | {2: x}:
            return "one", x
        case [Point(x=x), *more]:
            return "points", x, more
        case (a, b) | (a, b, _):
            return "two", a, b
        case [*all]:
            return "all", all
    return "none"


def places(each: Any) -> Any:
    match each:
        case Point(a, b, c):
            return a, b, c
    match each:
        case int(a, b):
            return a, b


def named_twice(each: Any) -> Any:
    match each:
        case Point(a, x=b):
            return a, b


def no_class(each: Any) -> Any:
    match each:
        case matched(x=1):
            return each


def unpacked(each: Any) -> Any:
    (a, b), [c, *d], *e = each
    return a, b, c, d, e


class Mine(UserDict[Any, Any]):
    pass


class Ordered(OrderedDict[Any, Any]):
    pass


SUBJECTS: list[Any] = [
    3, 4, 2.5, "abc", None, Point(), Point(0, 5), Point(7, 8), Other(), Twice(), Numbers(), {}, {"a": {"b": [1, 2, 3]}, "c": 4},
    {"a": {"b": [1]}}, {"a": 1}, {1: 2}, {2: 3}, {True: "yes"}, Mine({1: 5}), ChainMap({}, {2: 6}), Ordered({1: 7}),
    [Point(4), 1, 2], [1, 2], (1, 2, 3), (1,), [], deque([1, 2]), range(2), b"ab", [[1, 2], [3, 4, 5], 6, 7],
    [(1, 2), "xyz"], [[1], [2]], [[1, 2, 3], [4]], [[1, 2], []], ({1: 2, 3: 4}, deque([5]), {6}), [{1: 2, 3: 4}, {7, 8}], 5,
]  # fmt: skip


def outcome_of(function: Callable[[Any], Any], each: Any) -> Any:
    try:
        return function(each)
    except Exception as error:  # noqa: BLE001 - any is an outcome
        return type(error), str(error).replace("must be a type", "must be a class")  # the word of Python 3.11


@pytest.mark.parametrize("function", [matched, places, named_twice, no_class, unpacked])
def test_what_is_read_in_parts_means_the_same(function: FunctionType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instrumentation, "_IS_DIVIDED", True)
    code = instrumentation.with_steps(function.__code__, frozenset(), {})
    assert "MATCH_CLASS" not in {each.name for one in codes_in(code) for each in disassembled(one)[0]}
    copy = FunctionType(code, function.__globals__)
    for each in SUBJECTS:
        assert outcome_of(copy, each) == outcome_of(function, each)


class Unpacks:
    def __init__(self) -> None:
        self.subjects = SUBJECTS
        self.n = 0

    def look(self, at: int) -> Any:
        self.n += 1
        return repr(outcome_of(unpacked, self.subjects[at])), repr(outcome_of(matched, self.subjects[at]))


class Looks(stress.Spec):
    initial = None

    def step(self, state: None, op: str, args: tuple[Any, ...]) -> tuple[None, Any]:
        each = SUBJECTS[args[0]]
        return None, (repr(outcome_of(unpacked, each)), repr(outcome_of(matched, each)))


def test_so_it_does_while_it_is_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instrumentation, "_IS_DIVIDED", True)
    looks = [("look", at) for at in range(len(SUBJECTS))]
    outcome = stress.explore(Unpacks, Looks(), [looks, [("look", 0)]], preemptions=0)
    assert outcome.executions > 1
    assert outcome.verdict is stress.Verdict.LINEARIZABLE, outcome.report()
