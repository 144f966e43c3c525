"""Arguments and answers: types of numbers and classes of exceptions count, lists and the like are given whole and shown
as they are, and an answer made by a call stays what it was."""

from __future__ import annotations

import copy
import queue
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest

import stress
from stress import Counter, History, Map, MultiRegister, Operation, Raised, Register, Verdict, check, freeze, unique
from stress.alike import alike, are_mixed, fits
from stress.by_key import FrozenMap
from stress.formats import jsonl
from stress.history import show, steady
from stress.reports import html, text
from stress.reports.report import report_on
from stress.spec import Spec
from stress.values import fresh

RIGHT, WRONG = Verdict.LINEARIZABLE, Verdict.ILLEGAL


class ListSpec(Spec):
    """Its states cannot be hashed."""

    initial: Any = []  # noqa: RUF012

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        if op == "put":
            state.append(args[0])
            return state, None
        return state, list(state)


def put(*values: Any) -> list[Any]:
    return [("put", (each,), None) for each in values]


def write(*values: Any) -> list[Any]:
    return [("write", (each,), None) for each in values]


def read(value: Any) -> list[Any]:
    return [("read", (), value)]


@pytest.mark.parametrize(
    ("spec", "calls", "right"),
    [
        *((Counter(), [("increment", (), answer)], False) for answer in (True, 1.0, Decimal(1), Fraction(1))),
        (Counter(), [("increment", (), 1), ("increment", (1.5,), 2.5)], True),
        (Register(), write(1) + read(True), False),
        (Register(), write((1, "a")) + read((True, "a")), False),
        (Register(), write(frozenset({1})) + read(frozenset({1.0})), False),
        (Register(), write(1, True) + read(1), False),
        (Register(), write(True, 1) + read(True), False),
        (Register(), write(1, True) + read(True), True),
        (Register(), write(True, 1) + read(1), True),
        (Register(), write([1]) + read((1,)), True),
        (Register(), [*write(1.0), ("cas", (1, 2), True), *read(2)], True),
        (Map(), [("put", ("a", 1), None), ("get", ("a",), True)], False),
        (Map(), [("put", ("a", 0), None), ("items", (), frozenset({("a", False)}))], False),
        (Map(), [("put", ("a", 1), None), ("put", ("b", True), None), ("get", ("a",), 1), ("get", ("b",), True)], True),
        (MultiRegister(), [("txn", (("write", "a", 1), ("read", "a")), (True,))], False),
        (ListSpec(), [*put(1), ("all", (), (True,))], False),
        (ListSpec(), [*put(1, True), ("all", (), (True, True))], False),
        (ListSpec(), [*put(1, True), ("all", (), (1, True))], True),
    ],
)
def test_types_of_answers_count(spec: Spec, calls: list[Any], right: bool) -> None:
    rows = [(op, tuple(map(freeze, args)), result) for op, args, result in calls]
    history = History(tuple(Operation(at, 0, 2 * at + 1, 2 * at + 2, *row) for at, row in enumerate(rows)))
    judgement = check(history, spec)
    assert judgement.verdict is (RIGHT if right else WRONG)
    if not right:
        report = report_on(history, spec, judgement)
        assert "answered" in text.render(report)
        assert html.render(report)


def test_two_values_that_are_equal_are_two_states() -> None:
    """Each order of two writes leaves another value, although the values are equal."""
    for seen, other in ((1, True), (True, 1)):
        writes = [Operation(0, 0, 1, 4, "write", (1,), None), Operation(1, 1, 2, 3, "write", (True,), None)]
        reads = [Operation(2, 0, 5, 6, "read", (), seen), Operation(3, 0, 7, 8, "read", (), seen)]
        assert check([*writes, *reads], Register()).verdict is RIGHT
        assert check([*writes, reads[0], reads[1]._replace(result=other)], Register()).verdict is WRONG


def test_numbers_of_other_libraries_are_of_the_kind_that_they_say() -> None:
    class Int(int):
        """Like those of numpy, or of an IntEnum."""

    like_numpys: Any = type("bool", (), {"__eq__": lambda self, other: other == 1, "__hash__": lambda self: 1})
    assert fits(Int(3), 3)
    assert fits(True, like_numpys())
    assert alike((Int(3), {"a": [1]}), (3, {"a": (1,)}))
    assert not alike({"a": 1}, {"a": True})
    assert alike({"a": bytearray(b"x")}, {"a": b"x"})
    assert not are_mixed([1, 2, 1.5, "a", (1,), (2,)])
    assert are_mixed([1, 2, (1,), (True,)])
    assert are_mixed([1, True, FrozenMap(), frozenset()])


# ----------------------------------------------------------------------------------------------------------- exceptions


