"""`stress.run` says LINEARIZABLE only of what could have failed; for everything else it has a reason, or refuses it."""

from __future__ import annotations

import itertools
import re
import sys
import threading
from collections import deque
from typing import Any

import pytest

import stress
from stress import Counter, Operation, Outcome, Raised, Spec, Verdict, one_of, unique
from stress.checker.waiting import could_contradict
from stress.process_wide import COLLECTOR, SWITCH_INTERVAL
from stress.processes import Tally
from stress.recorder.batch import COUNTERS, Settings
from stress.recorder.campaign import missing, vacuous
from stress.recorder.fresh import Outliving

pytestmark = pytest.mark.once  # a long process on a free-threaded build is too slow for campaigns of a second

ROUNDS = 300


class Bumped:
    """Loses updates, and its `bump` does not tell."""

    def __init__(self) -> None:
        self.n = 0

    def bump(self) -> None:
        n = self.n
        self.n = n + 1

    def same(self) -> str:
        n = self.n
        self.n = n + 1
        return "ok"

    def value(self) -> int:
        return self.n


class BumpedSpec(Spec):
    initial = 0
    read_only = frozenset({"value"})

    def step(self, state: int, op: str, args: tuple[Any, ...]) -> tuple[int, Any]:
        return (state, state) if op == "value" else (state + 1, "ok" if op == "same" else None)


class Locked:
    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n

    def value(self) -> int:
        with self.lock:
            return self.n


class WrongAlone(Locked):
    def value(self) -> int:
        return self.n + 1


def run(factory: Any, spec: Spec | None, operations: Any, **settings: Any) -> Outcome:
    return stress.run(
        factory, spec, operations, **{"rounds": ROUNDS, "duration": None, "seed": 1, "pursuit": 0, **settings}
    )


class TestAnswersThatNothingCouldContradict:
    @pytest.mark.parametrize(("op", "processes"), [("bump", 1), ("same", 2)])
    def test_say_nothing(self, op: str, processes: int) -> None:
        outcome = run(Bumped, BumpedSpec(), [(op,)], processes=processes)
        assert outcome.verdict is Verdict.UNKNOWN
        assert "no answer depended on what was called before" in outcome.summary

    def test_say_so_too_where_few_overlapped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("stress.recorder.campaign._LEAST_OVERLAP", 2.0)
        outcome = run(Bumped, BumpedSpec(), [("bump",)])
        assert outcome.verdict is Verdict.UNKNOWN
        assert "overlapped" in outcome.summary
        assert "no answer depended on what was called before" in outcome.summary

    def test_with_one_that_tells_it_is_refuted(self) -> None:
        assert run(Bumped, BumpedSpec(), [("bump",), ("value",)], duration=10).verdict is Verdict.ILLEGAL

    def test_an_invariant_tells_too(self) -> None:
        assert run(Bumped, BumpedSpec(), [("bump",)], check=lambda it: it.n >= 0).verdict is Verdict.LINEARIZABLE

    def test_a_right_object_is_right(self) -> None:
        assert run(Locked, Counter(), [("increment",)]).verdict is Verdict.LINEARIZABLE

    @pytest.mark.parametrize(
        ("spec", "calls", "tells"),
        [
            (Counter(), [("increment", (), None)] * 3, False),
            (Counter(), [("increment", (), None), ("value", (), 1)], True),
            (Counter(), [("value", (), 0)], True),  # as of what is made by the first who asks
            (stress.Mutex(), [("acquire", (), None), ("release", (), None)], True),
            (stress.Queue(), [("put", (1,), None), ("put", (2,), None)], False),
            (stress.Queue(), [("put", (1,), None), ("get", (), 1)], True),
            (stress.Set(), [("discard", (1,), None), ("add", (2,), None)], False),
        ],
    )
    def test_what_tells(self, spec: Spec, calls: list[Any], tells: bool) -> None:
        history = [Operation(at, 0, 2 * at, 2 * at + 1, *call) for at, call in enumerate(calls)]
        assert could_contradict(history, spec) is tells


