"""The reduction and the bounded search lose nothing that could be seen. They are compared with all schedules of random
programs. The programs use locks, conditions, events, semaphores, references, plain attributes, containers, and loops
that wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import stress
from ctrie import AtomicReference
from stress.explorer.bounded import bounded
from stress.explorer.dpor import reduced
from stress.explorer.machine import Machine, lowest
from stress.explorer.object_experiment import ObjectExperiment, explored_references, subject_of
from stress.explorer.policy import Refused
from stress.explorer.scenario import Around, Scenario
from tests.stress.test_run import LockedCounter

pytestmark = [pytest.mark.slow, pytest.mark.once]

MOST = 1_000
"""The limit of schedules for each program under test."""


class Anything(stress.Spec):
    initial = 0

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Any) -> Any:
        return (state,)


class Machinery:
    def __init__(self) -> None:
        self.locks = [threading.Lock(), threading.Lock()]
        self.event, self.semaphore = threading.Event(), threading.Semaphore(1)
        self.condition, self.is_open = threading.Condition(self.locks[0]), False
        self.reference: Any = AtomicReference(0)
        self.n = self.m = 0
        self.table: dict[int, int] = {}

    def run(self, tag: int, program: tuple[tuple[str, int], ...]) -> Any:
        seen: list[Any] = []
        held: list[int] = []
        for what, which in program:
            if what == "lock" and which not in held:
                self.locks[which].acquire()
                held.append(which)
            elif what == "try" and which not in held:
                seen.append(self.locks[which].acquire(blocking=False))
                if seen[-1]:
                    held.append(which)
            elif what == "unlock" and held:
                self.locks[held.pop()].release()
            elif what in ("free", "signal", "await"):  # whoever holds the lock
                try:
                    if what == "free":
                        self.locks[which].release()
                        held = [each for each in held if each != which]
                    elif what == "signal":
                        self.condition.notify()
                    else:
                        seen.append(self.condition.wait(which or None))
                except RuntimeError as error:
                    seen.append(str(error))
            elif what == "n":
                self.n = self.n * 10 + tag
            elif what == "m":
                seen.append(self.m)
                self.m = tag
            elif what == "put":
                self.table[which] = tag
            elif what == "list":
                seen.append(tuple(self.table.values()))
            elif what == "load":
                seen.append(self.reference.load())
            elif what == "swap":
                self.reference.compare_and_set(self.reference.load(), tag)
            elif what == "set":
                self.event.set()
            elif what == "wait":
                seen.append(self.event.wait(1))
            elif what == "until" and 0 not in held:
                with self.condition:
                    while not self.is_open:
                        self.condition.wait()
            elif what == "notify" and 0 not in held:
                with self.condition:
                    self.is_open = True
                    self.condition.notify_all()
            elif what == "semaphore":
                with self.semaphore:
                    seen.append(self.n)
            elif what == "spin":
                while self.reference.load() == 0:
                    pass
        while held:
            self.locks[held.pop()].release()
        return tuple(seen)


WORDS = (
    "lock", "lock", "try", "unlock", "n", "m", "put", "list", "load", "swap", "set", "wait", "semaphore", "spin",
    "until", "notify", "free", "signal", "await",
)  # fmt: skip


class Every:
    """Every schedule, depth first over decisions."""

    def __init__(self) -> None:
        self.prefix: list[int] = []
        self.trail: list[tuple[int, int]] = []

    def begin(self, machine: Machine) -> None:
        self.machine, self.trail = machine, []

    def decide(self, me: int) -> int:
        at = self.machine.step
        del self.trail[at:]
        enabled = self.machine.enabled
        to = self.prefix[at] if at < len(self.prefix) else lowest(enabled)
        self.trail.append((to, enabled))
        return to

    def next(self) -> bool:
        while self.trail:
            to, enabled = self.trail.pop()
            rest = enabled & ~((1 << (to + 1)) - 1)
            if rest:
                self.prefix = [thread for thread, _ in self.trail] + [lowest(rest)]
                return True
        return False


class Watched(ObjectExperiment):
    """An experiment that notes what could be seen."""

    is_whole = False

    def seen_by(self, explore: Callable[[Any], object]) -> set[Any]:
        self.seen: set[Any] = set()
        explore(self)
        return self.seen

    def _judge(self, execution: Any) -> Any:
        made = self._object
        left = made.n, made.m, tuple(made.table.items()), made.reference._value
        self.seen.add((execution.trouble, execution.precedence(), self._answers(execution), left))


def everything(experiment: Watched) -> None:
    """Run every schedule, unless there are too many."""
    strategy = Every()
    for _ in range(MOST):
        try:
            execution, _ = experiment.run(strategy)
        except Refused:  # a loop whose schedules have no end
            return
        if execution.trouble == "livelock":
            return
        if not strategy.next():
            experiment.is_whole = True
            return


def program(random: Random) -> Scenario:
    threads = random.choice((2, 2, 3))
    tag = iter(range(1, 100))
    calls = random.choice((1, 1, 2)) if threads == 2 else 1
    length = (1, 2, 3) if threads == 2 else (1, 2)
    drawn = [
        tuple(
            (
                "run",
                (next(tag), tuple((random.choice(WORDS), random.randrange(2)) for _ in range(random.choice(length)))),
            )
            for _ in range(calls)
        )
        for _ in range(threads)
    ]
    return Scenario("Machinery", "", tuple(drawn))


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost(seed: int) -> None:
    random, compared = Random(seed), 0
    with explored_references() as machine, subject_of(machine, Machinery, Anything(), Around(), None) as subject:
        for _ in range(5):
            scenario = program(random)
            every = Watched(machine, subject, scenario)
            whole = every.seen_by(everything)
            while subject.plain.knowledge.grew:  # as the explorer does: what is a step depends on all that has run
                subject.plain.begin_again()
                every = Watched(machine, subject, scenario)
                whole = every.seen_by(everything)
            if not every.is_whole:
                continue
            compared += 1
            assert Watched(machine, subject, scenario).seen_by(lambda each: list(reduced(each))) == whole, scenario
            assert Watched(machine, subject, scenario).seen_by(lambda each: list(bounded(each, 99))) == whole, scenario
    assert compared


@pytest.mark.parametrize(("calls", "orders"), [((1, 1), 2), ((3, 3), 20), ((1, 1, 1), 6), ((2, 2, 1), 30)])
def test_who_waits_for_a_lock_makes_no_step(calls: tuple[int, ...], orders: int) -> None:
    """There are as many executions as orders in which the threads can take the lock."""
    outcome = stress.explore(LockedCounter, stress.Counter(), [[("increment",)] * number for number in calls])
    assert (outcome.verdict, outcome.executions) == (stress.Verdict.LINEARIZABLE, orders)
