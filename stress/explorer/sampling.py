"""Schedules drawn at random: every thread that can make a step makes it with the same probability."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import Final

from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import Strategy, lowest
from stress.explorer.trace import execute_again

__all__ = ["drawn_of", "sampled"]

_AGAIN: Final = 25
"""One schedule in so many is executed again."""


def drawn_of(threads: int, random: Callable[[], float]) -> int:
    """One of some threads, which are given as bits."""
    for _ in range(int(random() * threads.bit_count())):
        threads &= threads - 1
    return lowest(threads)


class _Uniform(Strategy):
    def __init__(self, random: Random) -> None:
        self._random = random.random

    def decide(self, me: int) -> int:
        return drawn_of(self.machine.enabled, self._random)


def sampled(experiment: Experiment, random: Random) -> Iterator[Finding | None]:
    """Execute schedules for ever.

    Raises:
        Drift: a schedule that was executed a second time, as some are, gave another execution.
    """
    strategy = _Uniform(random)
    for number in count():
        execution, finding = experiment.run(strategy)
        yield finding
        if number % _AGAIN == 0 and finding is None and not execution.trouble:
            execute_again(experiment, execution)
