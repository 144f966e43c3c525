"""When an answer is the one that a specification gives: types of numbers count, and classes of exceptions."""

from __future__ import annotations

import copy
import queue
import threading
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest

import stress
from stress import Counter, History, Map, MultiRegister, Operation, Raised, Register, Verdict, check, unique
from stress.alike import alike, are_mixed, fits
from stress.formats import jsonl
from stress.recorder.progress_log import ProgressLog
from stress.reports import html, text
from stress.reports.report import report_on
from stress.spec import Spec


def history(*calls: tuple[str, tuple[Any, ...], Hashable]) -> list[Operation]:
    """The calls of one thread, one after another."""
    return [Operation(at, 0, 2 * at + 1, 2 * at + 2, *call) for at, call in enumerate(calls)]


class ListSpec(Spec):
    """Its states cannot be hashed."""

    initial: Any = []  # noqa: RUF012

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        if op == "put":
            state.append(args[0])
            return state, None
        return state, list(state)


class TestTypesOfAnswers:
    @pytest.mark.parametrize(
        ("spec", "calls"),
        [
            (Counter(), [("increment", (), True)]),
            (Counter(), [("increment", (), 1.0)]),
            (Counter(), [("increment", (), Decimal(1))]),
            (Counter(), [("increment", (), Fraction(1))]),
            (Register(), [("write", (1,), None), ("read", (), True)]),
            (Register(), [("write", ((1, "a"),), None), ("read", (), (True, "a"))]),
            (Register(), [("write", (frozenset({1}),), None), ("read", (), frozenset({1.0}))]),
            (Register(), [("write", (1,), None), ("write", (True,), None), ("read", (), 1)]),
            (Register(), [("write", (True,), None), ("write", (1,), None), ("read", (), True)]),
            (Map(), [("put", ("a", 1), None), ("get", ("a",), True)]),
            (Map(), [("put", ("a", 0), None), ("items", (), frozenset({("a", False)}))]),
            (MultiRegister(), [("txn", (("write", "a", 1), ("read", "a")), (True,))]),
            (ListSpec(), [("put", (1,), None), ("all", (), (True,))]),
            (ListSpec(), [("put", (1,), None), ("put", (True,), None), ("all", (), (True, True))]),
        ],
    )
    def test_count(self, spec: Spec, calls: list[Any]) -> None:
        judgement = check(history(*calls), spec)
        assert judgement.verdict is Verdict.ILLEGAL
        report = report_on(History(tuple(history(*calls))), spec, judgement)
        assert report.diagnosis is not None
        assert "answered" in text.render(report)
        assert html.render(report)

    @pytest.mark.parametrize(
        ("spec", "calls"),
        [
            (Counter(), [("increment", (), 1), ("increment", (1.5,), 2.5)]),
            (Register(), [("write", (1,), None), ("write", (True,), None), ("read", (), True)]),
            (Register(), [("write", (True,), None), ("write", (1,), None), ("read", (), 1)]),
            (Register(), [("write", ([1],), None), ("read", (), (1,))]),
            (Register(), [("write", (1.0,), None), ("cas", (1, 2), True), ("read", (), 2)]),
            (Map(), [("put", ("a", 1), None), ("put", ("b", True), None), ("get", ("a",), 1), ("get", ("b",), True)]),
            (ListSpec(), [("put", (1,), None), ("put", (True,), None), ("all", (), (1, True))]),
        ],
    )
    def test_of_right_answers_too(self, spec: Spec, calls: list[Any]) -> None:
        calls = [(op, tuple(map(stress.freeze, args)), result) for op, args, result in calls]
        assert check(history(*calls), spec).verdict is Verdict.LINEARIZABLE

    def test_two_values_that_are_equal_are_two_states(self) -> None:
        """Each order of two writes leaves another value, although the values are equal."""
        for seen in (1, True):
            writes = [Operation(0, 0, 1, 4, "write", (1,), None), Operation(1, 1, 2, 3, "write", (True,), None)]
            reads = [Operation(2, 0, 5, 6, "read", (), seen), Operation(3, 0, 7, 8, "read", (), seen)]
            assert check([*writes, *reads], Register()).verdict is Verdict.LINEARIZABLE
            other = [reads[0], reads[1]._replace(result=1 if seen is True else True)]
            assert check([*writes, *other], Register()).verdict is Verdict.ILLEGAL

    def test_numbers_of_other_libraries_are_of_the_kind_that_they_say(self) -> None:
        class Int(int):
            """Like those of numpy, or of an IntEnum."""

        assert fits(Int(3), 3)
        assert alike((Int(3), {"a": [1]}), (3, {"a": (1,)}))
        assert not alike({"a": 1}, {"a": True})
        assert not are_mixed([1, 2, 1.5, "a", (1,), (2,)])
        assert are_mixed([1, 2, (1,), (True,)])

    def test_a_campaign_tells(self) -> None:
        class Flag:
            def __init__(self) -> None:
                self.taken = 0

            def take(self) -> int:
                before, self.taken = self.taken, 1
                return 1 - before

        class FlagSpec(Spec):
            initial = False

            def step(self, state: bool, op: str, args: tuple[Any, ...]) -> tuple[bool, bool]:
                return True, not state

        outcome = stress.run(Flag, FlagSpec(), [("take",)], rounds=20, seed=1, pursuit=0)
        assert outcome.verdict is Verdict.ILLEGAL
        assert "would answer True" in outcome.report() or "would answer False" in outcome.report()


