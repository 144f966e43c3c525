"""Calls before and after those of threads, an invariant as the only demand, and what is wrong with one thread alone."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import pytest

import stress
from stress import Outcome, Spec, Verdict, unique
from stress.recorder.around import needed
from tests.terminal import drawn_by

ENOUGH: dict[str, Any] = {"duration": 5.0, "seed": 1, "pursuit": 0}


class Tally:
    """Its changes answer nothing."""

    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0

    def add(self, amount: int) -> None:
        with self.lock:
            self.n += amount

    def total(self) -> int:
        return self.n


class Losing(Tally):
    def add(self, amount: int) -> None:
        n = self.n
        self.n = n + amount


class TallySpec(Spec):
    initial = 0

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return (state + args[0], None) if op == "add" else (state, state)


SPECS = [TallySpec(), None]
AT_ENDS: dict[str, Any] = {"at_start": [("add", 10)], "at_end": [("total",)]}


@pytest.mark.parametrize("spec", SPECS, ids=["spec", "none"])
class TestCallsAround:
    def test_calls_that_answer_nothing_are_judged_by_one_at_the_end(self, spec: Spec | None) -> None:
        right = stress.run(Tally, spec, [("add", 1)], rounds=40, seed=1, **AT_ENDS)
        wrong = stress.run(Losing, spec, [("add", 1)], **ENOUGH, **AT_ENDS)

        assert right.verdict is Verdict.LINEARIZABLE, right.report()
        assert wrong.verdict is Verdict.ILLEGAL
        assert wrong.history is not None
        first, *_, last = wrong.history
        assert (first.describe(), first.thread) == ("add(10) -> None", "main")
        assert (last.op, last.thread) == ("total", "main")

    def test_without_them_nothing_can_be_said(self, spec: Spec | None) -> None:
        outcome = stress.run(Losing, spec, [("add", 1)], rounds=20, seed=1)

        assert outcome.verdict is Verdict.UNKNOWN

    def test_what_is_found_is_found_again_in_fewer_calls(self, spec: Spec | None) -> None:
        found = stress.run(Losing, spec, [("add", 1)], duration=10, seed=1, **AT_ENDS)

        assert found.smaller is not None
        assert len([each for each in found.smaller.history if each.thread != "main"]) == 2
        assert found.smaller.steps is not None


def test_a_call_at_the_end_that_does_not_return_is_a_finding() -> None:
    class Kept(Tally):
        def total(self) -> int:
            with self.lock, self.lock:
                return self.n

    outcome = stress.run(Kept, TallySpec(), [("add", 1)], rounds=5, seed=1, patience=0.3, pursuit=0, **AT_ENDS)

    assert outcome.verdict is Verdict.ILLEGAL
    assert "total() never returned" in outcome.trouble


def test_calls_at_the_start_that_do_not_return_are_refused() -> None:
    with pytest.raises(ValueError, match=r"at the start do not return: .*acquire\(\) never returned"):
        stress.run(
            threading.Lock,
            stress.Mutex(),
            [("release",)],
            at_start=[("acquire",), ("acquire",)],
            rounds=1,
            patience=0.3,
        )


def test_a_call_around_that_does_not_fit_is_refused() -> None:
    with pytest.raises(AttributeError, match="totals"):
        stress.run(Tally, None, [("add", 1)], at_end=[("totals",)], rounds=1)
    with pytest.raises(ValueError, match="an operation is a tuple"):
        stress.run(Tally, None, [("add", 1)], at_end=["total"], rounds=1)  # type: ignore[list-item]


class TestInvariant:
    def test_without_a_specification_it_is_all_that_is_demanded(self) -> None:
        right = stress.run(Losing, None, [("add", 1)], invariant=lambda it: it.n >= 0, rounds=20, seed=1)
        wrong = stress.run(Losing, None, [("add", 1)], invariant=lambda it: it.n < 3, rounds=20, seed=1)

        assert right.verdict is Verdict.LINEARIZABLE
        assert "an invariant is broken" in wrong.trouble

    def test_with_one_answers_count_too(self) -> None:
        settings: Any = {**ENOUGH, **AT_ENDS, "invariant": lambda it: it.n >= 0}

        assert stress.run(Losing, TallySpec(), [("add", 1)], **settings).verdict is Verdict.ILLEGAL

    def test_it_has_one_name(self) -> None:
        with pytest.raises(ValueError, match="give one"):
            stress.run(Tally, None, [("add", 1)], invariant=bool, check=bool)


class LastTwo:
    """Right if three are two."""

    def __init__(self) -> None:
        self.lock, self.kept = threading.Lock(), list[int]()

    def add(self, item: int) -> None:
        with self.lock:
            self.kept = [*self.kept, item][-2:]

    def all(self) -> tuple[int, ...]:
        with self.lock:
            return tuple(self.kept)


class LastThree(Spec):
    initial: Any = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return ((*state, args[0])[-3:], None) if op == "add" else (state, state)


class LastFifty(LastThree):
    """Which is right for a while."""

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return ((*state, args[0])[-50:], None) if op == "add" else (state, state)


class LastForty(LastTwo):
    def add(self, item: int) -> None:
        with self.lock:
            self.kept = [*self.kept, item][-40:]


class TestWithOneThreadAlone:
    """The class and the specification disagree: no race is to be looked for."""

    def said(self, outcome: Outcome | stress.Explored) -> None:
        assert outcome.verdict is Verdict.ILLEGAL
        assert "NOT linearizable: wrong with one thread alone" in outcome.report()
        assert "the class and the specification disagree" in outcome.report()
        assert "lost" not in outcome.report()

    def test_run_says_so_in_as_few_calls_as_it_takes(self) -> None:
        outcome = stress.run(LastTwo, LastThree(), [("add", unique), ("all",)], **ENOUGH)

        self.said(outcome)
        assert outcome.history is not None
        assert [each.op for each in outcome.history] == ["add", "add", "add", "all"]

    def test_run_says_so_after_batches_that_were_right(self) -> None:
        # It ends with what it finds; five seconds were too few for a first batch of a free-threaded build on a busy machine.
        settings: Any = {**ENOUGH, "duration": 60.0, "length": 1, "yields": 0.0}
        outcome = stress.run(LastForty, LastFifty(), [("add", unique)], **settings, at_end=[("all",)])

        self.said(outcome)

    def test_explore_says_so(self) -> None:
        threads = [[("add", 1), ("add", 2), ("add", 3), ("all",)], [("all",)]]

        self.said(stress.explore(LastTwo, LastThree(), threads))
        self.said(stress.explore(LastTwo, LastThree(), threads, samples=20, seed=3))

    def test_what_threads_are_needed_for_is_called_something_else(self) -> None:
        class Both(Losing):
            def add(self, amount: int) -> None:
                with self.lock:
                    super().add(amount)

            def both(self, amount: int) -> int:
                n = self.n
                self.n = n + amount
                return n

        class BothSpec(TallySpec):
            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return (state + args[0], state) if op == "both" else super().step(state, op, args)

        found = stress.explore(Both, BothSpec(), [[("both", 1)], [("both", 2)]])

        assert found.verdict is Verdict.ILLEGAL
        assert "alone" not in found.report()


def test_what_is_needed_is_left() -> None:
    assert needed(range(100), lambda some: {3, 77} <= set(some)) == [3, 77]
    assert needed([], bool) == []


SAYS = """
import stress
from tests.stress.test_around import Tally
stress.{call}
"""
CALLS = [
    'run(Tally, None, [("total",)], duration=3, seed=1)',
    'explore(Tally, None, [[("add", 1)] * 4] * 3, duration=4)',
]


@pytest.mark.parametrize("call", CALLS)
def test_a_terminal_shows_how_far_it_is_and_nothing_else_does(call: str) -> None:
    command = [sys.executable, "-c", SAYS.format(call=call)]

    drawn, printed = drawn_by(command)
    elsewhere = subprocess.run(command, capture_output=True, text=True, check=True)

    assert " s, " in drawn
    assert (printed, elsewhere.stdout, elsewhere.stderr) == ("", "", "")
