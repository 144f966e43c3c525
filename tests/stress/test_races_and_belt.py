"""Accesses that nothing orders (`races=True`), and the threads that try what was proved."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import stress
from stress import Verdict, explore
from stress.explorer import explore as exploring
from stress.explorer.scenario import Around
from stress.explorer.seat_belt import contradiction
from stress.recorder.workload import as_calls
from tests.stress.in_bad_faith import CASES, TWICE

pytestmark = pytest.mark.once  # a long process on a free-threaded build is too slow for campaigns of a second

PROGRAM = tuple(map(as_calls, TWICE))


class Looked:
    """Right, and yet `peek` looks without the lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n = 0

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n

    def peek(self) -> None:
        assert self.n >= 0


class LookedSpec(stress.Counter):
    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        return (state, None) if op == "peek" else super().step(state, op, args)


class TestRaces:
    def test_are_told_although_no_answer_was_wrong(self) -> None:
        outcome = explore(Looked, LookedSpec(), [[("increment",)], [("peek",)]], races=True)
        assert outcome.verdict is Verdict.LINEARIZABLE
        assert not outcome
        (told,) = outcome.races
        assert told.startswith("n: nothing orders ")
        assert "Looked.increment" in told
        assert "Looked.peek" in told
        assert told in outcome.report()
        assert "1 races" in outcome.summary

    def test_are_told_only_if_they_are_asked_for(self) -> None:
        outcome = explore(Looked, LookedSpec(), [[("increment",)], [("peek",)]])
        assert outcome
        assert not outcome.races

    @pytest.mark.parametrize("name", ["OfRLock", "OfConditionWaitFor", "OfQueue", "OfSemaphoreOfOne", "OfFuture"])
    def test_what_is_ordered_is_none(self, name: str) -> None:
        _, factory, spec, threads = CASES[name]
        outcome = explore(factory, spec, threads, races=True)
        assert outcome.verdict is Verdict.LINEARIZABLE
        assert not outcome.races

    @pytest.mark.parametrize("name", ["OfPeterson", "OfTickets", "OfVersion"])
    def test_plain_variables_order_nothing(self, name: str) -> None:
        _, factory, spec, threads = CASES[name]
        assert explore(factory, spec, threads, races=True).races


class Meeting:
    """Each call waits for another one: alone, none returns."""

    def __init__(self) -> None:
        self.together = threading.Barrier(2)

    def increment(self) -> int:
        return 2 - self.together.wait()


class TestSeatBelt:
    @pytest.mark.parametrize("name", ["OfClosure", "OfDataclass", "OfTryLock", "OfFinally"])
    def test_holds_if_a_step_was_missed(self, name: str) -> None:
        _, factory, spec, _ = CASES[name]
        told = [contradiction(factory, spec, PROGRAM, Around(), seed) for seed in range(20)]
        assert any("real threads got what none of these schedules gives" in each for each in told)

    @pytest.mark.parametrize("name", ["OfRLock", "OfModuleUnderLock", "OfQueue"])
    def test_accuses_no_right_object(self, name: str) -> None:
        _, factory, spec, _ = CASES[name]
        assert not any(contradiction(factory, spec, PROGRAM, Around(), seed) for seed in range(5))

    def test_knows_that_something_may_outlive_the_object(self) -> None:
        names: dict[str, Any] = {"threading": threading}
        exec(
            """
class Object:
    lock, of = threading.Lock(), {}
    def increment(self):
        with self.lock:
            self.of["n"] = self.of.get("n", 0) + 1
            return self.of["n"]
""",
            names,
        )
        assert not contradiction(names["Object"], stress.Counter(), PROGRAM, Around(), 1)

    def test_does_not_hang(self) -> None:
        began = time.monotonic()
        assert not contradiction(Meeting, stress.Counter(), PROGRAM, Around(), 1)
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
        outcome = explore(Looked, LookedSpec(), threads, **how)
        assert outcome.verdict is Verdict.UNKNOWN
        assert "but real threads got 7" in outcome.summary