class DequeSpec(Spec):
    initial = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        if op == "append":
            return (*state, args[0]), None
        return (state[1:], state[0]) if state else (state, Raised(IndexError))


class TestOverlap:
    def test_hardly_any_says_nothing(self) -> None:
        """With a global lock, no call of a compiled method is ever interrupted."""
        outcome = run(deque, DequeSpec(), [("append", unique), ("popleft",)])
        if outcome.overlap < 0.02:
            assert outcome.verdict is Verdict.UNKNOWN
            assert "overlapped" in outcome.summary
        else:  # threads run in parallel
            assert outcome.verdict is Verdict.LINEARIZABLE


ONE, SEVEN, TABLE = Locked(), [Locked() for _ in range(7)], dict[Any, Any]()
IN_TURN = itertools.cycle(SEVEN)


class TableSpec(Spec):
    initial = stress.FrozenMap()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        key, value = args
        return (state, state[key]) if key in state else (state.put(key, value), value)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("counted", [{}, {"operations": 9}, {"operations": 9, "overlapping": 9}, {"undecided": 1}])
def test_each_reason_names_a_way_out(threads: int, counted: dict[str, int]) -> None:
    tally = Tally(COUNTERS, 1)
    for name, amount in counted.items():
        tally.add(0, name, amount)
    reasons = [*missing(Settings(threads), tally, interrupted=True), *vacuous(tally, {"it"})]
    assert [each for each in reasons if not re.search(r"(: |, or )(let|raise|run) ", each)] == []


class TestTheSameObjectAgain:
    @pytest.mark.parametrize(
        ("factory", "spec", "operations", "processes"),
        [
            (lambda: ONE, Counter(), [("increment",), ("value",)], 2),
            (lambda: next(IN_TURN), Counter(), [("increment",), ("value",)], 1),
            (lambda: TABLE, TableSpec(), [("setdefault", one_of("a", "b"), unique)], 1),
        ],
    )
    def test_is_refused(self, factory: Any, spec: Spec, operations: Any, processes: int) -> None:
        TABLE.clear()
        for each in (ONE, *SEVEN):
            each.n = 0
        with pytest.raises(ValueError, match=r"the factory gave the same (Locked|dict) again"):
            run(factory, spec, operations, processes=processes, duration=20)

    def test_may_come_if_it_is_reset(self) -> None:
        def reset() -> None:
            ONE.n = 0

        assert run(lambda: ONE, Counter(), [("increment",), ("value",)], reset=reset).verdict is Verdict.LINEARIZABLE
        with pytest.raises(ValueError, match="`reset` puts back"):
            run(Locked, Counter(), [("increment",)], reset=3)


class Shared:
    """Right, but for all objects of the class together."""

    lock = threading.Lock()
    items: list[Any] = []  # noqa: RUF012

    def put(self, item: Any) -> None:
        with self.lock:
            self.items.append(item)

    def all(self) -> tuple[Any, ...]:
        with self.lock:
            return tuple(self.items)


class SharedSpec(Spec):
    initial = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        return ((*state, args[0]), None) if op == "put" else (state, state)


class OnAModule:
    """The same, with a variable of the module."""

    def put(self, item: Any) -> None:
        with Shared.lock:
            KEPT.append(item)

    def all(self) -> tuple[Any, ...]:
        with Shared.lock:
            return tuple(KEPT)


KEPT: list[Any] = []
SETTING: dict[str, int] | None = None


class Lazy:
    def get(self) -> int | None:
        global SETTING
        if SETTING is None:
            SETTING = {}
            SETTING["a"] = 1
        return SETTING.get("a")


class Singleton:
    _made: list[int] | None = None

    def get(self) -> int | None:
        if Singleton._made is None:
            Singleton._made = []
            Singleton._made.append(1)
        return Singleton._made[0] if Singleton._made else None


class LazySpec(Spec):
    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        return state, 1


