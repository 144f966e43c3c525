"""Accesses that nothing orders (`races=True`), accesses that are not seen, and the threads that try what was proved."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import stress
from stress import Verdict, explore
from stress.explorer import explore as exploring
from stress.explorer.nets import contradiction
from stress.explorer.scenario import Scenario
from stress.recorder.workload import as_calls
from tests.stress.cases import case_named
from tests.stress.objects import CounterWithMore, LockedCounter

pytestmark = pytest.mark.once  # a long process on a free-threaded build is too slow for campaigns of a second

TWICE: Any = [[("increment",)], [("increment",)]]


class Looked(LockedCounter):
    """Right, and yet `peek` looks without the lock."""

    def peek(self) -> None:
        assert self.n >= 0


class TestRaces:
    def test_are_told_if_they_are_asked_for_although_no_answer_was_wrong(self) -> None:
        threads: Any = [[("increment",)], [("peek",)]]
        outcome = explore(Looked, CounterWithMore(), threads, races=True)
        assert outcome.verdict is Verdict.LINEARIZABLE
        assert not outcome
        (told,) = outcome.races
        assert told.startswith("n: nothing orders ")
        assert "LossyCounter.increment" in told
        assert "Looked.peek" in told
        assert told in outcome.report()
        assert "1 races" in outcome.summary
        unasked = explore(Looked, CounterWithMore(), threads)
        assert unasked
        assert not unasked.races

    @pytest.mark.parametrize("name", ["OfRLock", "OfConditionWaitFor", "OfQueue", "OfSemaphoreOfOne", "OfFuture"])
    def test_what_is_ordered_is_none(self, name: str) -> None:
        outcome = case_named(name).explored(races=True)
        assert outcome.verdict is Verdict.LINEARIZABLE
        assert not outcome.races

    @pytest.mark.parametrize("name", ["OfPeterson", "OfTickets", "OfVersion"])
    def test_plain_variables_order_nothing(self, name: str) -> None:
        assert case_named(name).explored(races=True).races


class Whole(stress.Spec):
    """Both change at once."""

    initial = (0, 0)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return ((1, 1), None) if op == "move" else (state, state)


def test_an_access_that_is_not_seen_proves_no_drawn_scenario() -> None:
    with case_named("Pair").made() as pair:
        scenarios = stress.Scenarios([("move",), ("total",)], before=0, after=0)
        outcome = explore(pair, Whole(), scenarios, seed=1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "an access was not seen" in outcome.summary


class Meeting:
    """Each call waits for another one: alone, none returns."""

    def __init__(self) -> None:
        self.together = threading.Barrier(2)

    def increment(self) -> int:
        return 2 - self.together.wait()


class OfClass:
    """Something outlives the object."""

    lock, of = threading.Lock(), dict[str, int]()

    def increment(self) -> int:
        with self.lock:
            self.of["n"] = self.of.get("n", 0) + 1
            return self.of["n"]


def against(factory: Any, spec: Any, seeds: int, threads: Any = TWICE) -> Iterator[str]:
    """What real threads got that is wrong, with each of some seeds."""
    return (
        contradiction(factory, spec, Scenario("", "", tuple(map(as_calls, threads))), seed) for seed in range(seeds)
    )


class TestSeatBelt:
    @pytest.mark.parametrize("name", ["OfClosure", "OfDataclass", "OfTryLock", "OfFinally"])
    def test_holds_if_a_step_was_missed(self, name: str) -> None:
        case = case_named(name)
        with case.made() as factory:
            spec, _, _ = case.asked(factory)
            assert any(
                "real threads got what none of these schedules gives" in each for each in against(factory, spec, 20)
            )

    @pytest.mark.parametrize("name", ["OfRLock", "OfModuleUnderLock", "OfQueue"])
    def test_accuses_no_right_object(self, name: str) -> None:
        case = case_named(name)
        with case.made() as factory:
            spec, _, _ = case.asked(factory)
            assert not any(against(factory, spec, 5))

    def test_knows_what_outlives_an_object_and_does_not_hang(self) -> None:
        began = time.monotonic()
        for factory in (OfClass, Meeting):
            assert not any(against(factory, stress.Counter(), 1))
        assert time.monotonic() - began < 30

    @pytest.mark.parametrize(
        ("threads", "how"),
        [
            (TWICE, {}),
            (TWICE, {"preemptions": 1}),
            (TWICE, {"samples": 5}),
            (stress.Scenarios([("increment",)], scenarios=3), {}),
        ],
    )
    def test_makes_a_proof_undecided(self, monkeypatch: pytest.MonkeyPatch, threads: Any, how: Any) -> None:
        monkeypatch.setattr(exploring, "contradiction", lambda *_: "real threads got 7")
        outcome = explore(Looked, CounterWithMore(), threads, **how)
        assert outcome.verdict is Verdict.UNKNOWN
        assert "but real threads got 7" in outcome.summary
