"""One thread stops for ever, at every point in turn: all the others must come to their ends without it.

This tests lock-freedom and helping. The first thread makes k steps and no more, for every k until it ends by itself.
Meanwhile the others run under every schedule with at most the given number of preemptions. The first thread's last call
is pending: it may have taken effect or not.

A delayed thread differs in one thing: it continues when all the others have ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from stress.explorer.bounded import bounded
from stress.explorer.coroutines import MAIN
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import Machine, Strategy, lowest

__all__ = ["delayed", "stopped_for_ever"]


class _Stops(Strategy):
    """Another strategy, except that thread 0 makes only `steps` steps. `stopped`: it would have made more."""

    _strategy: Strategy

    def __init__(self, steps: int) -> None:
        self._steps, self.stopped = steps, False

    def around(self, strategy: Strategy) -> Strategy:
        """This one, with another strategy in it."""
        self._strategy = strategy
        return self

    def begin(self, machine: Machine) -> None:
        super().begin(machine)
        self._left = self._steps
        self._strategy.begin(machine)

    def decide(self, me: int) -> int:
        machine = self.machine
        if not self._left and machine.enabled & 1:
            machine.enabled &= ~1
            self.stopped = True
        if not machine.enabled:
            return MAIN
        to = self._strategy.decide(me if me >= 0 and machine.enabled >> me & 1 else MAIN)
        self._left -= to == 0
        return to


def stopped_for_ever(experiment: Experiment, preemptions: int = 0) -> Iterator[Finding | None]:
    """Stop thread 0 after each of its steps; yield the finding or None for every execution."""
    for steps in count(1):
        stops = _Stops(steps)
        yield from bounded(experiment, preemptions, stops.around)
        if not stops.stopped:
            return


class _Delay(Strategy):
    """A thread makes so many steps, the others run to their ends, one after another, and it goes on."""

    def __init__(self, thread: int, steps: int) -> None:
        self._thread, self._steps = 1 << thread, steps
        self.left = steps

    def begin(self, machine: Machine) -> None:
        super().begin(machine)
        self.left = self._steps

    def decide(self, me: int) -> int:
        enabled = self.machine.enabled
        if self.left and enabled & self._thread:
            self.left -= 1
            return lowest(self._thread)
        others = enabled & ~self._thread
        return me if me >= 0 and others >> me & 1 else lowest(others or enabled)


def delayed(experiment: Experiment) -> Iterator[Finding | None]:
    """Delay each thread in turn after each of its steps; what was found, or None, for every execution. None is left out
    because it is like another one in its steps.
    """
    for thread in range(len(experiment.scenario.threads)):
        for steps in count(1):
            delay = _Delay(thread, steps)
            _, finding = experiment.run(delay)
            yield finding
            if delay.left:
                break
