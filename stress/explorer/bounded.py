"""Depth first, by number of preemptions: every schedule with at most so many, those with fewer first.

To preempt is to let another thread make a step when the one before it could. Most faults need one or two preemptions,
and the schedules with few of them are few: a fault found so comes with the plainest schedule that shows it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from stress.explorer.crew import MAIN
from stress.explorer.explorable import Explorable, Finding
from stress.explorer.machine import Drift, Execution, Machine, Strategy, lowest

__all__ = ["Switches", "bounded", "bounded_by"]

Schedule = tuple[tuple[int, int], ...]
"""Switches: (step, thread that makes it), in the order of steps. At all other steps, whoever runs goes on."""


class Switches:
    """The strategy that makes just the switches of one schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._machine: Machine | None = None
        self._rest = iter(schedule)
        self._at, self._to = -1, MAIN

    def begin(self, machine: Machine) -> None:
        """As `Strategy.begin`."""
        self._machine, self._rest = machine, iter(self._schedule)
        self._at, self._to = next(self._rest, (-1, MAIN))

    def decide(self, me: int) -> int:
        """As `Strategy.decide`."""
        machine = self._machine
        assert machine is not None
        if machine.step == self._at:
            to = self._to
            if not machine.enabled >> to & 1:
                raise Drift(to, machine.step)
            self._at, self._to = next(self._rest, (-1, MAIN))
            return to
        return me if me >= 0 and machine.enabled >> me & 1 else lowest(machine.enabled)


def bounded(experiment: Explorable, preemptions: int) -> Iterator[Finding | None]:
    """Execute every schedule with at most so many preemptions, once; what was found, or None, for each."""
    return bounded_by(experiment, preemptions, lambda switches: switches)


def bounded_by(
    experiment: Explorable, preemptions: int, within: Callable[[Strategy], Strategy]
) -> Iterator[Finding | None]:
    """The same, where `within` makes of each schedule's strategy the one that is followed."""
    level: deque[Schedule] = deque([()])
    for left in range(preemptions, -1, -1):
        following: deque[Schedule] = deque()
        while level:
            schedule = level.pop()
            execution, finding = experiment.run(within(Switches(schedule)))
            yield finding
            for switch, preempts in _alternatives(execution, schedule[-1][0] + 1 if schedule else 0):
                if not preempts:
                    level.append((*schedule, switch))
                elif left:
                    following.append((*schedule, switch))
        level = following


def _alternatives(execution: Execution, first: int) -> Iterator[tuple[tuple[int, int], bool]]:
    """Every other decision from step `first` on, and whether it preempts a thread."""
    order, enabled = execution.order, execution.enabled
    for step in range(first, len(order)):
        others = enabled[step] & ~(1 << order[step])
        if others:
            preempts = step > 0 and bool(enabled[step] >> order[step - 1] & 1)
            while others:
                thread = lowest(others)
                others &= others - 1
                yield (step, thread), preempts
