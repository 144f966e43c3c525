"""The clock of an explored object. It shows what its threads have slept and waited in vain, and stands still otherwise:
but a thread that goes round and round, looking at it, is let on by a long time that passes. If the object looks at its
clock at all, that is a step, and so is a sleep.
"""

from __future__ import annotations

from itertools import count
from typing import Final

from stress.explorer.slots import MAIN, Seam

__all__ = ["A_LONG_TIME", "CLOCK", "OneThread"]

A_LONG_TIME: Final = 86_400.0
"""Seconds: more than anybody waits for."""

CLOCK: Final = ("", "the clock")
"""The place of the clock."""


class OneThread:
    """The scheduler where no threads run: it names what is made, as no thread can, and knows the clock."""

    def __init__(self, seam: Seam) -> None:
        self._seam = seam
        self._has_looked = False
        self.name = count(-1, -1).__next__

    def identity(self) -> int:
        """As `Scheduler.identity`."""
        return MAIN

    def caller(self) -> int:
        """As `Scheduler.caller`."""
        return MAIN

    def looks_at_clock(self) -> None:
        """The thread looks at the clock."""
        self._has_looked = True

    def sleeps(self) -> None:
        """The thread is about to sleep."""

    def lets_time_pass(self) -> None:
        """The thread goes round and round. If it has looked at the clock since, a long time passes."""
        if self._has_looked:
            self._has_looked = False
            self._seam.clock += A_LONG_TIME
