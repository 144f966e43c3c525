"""Every execution with a different visible result, and as few others as possible.

Dynamic partial order reduction (Flanagan and Godefroid, POPL 2005) in the form of source sets with sleep sets
(Abdulla, Aronis, Jonsson, Sagonas: *Optimal Dynamic Partial Order Reduction*, POPL 2014). `Step` defines which steps
depend on each other.

If two steps of an execution depend on each other but could have happened in the other order, the explorer goes back and
executes that order. Executions that differ only by swaps of independent steps are executed once.

A thread that waits for a lock can make no step, so a release and the next taking of the lock cannot be swapped. Instead
the two that took it are: the next one may come first if it happened later for no other reason. A thread that waits to
the end counts as if it took the lock then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import ge
from typing import Any

from stress.explorer.coroutines import MAIN
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import NO_STEPS, Drift, Execution, Machine, Step, Strategy, lowest, name_of

__all__ = ["reduced"]


@dataclass(slots=True)
class _Node:
    """The state before a step: which threads can make it, which have and which should, and which need not (`asleep`,
    because the next step of a sleeping thread has been seen already). `clock` has, for each thread, the number of its
    last step that happened before this step or is this step. `slept` are the threads that were asleep at first.
    """

    enabled: int
    asleep: dict[int, Step]
    chosen: int
    wanted: int = 0
    done: int = 0
    step: Step | None = None
    clock: Sequence[int] = ()
    slept: int = 0

    def next(self) -> int:
        """Another thread to make the step; `MAIN` if there is none."""
        left = self.wanted & ~(self.done | self.slept)
        return lowest(left) if left else MAIN


class _Reduction(Strategy):
    """The strategy, and its present path."""

    def __init__(self, threads: int) -> None:
        self.path: list[_Node] = []
        self._threads = threads
        self._given = 0
        self._latest: list[int] = []
        """The last step of each thread before the one whose races are looked for."""
        self._names: list[Any] = []
        self._wrote: set[int] = set()

    def begin(self, machine: Machine) -> None:
        super().begin(machine)
        self._given = len(self.path)

    def decide(self, me: int) -> int:
        """As `Strategy.decide`: first along the path, then on with the running thread, unless it is asleep."""
        machine = self.machine
        at = machine.step
        if at < self._given:
            to = self.path[at].chosen
            if not machine.enabled >> to & 1:
                raise Drift.at(to, at)
            return to
        if at < len(self.path):  # the step was given to a thread that began to wait instead
            del self.path[at:]
        asleep = self._asleep(machine.execution) if at and self.path[-1].asleep else {}
        slept = 0
        for thread in asleep:
            slept |= 1 << thread
        awake = machine.enabled & ~slept
        if not awake:
            return MAIN
        to = me if me >= 0 and awake >> me & 1 else lowest(awake)
        self.path.append(_Node(machine.enabled, asleep, to, wanted=1 << to, done=1 << to, slept=slept))
        return to

    def _asleep(self, execution: Execution) -> dict[int, Step]:
        """The threads asleep after the last step: those asleep before, except the ones that depend on the step."""
        node = self.path[-1]
        step = execution.step(len(self.path) - 1)
        return {
            thread: other
            for thread, other in node.asleep.items()
            if thread != node.chosen and not other.depends_on(step)
        }

    def learn(self, execution: Execution) -> None:
        """Record the steps of the execution, and where they could have happened in another order."""
        path, order = self.path, execution.order
        del path[len(order) :]
        first = max(self._given - 1, 0)
        self._compare(execution, min(first, len(order)))
        self._latest = [-1] * self._threads
        for at in range(first):
            self._latest[path[at].chosen] = at
        for later in range(first, len(order)):
            path[later].step = execution.step(later)
            taken, freed = execution.taken.get(later, NO_STEPS)
            latest = self._latest[path[later].chosen]
            for earlier in self._racing(later, freed):
                # Unless the step has let a thread on, which could make no step before it.
                let_on = path[earlier + 1].enabled & ~path[earlier].enabled
                if latest >= earlier or not let_on >> path[later].chosen & 1:
                    self._want(earlier, later, path[later].clock)
            if taken >= 0 <= freed:
                self._want_lock(taken, freed, later, latest)
        self._want_of_blocked(execution)

    def _compare(self, execution: Execution, first: int) -> None:
        """Compare the steps before `first` with those of the previous execution, which must be the same.

        Raises:
            Drift: they differ.
        """
        names, wrote = execution.names(), execution.wrote
        if first and (names[:first] != self._names[:first] or min(wrote ^ self._wrote, default=first) < first):
            raise Drift()
        self._names, self._wrote = names, wrote

    def _want_lock(self, earlier: int, freed: int, later: int, latest: int) -> None:
        """Step `later` takes a lock that step `freed` has released and `earlier` has taken. While it was taken, nobody
        could take it, so the race is between those who took it: if nothing but the lock lets `later` happen after
        `earlier`. `latest` is the step of its thread before it.
        """
        path = self.path
        node = path[later]
        step = node.step
        assert step is not None
        clock = path[latest].clock if latest >= 0 else [-1] * self._threads
        for at in range(later - 1, earlier, -1):
            other = path[at]
            if (
                at > clock[other.chosen]
                and other.step is not None
                and (at > freed or (at < freed and other.step.slot != step.slot))
                and step.depends_on(other.step)
            ):
                clock = list(map(max, clock, other.clock))
        if clock[path[earlier].chosen] < earlier:
            self._want(earlier, later, clock)

    def _want_of_blocked(self, execution: Execution) -> None:
        """Threads that wait for locks to the end could have taken them before others did."""
        path, end = self.path, len(self.path)
        for thread, (lock, taken) in execution.blocked.items():
            if taken >= 0:
                calls = execution.begun[thread] in (-2, 2 * end)
                path.append(_Node(0, {}, thread, step=Step(name_of(lock), True, calls, False)))
                self._want_lock(taken, end, end, self._latest[thread])
                path.pop()

    def _racing(self, later: int, freed: int) -> list[int]:
        """The steps that race with step `later`, whose clock is set. To be called for each step in order. The step that
        has `freed` the lock that this one takes comes before it in any case.
        """
        path, racing = self.path, []
        node = path[later]
        step, thread = node.step, node.chosen
        assert step is not None
        clock, latest = [-1] * self._threads, self._latest
        for at in range(later - 1, -1, -1):
            other = path[at]
            if at > clock[other.chosen]:
                if other.chosen == thread:
                    clock = list(map(max, clock, other.clock))
                elif other.step is not None and step.depends_on(other.step):
                    if at != freed:
                        racing.append(at)
                    clock = list(map(max, clock, other.clock))
                else:
                    continue
                if all(map(ge, clock, latest)):
                    break  # all earlier steps happened before
        clock[thread] = latest[thread] = later
        node.clock = clock
        return racing

    def _want(self, earlier: int, later: int, clock: Sequence[int]) -> None:
        """Have `later` happen before `earlier` in some execution: mark a thread to begin that can lead there."""
        path = self.path
        node = path[earlier]
        if node.wanted == node.enabled:
            return
        thread = node.chosen
        free = [at for at in range(earlier + 1, later) if path[at].clock[thread] < earlier]
        free.append(later)
        firsts: dict[int, int] = {}  # of each thread, its first step that need not happen after `earlier`
        initials = 0
        for at in free:
            thread, its = path[at].chosen, clock if at == later else path[at].clock
            if thread not in firsts:
                if all(its[other] < first for other, first in firsts.items()):
                    initials |= 1 << thread
                firsts[thread] = at
        initials &= node.enabled
        if initials & node.wanted:
            return
        mine = 1 << path[later].chosen
        node.wanted |= mine if initials & mine else initials & -initials if initials else node.enabled

    def retreat(self) -> bool:
        """Go back to the last step that another thread should make; False if there is none."""
        path = self.path
        while path:
            node = path[-1]
            assert node.step is not None
            node.asleep[node.chosen] = node.step
            to = node.next()
            if to != MAIN:
                node.chosen, node.step = to, None
                node.done |= 1 << to
                return True
            path.pop()
        return False


def reduced(experiment: Experiment) -> Iterator[Finding | None]:
    """Execute one schedule of every class of equivalent ones; yield the finding or None for each."""
    strategy = _Reduction(len(experiment.scenario.threads))
    while True:
        execution, finding = experiment.run(strategy)
        yield finding  # first: whoever has found something wrong needs no more, and to learn of a livelock takes long
        strategy.learn(execution)
        if not strategy.retreat():
            return
