"""Schedules drawn at random, for what can differ between executions that are alike in their steps."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import Strategy, lowest

__all__ = ["at_random"]


class _Drawn(Strategy):
    """Picks one of the threads that can make a step, each with the same probability."""

    def __init__(self, random: Random) -> None:
        self._random = random.random

    def decide(self, me: int) -> int:
        enabled = self.machine.enabled
        for _ in range(int(self._random() * enabled.bit_count())):
            enabled &= enabled - 1
        return lowest(enabled)


def at_random(experiment: Experiment, random: Random) -> Iterator[Finding | None]:
    """Execute schedules for ever; yield the finding or None for each."""
    strategy = _Drawn(random)
    while True:
        yield experiment.run(strategy)[1]