class Numbered(Locked):
    """Objects with numbers of their own: each batch changes what outlives it, which is no fault."""

    numbers = itertools.count()
    last = 0

    def __init__(self) -> None:
        super().__init__()
        Numbered.last = next(self.numbers)


class TestWhatOutlivesAnObject:
    @pytest.mark.parametrize(("factory", "name"), [(Shared, "Shared.items"), (OnAModule, "KEPT")])
    def test_is_no_fault_of_the_object(self, factory: Any, name: str) -> None:
        Shared.items.clear()
        KEPT.clear()
        with pytest.raises(ValueError, match=rf"{name} outlives objects.*`reset`"):
            run(factory, SharedSpec(), [("put", unique), ("all",)], duration=20, length=2)

    def test_may_be_reset(self) -> None:
        outcome = run(Shared, SharedSpec(), [("put", unique), ("all",)], reset=Shared.items.clear, length=2)
        assert outcome.verdict is Verdict.LINEARIZABLE

    def test_what_is_wrong_by_itself_is_wrong(self) -> None:
        assert run(WrongAlone, Counter(), [("increment",), ("value",)]).verdict is Verdict.ILLEGAL

    @pytest.mark.parametrize(("factory", "name"), [(Lazy, "SETTING"), (Singleton, "Singleton._made")])
    def test_what_changes_once_a_process_has_one_chance(self, factory: Any, name: str) -> None:
        unlazy()
        outcome = run(factory, LazySpec(), [("get",)])
        if outcome.verdict is not Verdict.ILLEGAL:  # the one chance was taken
            assert outcome.verdict is Verdict.UNKNOWN
            assert f"{name} outlives an object and changed only once" in outcome.summary

    @pytest.mark.parametrize("factory", [Lazy, Singleton])
    def test_with_a_reset_it_is_found(self, factory: Any) -> None:
        assert run(factory, LazySpec(), [("get",)], reset=unlazy, duration=60).verdict is Verdict.ILLEGAL

    def test_what_every_batch_changes_is_no_reason(self) -> None:
        assert run(Numbered, Counter(), [("increment",), ("value",)]).verdict is Verdict.LINEARIZABLE

    def test_what_is_ours_in_a_module_is_no_reason(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A run changes the settings of its process, which a module may have by name."""
        module = sys.modules[__name__]
        monkeypatch.setattr(module, "OURS", (COLLECTOR, SWITCH_INTERVAL), raising=False)
        before = Outliving(Locked)
        with SWITCH_INTERVAL.held(1e-6), COLLECTOR.held(False):
            before.look()
        assert before.changed == set()

    def test_another_key_is_a_change(self, monkeypatch: pytest.MonkeyPatch) -> None:
        table = {"a": True}
        monkeypatch.setattr(sys.modules[__name__], "TABLE", table, raising=False)
        before = Outliving(Locked)
        table["b"] = table.pop("a")
        before.look()
        assert before.changed == {f"{__name__}.TABLE"}


def unlazy() -> None:
    global SETTING
    SETTING = Singleton._made = None


class TestAFaultOfTwoCalls:
    def test_is_shown_with_both(self) -> None:
        rows: list[tuple[Any, ...]] = [
            (0, 1, 2, "increment", (), None),
            (0, 3, 6, "increment", (), None),  # reads 1, and writes 2
            (1, 4, 5, "increment", (), None),  # the same
            (0, 7, 8, "value", (), 2),
            (1, 9, 10, "increment", (), None),
            (1, 11, 12, "value", (), 3),
        ]
        operations = tuple(Operation(at, *row) for at, row in enumerate(rows))
        history = stress.History(operations)
        from stress.reports.report import report_on

        report = report_on(history, Counter(), stress.check(history, Counter()))
        assert report.diagnosis is not None
        assert report.diagnosis.shape.name == "lost update"
        assert {1, 2} <= {each.id for each in report.diagnosis.window.operations}
        assert "'s increment() -> None was lost: thread 0's value() -> 2 fits only if" in report.sentence
