"""Schedules drawn at random: uniformly at every step, or by priorities (PCT).

PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte: *A Randomized Scheduler with Probabilistic Guarantees of Finding
Bugs*, ASPLOS 2010) runs the thread of the highest priority and lowers it at d - 1 steps drawn beforehand. It finds a
fault that needs d steps in a certain order with a probability of at least 1 / (n k^(d-1)), for n threads and k steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from random import Random
from typing import Final

from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import Machine, Strategy, lowest
from stress.explorer.trace import execute_again

__all__ = ["PCT", "Uniform", "sampled"]

_AGAIN: Final = 25
"""One schedule in so many is executed again: the first, and one of each strategy in turns."""


class Uniform(Strategy):
    """Picks one of the threads that can make a step, each with the same probability."""

    def __init__(self, random: Random) -> None:
        self._random = random.random

    def decide(self, me: int) -> int:
        """As `Strategy.decide`."""
        enabled = self.machine.enabled
        for _ in range(int(self._random() * enabled.bit_count())):
            enabled &= enabled - 1
        return lowest(enabled)


class PCT(Strategy):
    """Priorities, and `depth` - 1 steps at which they change. `length` is the number of steps of the latest
    execution."""

    def __init__(self, random: Random, depth: int) -> None:
        self._random, self._depth = random, depth
        self._priorities: list[int] = []
        self._changes: dict[int, int] = {}
        self.length, self._made = 50, 0

    def begin(self, machine: Machine) -> None:
        """As `Strategy.begin`."""
        super().begin(machine)
        self.length, self._made = self._made or self.length, 0
        threads = machine.enabled.bit_count()
        self._priorities = list(range(self._depth, self._depth + threads))
        self._random.shuffle(self._priorities)
        self._changes = {self._random.randrange(self.length): priority for priority in range(self._depth - 1)}

    def decide(self, me: int) -> int:
        """As `Strategy.decide`."""
        machine = self.machine
        self._made = machine.step + 1
        lowered = self._changes.pop(machine.step, None)
        if lowered is not None and me >= 0:
            self._priorities[me] = lowered
        priorities, enabled = self._priorities, machine.enabled
        return max((number for number in range(len(priorities)) if enabled >> number & 1), key=priorities.__getitem__)


def sampled(experiment: Experiment, random: Random) -> Iterator[Finding | None]:
    """Execute schedules for ever: uniform ones, and PCT with depths 2, 3 and 5, in turn.

    Raises:
        Drift: a schedule that was executed a second time, as some are, gave another execution.
    """
    strategies: list[Strategy] = [Uniform(random), PCT(random, 2), PCT(random, 3), PCT(random, 5)]
    for number, strategy in enumerate(cycle(strategies)):
        execution, finding = experiment.run(strategy)
        yield finding
        if number % _AGAIN == 0 and finding is None and not execution.trouble:
            execute_again(experiment, execution)
