"""How far a process is, in memory that it shares with the first one (`ProgressLog`), so that this outlives it.

The calls themselves are not written: they follow from the seed and the number of the batch. For each thread there is
the number of its calls that have returned. So what is known of a process that died is the call that each thread had
begun, or was about to begin.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from ctypes import c_longlong
from typing import Final

from stress.history import UNSEEN, Call, Operation, steady

Plan = Sequence[Sequence[Call]]
"""The calls of one thread, round by round."""

PHASES: Final = ("starting", "making the object", "calling it", "judging what was seen", "checking the object")
"""The activities of a process."""


class ProgressLog:
    """The log of one process, for batches of so many threads."""

    def __init__(self, threads: int) -> None:
        self._state = multiprocessing.RawArray(c_longlong, 2)
        self.returned = multiprocessing.RawArray(c_longlong, threads)
        """How many calls of each thread have returned; written by that thread alone."""

    def begin(self, batch: int) -> None:
        """Begin a new batch."""
        self.returned[:] = [0] * len(self.returned)
        self._state[1] = batch

    def enter(self, phase: str) -> None:
        """Note that the process begins one of `PHASES`."""
        self._state[0] = PHASES.index(phase)

    # For the first process, which reads the log. What it reads may be garbage: the other one has died.

    @property
    def batch(self) -> int:
        """The number of the batch."""
        return self._state[1]

    @property
    def phase(self) -> str:
        """What the process is doing, or was when it died."""
        number = self._state[0]
        return PHASES[number] if 0 <= number < len(PHASES) else "doing what it did not note"

    @property
    def progress(self) -> tuple[int, ...]:
        """A value that changes whenever the process makes progress."""
        return (*self._state, *self.returned)

    def running(self, plans: Sequence[Plan]) -> tuple[Operation, ...]:
        """The latest call of each thread that makes the calls of `plans`."""
        found: list[Operation] = []
        for thread, plan in enumerate(plans):
            calls = [call for calls in plan for call in calls]
            if 0 <= self.returned[thread] < len(calls):
                op, args = calls[self.returned[thread]]
                found.append(Operation(len(found), thread, 0, None, op, tuple(map(steady, args)), UNSEEN))
        return tuple(found)
