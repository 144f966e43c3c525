"""Calls before and after those of threads, an invariant as the only demand, calls that wait for one another, and what is
wrong with one thread alone."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from random import Random
from typing import Any

import pytest

import stress
from stress import WAITS, Operation, Outcome, Spec, SpecError, Verdict, check, unique
from stress.reports.window import needed
from tests.stress.cases import case_named
from tests.terminal import drawn_by

pytestmark = pytest.mark.once  # Python that is the same everywhere
ENOUGH: dict[str, Any] = {"duration": 5.0, "seed": 1, "pursuit": 0}


class Tally:
    """Its changes answer nothing."""

    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0

    def add(self, amount: int) -> None:
        with self.lock:
            self.n += amount

    def add_two(self) -> None:
        self.add(2)

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


AT_ENDS: dict[str, Any] = {"at_start": [("add", 10)], "at_end": [("total",)]}


class TestCallsAround:
    @pytest.mark.parametrize("spec", [TallySpec(), None], ids=["spec", "none"])
    def test_judge_calls_that_answer_nothing(self, spec: Spec | None) -> None:
        right = stress.run(Tally, spec, [("add", 1)], rounds=40, seed=1, **AT_ENDS)
        unsaid = stress.run(Losing, spec, [("add", 1)], rounds=20, seed=1)
        wrong = stress.run(Losing, spec, [("add", 1)], duration=10, seed=1, **AT_ENDS)
        assert right.verdict is Verdict.LINEARIZABLE, right.report()
        assert unsaid.verdict is Verdict.UNKNOWN
        assert wrong.verdict is Verdict.ILLEGAL
        assert wrong.history is not None
        first, *_, last = wrong.history
        assert (first.describe(), first.thread) == ("add(10) -> None", "main")
        assert (last.op, last.thread) == ("total", "main")
        assert wrong.smaller is not None
        assert len([each for each in wrong.smaller.history if each.thread != "main"]) == 2
        assert wrong.smaller.steps is not None

    def test_that_do_not_return_are_a_finding_at_the_end_and_refused_at_the_start(self) -> None:
        class Kept(Tally):
            def total(self) -> int:
                with self.lock, self.lock:
                    return self.n

        outcome = stress.run(Kept, TallySpec(), [("add", 1)], rounds=5, seed=1, patience=0.3, pursuit=0, **AT_ENDS)
        assert outcome.verdict is Verdict.ILLEGAL
        assert "total() never returned" in outcome.trouble
        taken: Any = {"at_start": [("acquire",), ("acquire",)], "rounds": 1, "patience": 0.3}
        with pytest.raises(ValueError, match=r"at the start do not return: .*acquire\(\) never returned"):
            stress.run(threading.Lock, stress.Mutex(), [("release",)], **taken)

    def test_that_do_not_fit_are_refused(self) -> None:
        with pytest.raises(AttributeError, match="totals"):
            stress.run(Tally, None, [("add", 1)], at_end=[("totals",)], rounds=1)
        with pytest.raises(ValueError, match="an operation is a tuple"):
            stress.run(Tally, None, [("add", 1)], at_end=["total"], rounds=1)  # type: ignore[list-item]


class TestInvariant:
    def test_is_all_that_is_demanded_without_a_specification(self) -> None:
        right = stress.run(Losing, None, [("add", 1)], invariant=lambda it: it.n >= 0, rounds=20, seed=1)
        wrong = stress.run(Losing, None, [("add", 1)], invariant=lambda it: it.n < 3, rounds=20, seed=1)
        assert right.verdict is Verdict.LINEARIZABLE
        assert "an invariant is broken" in wrong.trouble
        with pytest.raises(ValueError, match="give one"):
            stress.run(Tally, None, [("add", 1)], invariant=bool, check=bool)

    def test_does_not_take_the_place_of_a_specification(self) -> None:
        settings: Any = {**ENOUGH, **AT_ENDS, "invariant": lambda it: it.n >= 0}
        assert stress.run(Losing, TallySpec(), [("add", 1)], **settings).verdict is Verdict.ILLEGAL

    def test_judges_threads_that_are_functions(self) -> None:
        threads: list[Any] = [Tally.add_two, lambda tally: tally.add(1)]
        assert stress.explore(Losing, None, threads, invariant=lambda it: it.n == 3).verdict is Verdict.ILLEGAL
        assert stress.explore(Tally, None, threads, invariant=lambda it: it.n == 3)


class TestCallsThatMeet:
    """A handoff: they wait for one another and take effect at once, of which nothing is said (`Slot` in the table)."""

    PAIR = ([("put", 1)], [("take",)])

    def test_are_judged_by_an_invariant(self) -> None:
        with case_named("Slot").made() as slot:
            right = stress.explore(slot, None, self.PAIR, invariant=lambda slot: not slot.items)
            wrong = stress.explore(slot, None, self.PAIR, invariant=lambda slot: bool(slot.items))
        assert right.verdict is Verdict.LINEARIZABLE, right.report()
        assert wrong.verdict is Verdict.ILLEGAL

    def test_are_refused_elsewhere(self) -> None:
        class Handoff(Spec):
            meetings = (("put", "take"),)

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return WAITS

        with pytest.raises(SpecError, match="`meetings`, which are not judged"):
            check([Operation(0, 0, 1, 4, "put", (7,), None)], Handoff())
        roles: list[Any] = [[("put", unique)], [("take",)]]
        with case_named("Slot").made() as slot:
            with pytest.raises(SpecError, match="`meetings`, which are not judged"):
                stress.explore(slot, Handoff(), self.PAIR)
            with pytest.raises(ValueError, match=r"put, take would wait from the start"):
                stress.run(slot, None, [], roles=roles, rounds=2)


class Blocking:
    """The standard library's queue; two threads are certain to be in their first calls at the same time."""

    def __init__(self) -> None:
        self.queue: queue.Queue[Any] = queue.Queue(2)
        self.barrier, self.here = threading.Barrier(2), threading.local()

    def meet(self) -> None:
        if not hasattr(self.here, "met"):
            self.here.met = True
            self.barrier.wait()

    def put(self, item: Any) -> None:
        self.meet()
        self.queue.put(item)

    def get(self) -> Any:
        self.meet()
        return self.queue.get()