class Empty(Exception):
    """Of the same name as that of `queue`."""


class TestExceptions:
    def test_are_equal_by_class(self) -> None:
        assert Raised.of(queue.Empty()) == Raised.of(queue.Empty("again")) == Raised(queue.Empty)
        assert Raised.of(Empty()) != Raised(queue.Empty)
        own = type("KeyError", (Exception,), {})
        assert Raised.of(own()) != Raised("KeyError") == Raised(KeyError)

    def test_a_name_that_is_not_built_in_stands_for_every_class_of_that_name(self) -> None:
        assert Raised.of(Empty()) == Raised("Empty") == Raised.of(queue.Empty())

    def test_survive_a_file(self) -> None:
        try:
            raise Empty("here")
        except Empty as error:
            raised = Raised.of(error)
        file = StringIO()
        jsonl.dump(History((Operation(0, 0, 1, 2, "get", (), raised),)), file)
        found: Any = jsonl.parse(file.getvalue()).operations[0].result
        assert (found, found.home, found.frames) == (raised, raised.home, raised.frames)
        assert raised.frames[-1][2] == "test_survive_a_file"

    @pytest.mark.parametrize("processes", [1, 2])
    def test_a_report_has_the_traceback_of_one(self, processes: int) -> None:
        outcome = stress.run(
            Popping,
            PoppingSpec(),
            [("push", unique), ("pop",), ("pop",)],
            rounds=4_000,
            duration=None,
            seed=3,
            processes=processes,
        )
        assert outcome.verdict is Verdict.ILLEGAL
        explained = outcome.explained()
        assert explained is not None
        assert explained.traceback is not None
        assert 'test_answers.py", line ' in outcome.report()
        assert "return self.items.pop()" in html.render(explained)

    def test_of_a_history_that_is_known(self) -> None:
        try:
            [].pop()
        except IndexError as error:
            raised = Raised.of(error)
        calls = history(("push", (1,), None), ("pop", (), raised))
        report = report_on(History(tuple(calls)), PoppingSpec(), check(calls, PoppingSpec()))
        assert "Where it was raised: thread 0's pop() -> raised IndexError" in text.render(report)
        assert "[].pop()" in text.render(report)


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


@pytest.mark.parametrize("count", [-1, 20, 2**62])
def test_a_count_or_phase_of_garbage_that_a_dying_process_wrote(count: int) -> None:
    log, plan = ProgressLog(1), [[[("get", (at,)) for at in range(20)]]]
    log.begin(3)
    assert [each.describe() for each in log.running(plan)] == ["get(0) never returned"]
    log.returned[0] = 7
    assert [each.describe() for each in log.running(plan)] == ["get(7) never returned"]
    log.returned[0], log._state[0] = count, 77
    assert log.running(plan) == ()
    assert log.phase == "doing what it did not note"


@dataclass(frozen=True)
class Told:
    value: int


@dataclass(unsafe_hash=True)
class Changeable:
    value: int


class WithoutInit:
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


class Numbered(stress.Spec):
    def __init__(self, make: Callable[[int], object]) -> None:
        self.make = make

    initial = 0

    def step(self, state: int, op: str, args: tuple[Any, ...]) -> tuple[int, Any]:
        return state + 1, self.make(state + 1)


class TestAnswersOfClassesOfOnesOwn:
    """An answer that was made by a call stays whole when the next execution begins."""

    @pytest.mark.parametrize(
        "make", [Told, Changeable, without_init, lambda n: copy.copy(Told(n)), lambda n: (Told(n),)]
    )
    @pytest.mark.parametrize("has_spec", [True, False])
    def test_are_compared(self, make: Callable[[int], object], has_spec: bool) -> None:
        threads = [[("next",), ("next",)], [("next",)]]
        spec = Numbered(make) if has_spec else None
        right = stress.explore(lambda: Numbers(make, threading.Lock()), spec, threads)
        assert right.verdict is Verdict.LINEARIZABLE, right.report()
        wrong = stress.explore(lambda: Numbers(make, nullcontext()), spec, threads)
        assert wrong.verdict is Verdict.ILLEGAL
        assert "next()" in wrong.report()

    def test_what_lives_longer_is_put_back(self) -> None:
        kept = SimpleNamespace()
        empty = WithoutInit()
        lock = threading.Lock()

        class Lazy:
            def count(self) -> int:
                with lock:
                    for each in (kept, empty):
                        each.value = getattr(each, "value", 0) + 1
                    return empty.value + kept.value  # type: ignore[no-any-return]

        outcome = stress.explore(Lazy, None, [[("count",)], [("count",)]])
        assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()
        assert not vars(kept) and not vars(empty)
