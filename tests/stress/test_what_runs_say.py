"""`stress.run` says LINEARIZABLE only of what could have failed; for everything else it has a reason, or refuses it."""

from __future__ import annotations

import itertools
import re
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import stress
from stress import Counter, Map, Operation, Outcome, Spec, Verdict, one_of, unique
from stress.checker.waiting import could_contradict
from stress.process_wide import COLLECTOR, SWITCH_INTERVAL
from stress.processes import Tally
from stress.recorder.batch import COUNTERS, Settings
from stress.recorder.campaign import missing, vacuous
from stress.recorder.fresh import Outliving
from stress.source import is_ours
from tests.stress.objects import LockedCounter, LossyCounter
from tests.stress.test_answers import ListSpec

pytestmark = pytest.mark.once  # a long process on a free-threaded build is too slow for campaigns of a second

ROUNDS = 300


class Bumped(LossyCounter):
    """Loses updates, and its `bump` does not tell."""

    def bump(self) -> None:
        self.increment()

    def same(self) -> str:
        self.increment()
        return "ok"


class BumpedSpec(Spec):
    initial = 0
    read_only = frozenset({"value"})

    def step(self, state: int, op: str, args: tuple[Any, ...]) -> tuple[int, Any]:
        return (state, state) if op == "value" else (state + 1, "ok" if op == "same" else None)


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

    def test_with_one_that_tells_it_is_refuted(self) -> None:
        assert run(Bumped, BumpedSpec(), [("bump",), ("value",)], duration=10).verdict is Verdict.ILLEGAL

    def test_an_invariant_tells_too(self) -> None:
        assert run(Bumped, BumpedSpec(), [("bump",)], check=lambda it: it.n >= 0).verdict is Verdict.LINEARIZABLE

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


ONE, SEVEN, TABLE = LockedCounter(), [LockedCounter() for _ in range(7)], dict[Any, Any]()
IN_TURN = itertools.cycle(SEVEN)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("counted", [{}, {"operations": 9}, {"operations": 9, "overlapping": 9}, {"undecided": 1}])
def test_each_reason_names_a_way_out(threads: int, counted: dict[str, int]) -> None:
    tally = Tally(COUNTERS, 1)
    for name, amount in counted.items():
        tally.add(0, name, amount)
    reasons = [*missing(Settings(threads), tally, interrupted=True), *vacuous(tally, {"it"})]
    assert [each for each in reasons if not re.search(r"(: |, or )(let|raise|run) ", each)] == []
    assert any("overlapped" in each for each in reasons) is (threads == 2 and counted == {"operations": 9})


class TestTheSameObjectAgain:
    @pytest.mark.parametrize(
        ("factory", "spec", "operations", "processes"),
        [
            (lambda: ONE, Counter(), [("increment",), ("value",)], 2),
            (lambda: next(IN_TURN), Counter(), [("increment",), ("value",)], 1),
            (lambda: TABLE, Map(), [("setdefault", one_of("a", "b"), unique)], 1),
        ],
    )
    def test_is_refused(self, factory: Any, spec: Spec, operations: Any, processes: int) -> None:
        TABLE.clear()
        for each in (ONE, *SEVEN):
            each.n = 0
        with pytest.raises(ValueError, match=r"the factory gave the same (LockedCounter|dict) again"):
            run(factory, spec, operations, processes=processes, duration=20)

    def test_may_come_if_it_is_reset(self) -> None:
        def reset() -> None:
            ONE.n = 0

        assert run(lambda: ONE, Counter(), [("increment",), ("value",)], reset=reset).verdict is Verdict.LINEARIZABLE
        with pytest.raises(ValueError, match="`reset` puts back"):
            run(LockedCounter, Counter(), [("increment",)], reset=3)


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


class Numbered(LockedCounter):
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
            run(factory, ListSpec(), [("put", unique), ("all",)], duration=20, length=2)

    def test_may_be_reset(self) -> None:
        outcome = run(Shared, ListSpec(), [("put", unique), ("all",)], reset=Shared.items.clear, length=2)
        assert outcome.verdict is Verdict.LINEARIZABLE

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
        before = Outliving(LockedCounter)
        with SWITCH_INTERVAL.held(1e-6), COLLECTOR.held(False):
            before.look()
        assert before.changed == set()
        assert not is_ours(f"{Path(stress.__file__).parent}_of_others.py")

    def test_another_key_is_a_change(self, monkeypatch: pytest.MonkeyPatch) -> None:
        table = {"a": True}
        monkeypatch.setattr(sys.modules[__name__], "TABLE", table, raising=False)
        before = Outliving(LockedCounter)
        table["b"] = table.pop("a")
        before.look()
        assert before.changed == {f"{__name__}.TABLE"}


def unlazy() -> None:
    global SETTING
    SETTING = Singleton._made = None
