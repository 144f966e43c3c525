"""Depth first, by number of preemptions: every schedule with at most a given number, those with fewer first.

A preemption lets another thread make a step although the previous thread could continue. Most faults need one or two
preemptions, and there are few schedules with so few. So a fault is found with the plainest schedule that shows it.

A preempted thread sleeps until another thread makes a step on which the preempted thread's own next step depends. If it
continued earlier, the preemption would have no effect: preempting it one step later gives the same execution, except
for swaps of independent steps, with no more preemptions. Of all such schedules, the one in which threads run on for as
long as they can is executed. (A thread that did not begin, because another one did, does not sleep: to let it go first
might take one more preemption.) For the same reason no thread is preempted before an access of a slot that, as far as
is known, only one thread accesses or no thread changes. The first execution that shows otherwise brings up the
schedules that were put off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stress.explorer.coroutines import MAIN
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import Drift, Execution, Machine, Step, Strategy, lowest, name_of
from stress.explorer.slots import Several

__all__ = ["Switch", "Switches", "bounded"]


class Switch(NamedTuple):
    """Thread `to` makes step `at`. If that preempts another thread, `instead` is what that thread would have done.
    `last` is the step before it.
    """

    at: int
    to: int
    instead: Step | None = None
    last: Step | None = None


Schedule = tuple[Switch, ...]
"""Switches in the order of steps. At all other steps the running thread continues."""

_NEVER = Switch(-1, MAIN)


class Switches(Strategy):
    """The strategy that makes exactly the switches of one schedule; a sleeping thread does not run. `asleep` gives, for
    every step, the threads that slept when it was decided, as bits.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.asleep: list[int] = []
        self._schedule = schedule
        self._rest = iter(schedule)
        self._next = _NEVER
        self._sleepers: dict[int, Step] = {}

    def begin(self, machine: Machine) -> None:
        """As `Strategy.begin`."""
        super().begin(machine)
        self._rest = iter(self._schedule)
        self._next = next(self._rest, _NEVER)
        self._sleepers.clear()
        self.asleep.clear()

    def decide(self, me: int) -> int:
        """As `Strategy.decide`."""
        machine = self.machine
        at, sleepers, asleep = machine.step, self._sleepers, 0
        if sleepers:
            self._wake(machine.execution.step(at - 1))
            for thread in sleepers:
                asleep |= 1 << thread
        del self.asleep[at:]  # the step was given to a thread that began to wait instead
        self.asleep.append(asleep)
        if at == self._next.at:
            return self._switch(me)
        if me >= 0 and machine.enabled >> me & 1:
            return me
        awake = machine.enabled & ~asleep
        return lowest(awake) if awake else MAIN

    def _switch(self, me: int) -> int:
        _, to, instead, _ = self._next
        if not self.machine.enabled >> to & 1:
            raise Drift.at(to, self.machine.step)
        if instead is not None:
            self._sleepers[self.machine.execution.order[-1]] = instead
        self._next = next(self._rest, _NEVER)
        return to

    def _wake(self, made: Step) -> None:
        for thread in [thread for thread, step in self._sleepers.items() if step.depends_on(made)]:
            del self._sleepers[thread]


def bounded(
    experiment: Experiment, preemptions: int, within: Callable[[Strategy], Strategy] | None = None
) -> Iterator[Finding | None]:
    """Execute the schedules with at most this number of preemptions, one of each class with the same visible result.
    Yield the finding or None for each. A schedule that turns out to be like an earlier one is cut short. `within`
    turns the strategy of each schedule into the one to follow.

    Raises:
        Drift: an execution does not begin like the one that it shares its beginning with.
    """
    waiting = _Waiting(preemptions)
    while (schedule := waiting.next()) is not None:
        switches = Switches(schedule)
        execution, finding = experiment.run(switches if within is None else within(switches))
        yield finding
        first = schedule[-1].at + 1 if schedule else 0
        if first > 1 and (len(execution.order) < first or execution.step(first - 2) != schedule[-1].last):
            raise Drift()
        waiting.note(execution, first)
        for switch in _alternatives(execution, switches.asleep, first):
            waiting.add((*schedule, switch))


def _alternatives(execution: Execution, asleep: list[int], first: int) -> Iterator[Switch]:
    """Every other decision from step `first` on."""
    order, enabled = execution.order, execution.enabled
    for at in range(first, len(order)):
        others = enabled[at] & ~asleep[at] & ~(1 << order[at])
        if others:
            preempts = at > 0 and order[at] == order[at - 1] and bool(enabled[at] >> order[at - 1] & 1)
            instead, last = execution.step(at) if preempts else None, execution.step(at - 1) if at else None
            while others:
                thread = lowest(others)
                others &= others - 1
                yield Switch(at, thread, instead, last)


class _Waiting:
    """The schedules to execute, those with fewer preemptions first; and those that are put off until a slot turns out
    to be contended.
    """

    def __init__(self, preemptions: int) -> None:
        self._levels: list[list[Schedule]] = [[] for _ in range(preemptions + 1)]
        self._levels[0].append(())
        self._idle: dict[Any, list[Schedule]] = {}
        self._accessed: dict[Any, int] = {}
        self._changed: set[Any] = set()

    def next(self) -> Schedule | None:
        """Any of those with the fewest preemptions; None if none is left."""
        return next((level.pop() for level in self._levels if level), None)

    def add(self, schedule: Schedule) -> None:
        """Add a schedule, unless it has too many preemptions."""
        level = _preemptions(schedule)
        if level >= len(self._levels):
            return
        instead = schedule[-1].instead
        if (
            instead is None
            or instead.calls
            or instead.returns
            or type(instead.slot) is Several
            or self._is_contended(instead.slot)
        ):
            self._levels[level].append(schedule)
        else:
            self._idle.setdefault(instead.slot, []).append(schedule)

    def note(self, execution: Execution, first: int) -> None:
        """Learn from the steps of an execution, from `first` on, which threads access which slots."""
        for at in range(first, len(execution.order)):
            name = name_of(execution.slots[at])
            for each in name if type(name) is Several else (name,):
                self._note(each, execution.order[at], at in execution.wrote)

    def _note(self, name: Any, thread: int, wrote: bool) -> None:
        known = self._accessed.get(name, 0)
        threads = known | 1 << thread
        if wrote:
            self._changed.add(name)
        elif threads == known:
            return
        self._accessed[name] = threads
        if self._is_contended(name):
            for schedule in self._idle.pop(name, ()):
                self._levels[_preemptions(schedule)].append(schedule)

    def _is_contended(self, name: Any) -> bool:
        threads = self._accessed.get(name, 0)
        return name in self._changed and bool(threads & threads - 1)


def _preemptions(schedule: Schedule) -> int:
    return sum(switch.instead is not None for switch in schedule)