class BlockingSpec(Spec):
    initial: Any = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "put":
            return ((*state, *args), None) if len(state) < 2 else WAITS
        return (state[1:], state[0]) if state else WAITS


class Impatient(BlockingSpec):
    """The same specification, but `get` does not wait."""

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return (state, None) if op == "get" and not state else super().step(state, op, args)


class TestThreadsThatWait:
    @pytest.mark.parametrize("gets", [1, 3])
    def test_as_the_specification_says_are_right(self, gets: int) -> None:
        operations = [("put", unique), *[("get",)] * gets]
        outcome = stress.run(Blocking, BlockingSpec(), operations, rounds=5, duration=None, patience=60, seed=1)
        assert outcome, outcome.report()
        assert outcome.rounds == 5

    def test_where_they_should_not_hang(self) -> None:
        outcome = stress.run(Blocking, Impatient(), [("get",)], duration=5, patience=0.5, seed=1)
        assert "nothing has moved" in outcome.summary

    def test_can_all_return(self) -> None:
        workload = stress.Workload(Blocking, BlockingSpec(), [("put", unique), ("get",)])
        plans = workload.plans(Random(1), threads=3, rounds=10, length=4)
        for at in range(10):
            calls = [op for plan in plans for op, _ in plan[at]]
            assert len(calls) == 12
            assert -2 <= calls.count("put") - calls.count("get") <= 2


class LastTwo:
    """Right if as many as are asked for are two."""

    most = 2

    def __init__(self) -> None:
        self.lock, self.kept = threading.Lock(), list[int]()

    def add(self, item: int) -> None:
        with self.lock:
            self.kept = [*self.kept, item][-self.most :]

    def all(self) -> tuple[int, ...]:
        with self.lock:
            return tuple(self.kept)


class LastForty(LastTwo):
    most = 40


class Last(Spec):
    initial: Any = ()

    def __init__(self, most: int) -> None:
        self.most = most

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return ((*state, args[0])[-self.most :], None) if op == "add" else (state, state)


class TestWithOneThreadAlone:
    """The class and the specification disagree: no race is to be looked for."""

    def said(self, outcome: Outcome | stress.Explored) -> None:
        assert outcome.verdict is Verdict.ILLEGAL
        assert "NOT linearizable: wrong with one thread alone" in outcome.report()
        assert "the class and the specification disagree" in outcome.report()
        assert "lost" not in outcome.report()

    def test_run_says_so_in_as_few_calls_as_it_takes(self) -> None:
        outcome = stress.run(LastTwo, Last(3), [("add", unique), ("all",)], **ENOUGH)
        self.said(outcome)
        assert outcome.history is not None
        assert [each.op for each in outcome.history] == ["add", "add", "add", "all"]

    def test_run_says_so_after_batches_that_were_right(self) -> None:
        # It ends with what it finds; five seconds were too few for a first batch of a free-threaded build on a busy machine.
        settings: Any = {**ENOUGH, "duration": 60.0, "length": 1, "yields": 0.0}
        self.said(stress.run(LastForty, Last(50), [("add", unique)], **settings, at_end=[("all",)]))

    def test_explore_says_so(self) -> None:
        threads = [[("add", 1), ("add", 2), ("add", 3), ("all",)], [("all",)]]
        self.said(stress.explore(LastTwo, Last(3), threads))
        self.said(stress.explore(LastTwo, Last(3), threads, samples=20, seed=3))

    def test_what_threads_are_needed_for_is_called_something_else(self) -> None:
        found = stress.explore(Losing, TallySpec(), [[("add", 1)], [("add", 2)]], at_end=[("total",)])
        assert found.verdict is Verdict.ILLEGAL
        assert "alone" not in found.report()


def test_run_needs_no_name_of_a_module() -> None:
    with case_named("OfModuleProperty").made() as made:
        assert stress.run(made, None, [("increment",)], rounds=20).verdict is Verdict.LINEARIZABLE


def test_what_is_needed_is_left() -> None:
    assert needed(range(100), lambda some: {3, 77} <= set(some)) == [3, 77]
    assert needed([], bool) == []


CALLS = [
    'run(Tally, None, [("total",)], duration=3, seed=1)',
    'explore(Tally, None, [[("add", 1)] * 4] * 3, duration=4)',
]


@pytest.mark.slow("each waits for the seconds after which a line is drawn")
@pytest.mark.parametrize("call", CALLS)
def test_a_terminal_shows_how_far_it_is_and_nothing_else_does(call: str) -> None:
    command = [sys.executable, "-c", f"import stress\nfrom tests.stress.test_around import Tally\nstress.{call}"]
    drawn, printed = drawn_by(command)
    elsewhere = subprocess.run(command, capture_output=True, text=True, check=True)
    assert " s, " in drawn
    assert (printed, elsewhere.stdout, elsewhere.stderr) == ("", "", "")
