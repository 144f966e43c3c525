"""Settings of the whole process that a run or an exploration needs: another one may need them at the same time.

If each noted what is there, set its own and put back what it had noted, something would be left behind: of two that
begin one after another, the first puts back what it found, and then the second what the first had set. So a setting
knows all who need it now. The first of them notes what was there, the value of the latest holds, and the last puts back
what the first had noted, in whichever order they end.

What belongs to one thread (`sys.settrace`, `sys.setprofile`) or to the main thread (handlers of signals) needs none of
this, and tools of `sys.monitoring` are refused by name if they are taken.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")


class Setting(Generic[T]):
    """One setting of the process, which `read` tells and `put` changes."""

    def __init__(self, read: Callable[[], T], put: Callable[[T], object]) -> None:
        self._read, self._put = read, put
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._wanted: dict[object, T] = {}
        self._before: list[T] = []

    @contextmanager
    def held(self, value: T) -> Iterator[None]:
        """Within the block the setting has this value, or that of a block which has begun since."""
        me = object()
        try:
            with self._lock:
                if not self._wanted:
                    self._before = [self._read()]
                self._wanted[me] = value
                self._put(value)
            yield
        finally:
            with self._lock:
                if self._wanted.pop(me, self) is not self:  # else it was interrupted before it had begun
                    self._put([*self._before, *self._wanted.values()][-1])

    def _forked(self) -> None:
        """The other threads are gone, and one of them may have held the lock."""
        if self._wanted:
            self._put(self._before[0])
        self._begin()


SWITCH_INTERVAL: Final[Setting[float]] = Setting(sys.getswitchinterval, sys.setswitchinterval)
COLLECTOR: Final[Setting[bool]] = Setting(gc.isenabled, lambda collects: (gc.enable if collects else gc.disable)())
"""Whether garbage is collected."""
TRACE_OF_NEW_THREADS: Final[Setting[Any]] = Setting(threading.gettrace, threading.settrace)
"""The trace function with which threads begin."""