class Empty(Exception):
    """Of the same name as that of `queue`."""


def raised_by(call: Callable[[], object]) -> Raised:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is
        return Raised.of(error)
    raise AssertionError("it returned")


def test_exceptions_are_equal_by_class() -> None:
    assert Raised.of(queue.Empty()) == Raised.of(queue.Empty("again")) == Raised(queue.Empty)
    assert Raised.of(Empty()) != Raised(queue.Empty)
    assert Raised.of(type("KeyError", (Exception,), {})()) != Raised("KeyError") == Raised(KeyError)
    assert (
        Raised.of(Empty()) == Raised("Empty") == Raised.of(queue.Empty())
    )  # a name that is not built in stands for all


def test_exceptions_survive_a_file() -> None:
    raised, file = raised_by([].pop), StringIO()
    jsonl.dump(History((Operation(0, 0, 1, 2, "get", (), raised),)), file)
    found: Any = jsonl.parse(file.getvalue()).operations[0].result
    assert (found, found.home, found.frames) == (raised, raised.home, raised.frames)
    assert raised.frames[-1][2] == "raised_by"


class Popping:
    def __init__(self) -> None:
        self.items: list[Any] = []

    def push(self, item: Any) -> None:
        self.items.append(item)

    def pop(self) -> Any:
        while self.items:
            return self.items.pop()
        return None


class PoppingSpec(Spec):
    initial = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        if op == "push":
            return (*state, args[0]), None
        return (state[:-1], state[-1]) if state else (state, None)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_report_has_the_traceback_of_an_exception(processes: int) -> None:
    operations = [("push", unique), ("pop",), ("pop",)]
    outcome = stress.run(Popping, PoppingSpec(), operations, rounds=4_000, duration=None, seed=3, processes=processes)
    assert outcome.verdict is WRONG
    explained = outcome.explained()
    assert explained is not None
    assert explained.traceback is not None
    assert 'test_answers.py", line ' in outcome.report()
    assert "Where it was raised: thread " in outcome.report()
    assert "return self.items.pop()" in html.render(explained)


# ------------------------------------------------------------------------------------------------- lists and the like


@pytest.mark.parametrize("value", [[1, [2]], {"a": {"b": [1]}}, {1, 2}, (1, [2]), [], {}, (), set(), frozenset({1})])
def test_a_value_comes_back_as_what_it_was(value: Any) -> None:
    for kept in (steady(value), freeze(value)):
        assert hash(kept) == hash(steady(value))
        assert kept == value == fresh(kept)
        assert type(fresh(kept)) is type(value)
        assert show(kept) == show(value) or value == set()
    history, file = History((Operation(0, 0, 1, 2, "put", (steady(value),), freeze(value)),)), StringIO()
    jsonl.dump(history, file)
    (operation,) = jsonl.parse(file.getvalue()).operations
    assert (operation, operation.describe()) == (history.operations[0], history.operations[0].describe())


@pytest.mark.parametrize("value", [{}.items(), iter([1]), bytearray(b"x")])
def test_what_may_still_change_cannot_be_frozen(value: Any) -> None:
    with pytest.raises(TypeError, match="change"):
        freeze(value)


def test_an_argument_that_may_still_change_is_refused_by_name() -> None:
    for make in (stress.run, lambda factory, spec, calls: stress.explore(factory, spec, [calls])):
        with pytest.raises(ValueError, match="bytearray"):
            make(Content, None, [("keys", [bytearray(b"a")])])


def test_what_was_a_tuple_or_a_frozen_set_is_still_the_same_answer() -> None:
    assert freeze([1, {2}, {"k": [3]}]) == (1, frozenset({2}), frozenset({("k", (3,))}))
    assert frozenset({("a", 1)}) == freeze({"a": 1})
    assert len({freeze([1]), (1,), freeze({"a": 1}), frozenset({("a", 1)}), freeze({1}), frozenset({1})}) == 3


class Content:
    """It keeps and changes what it is given, as it may."""

    def __init__(self) -> None:
        self.lock, self.content = threading.Lock(), dict[str, Any]()

    def update(self, other: dict[str, Any]) -> None:
        assert type(other) is dict
        with self.lock:
            self.content.update(other)
            other.clear()

    def keys(self, wanted: set[str]) -> list[str]:
        assert type(wanted) is set
        with self.lock:
            found = sorted(wanted & self.content.keys())
            wanted.clear()
            return found

    def all(self) -> dict[str, Any]:
        with self.lock:
            return dict(self.content)


class Forgets(Content):
    """An update that comes between is lost."""

    def update(self, other: dict[str, Any]) -> None:
        content = dict(self.content)
        content.update(other)
        self.content = content


