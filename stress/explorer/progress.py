"""What a process that explores leaves behind if it dies or hangs: the scenario and the schedule of its last execution.

They are in memory that it shares with the process which watches it. Writing them down takes two percent of the time.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from ctypes import c_char, c_longlong, c_ubyte
from typing import Final

__all__ = ["Progress"]

_MOST_STEPS: Final = 1 << 16
_LONGEST: Final = 4_000
_LOOK: Final = 64
"""Executions between two looks whether anybody watches."""


class Progress:
    """The progress of an exploration in another process."""

    def __init__(self) -> None:
        self._watcher = os.getpid()
        self._counts = multiprocessing.RawArray(c_longlong, 2)
        self._order = multiprocessing.RawArray(c_ubyte, _MOST_STEPS)
        self._scenario = multiprocessing.RawArray(c_char, _LONGEST + 1)
        self._token = multiprocessing.RawArray(c_char, _LONGEST + 1)

    def explores(self, scenario: str, token: str) -> None:
        """The next executions are of this scenario. `token` is one of it, without an order."""
        self._scenario.value = scenario.encode(errors="replace")[:_LONGEST]
        self._token.value = token.encode() if len(token) <= _LONGEST else b""

    def begins(self, append: Callable[[int], None]) -> Callable[[int], None]:
        """An execution begins. Returns what is to be called with the thread of every step, in the place of `append`."""
        if self._counts[0] % _LOOK == 0 and os.getppid() != self._watcher:
            os._exit(1)  # nobody watches any more
        counts, order, made = self._counts, self._order, 0
        counts[0] += 1
        counts[1] = 0

        def keep(thread: int) -> None:
            nonlocal made
            append(thread)
            if made < _MOST_STEPS:
                order[made] = thread
                made += 1
                counts[1] = made

        return keep

    @property
    def executions(self) -> int:
        """How many executions have begun."""
        return self._counts[0]

    @property
    def scenario(self) -> str:
        """The scenario of the latest execution."""
        return str(self._scenario.value.decode(errors="replace"))

    @property
    def token(self) -> str:
        """A token of the scenario, without an order; empty if there is none."""
        return str(self._token.value.decode())

    @property
    def order(self) -> Sequence[int]:
        """The threads that made the steps of the latest execution."""
        return tuple(self._order[: self._counts[1]])