class Frozen(Spec):
    """States that can be hashed."""

    initial: Any = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        content: dict[str, Any] = dict(state)
        if op == "update":
            content.update(args[0])
            return tuple(sorted(content.items())), None
        return state, sorted(key for key in content if key in args[0]) if op == "keys" else content


class InPlace(Spec):
    """States that are changed in place, and of which an argument becomes a part."""

    initial: Any = {}  # noqa: RUF012 - never changed

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op != "update":
            return state, [key for key in state if key in args[0]] if op == "keys" else state
        state.update(args[0])
        for item in state.values():
            if item == [1, 2]:
                item.append(3)
                item.pop()
        return state, None


ROLES: Any = [[("update", {"a": 1, "b": [1, 2]})], [("keys", {"a"}), ("all",)]]
UPDATES: Any = [[("update", {"a": 1})], [("update", {"b": [1, 2]})]]


@pytest.mark.parametrize("spec", [None, Frozen(), InPlace()], ids=["none", "frozen", "in place"])
def test_lists_and_the_like_may_be_arguments_and_answers_and_are_shown_as_they_are(spec: Spec | None) -> None:
    outcome = stress.run(Content, spec, [], roles=ROLES, rounds=30, seed=1)
    explored = stress.explore(Content, spec, ROLES)
    found = stress.explore(Forgets, spec, UPDATES, at_end=[("all",)])
    assert outcome.verdict is RIGHT, outcome.report()
    assert explored.verdict is RIGHT, explored.report()
    assert found.verdict is WRONG
    assert "update({'b': [1, 2]})" in found.report()
    assert "all() -> {'a': 1}" in found.report() or "all() -> {'b': [1, 2]}" in found.report()


def test_a_specification_cannot_change_an_argument_that_is_in_the_history() -> None:
    class Careless(Frozen):
        def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
            args[0]["c"] = 1
            return state, None

    with pytest.raises(stress.SpecError, match="take a copy"):
        check([Operation(0, 0, 1, 2, "update", (steady({"a": 1}),), None)], Careless())


# ------------------------------------------------------------------------------------------------ classes of one's own


@dataclass(frozen=True)
class Told:
    value: int


@dataclass(unsafe_hash=True)
class Changeable:
    value: int


class WithoutInit:
    """Its module is no text, as that of some classes of libraries."""

    __module__ = property(lambda self: "m")  # type: ignore[assignment]
    value: int

    def __eq__(self, other: object) -> bool:
        return bool(self.value == other.value)  # type: ignore[attr-defined]  # as many classes do, of their own kind alone

    def __hash__(self) -> int:
        return hash(self.value)


def without_init(value: int) -> WithoutInit:
    made = WithoutInit()
    made.value = value
    return made


class Numbers:
    """Numbers its calls. `make` makes an answer of a number."""

    def __init__(self, make: Callable[[int], object], lock: Any) -> None:
        self.make, self.lock, self.last = make, lock, 0

    def next(self) -> object:
        with self.lock:
            value = self.last + 1
            self.last = value
        return self.make(value)


class Numbered(Spec):
    initial = 0

    def __init__(self, make: Callable[[int], object]) -> None:
        self.make = make

    def step(self, state: int, op: str, args: tuple[Any, ...]) -> tuple[int, Any]:
        return state + 1, self.make(state + 1)


@pytest.mark.parametrize("make", [Told, Changeable, without_init, lambda n: copy.copy(Told(n)), lambda n: (Told(n),)])
@pytest.mark.parametrize("has_spec", [True, False])
def test_answers_of_classes_of_ones_own_are_compared(make: Callable[[int], object], has_spec: bool) -> None:
    """An answer that was made by a call stays whole when the next execution begins."""
    threads = [[("next",), ("next",)], [("next",)]]
    spec = Numbered(make) if has_spec else None
    right = stress.explore(lambda: Numbers(make, threading.Lock()), spec, threads)
    assert right.verdict is RIGHT, right.report()
    wrong = stress.explore(lambda: Numbers(make, nullcontext()), spec, threads)
    assert wrong.verdict is WRONG
    assert "next()" in wrong.report()


def test_what_lives_longer_is_put_back() -> None:
    kept, empty, lock = SimpleNamespace(), WithoutInit(), threading.Lock()

    class Lazy:
        def count(self) -> int:
            with lock:
                for each in (kept, empty):
                    each.value = getattr(each, "value", 0) + 1
                return empty.value + kept.value  # type: ignore[no-any-return]

    outcome = stress.explore(Lazy, None, [[("count",)], [("count",)]])
    assert outcome.verdict is RIGHT, outcome.report()
    assert not vars(kept) and not vars(empty)
