"""Interrupts an execution when time is up: a call that goes in circles without a step never returns control."""

from __future__ import annotations

import ctypes
import threading
import time
from contextlib import suppress
from typing import Any, Final

from stress.explorer.machine import Machine

__all__ = ["TimeIsUp", "Watch"]

_GRACE: Final = 1.0
"""Seconds after which code that checks the time between executions must have noticed that it is up."""
_BEAT: Final = 0.2


class TimeIsUp(BaseException):
    """Raised in the thread that explores."""


class Watch:
    """Within the block, `TimeIsUp` is raised in the calling thread, or in the thread that makes a step for it, some
    time after `seconds`; None: never. It ends the block.
    """

    def __init__(self, machine: Machine, seconds: float | None) -> None:
        self._machine, self._seconds = machine, seconds
        self._over = _REAL_EVENT()
        self._thread: Any = None

    def __enter__(self) -> Watch:
        if self._seconds is not None:
            me = threading.get_ident()
            until = time.monotonic() + self._seconds + _GRACE
            self._thread = _REAL_THREAD(target=self._look, args=(me, until), name="explorer-watch", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        while True:  # TimeIsUp may come here, too, but not more than once in some seconds
            with suppress(TimeIsUp):
                self._over.set()
                if self._thread is not None:
                    self._thread.join()
                for _each in range(2):  # one that is set and not raised yet is raised at a jump
                    pass
                return kind is TimeIsUp

    def _look(self, caller: int, until: float) -> None:
        while not self._over.wait(_BEAT):
            if time.monotonic() > until:
                running = self._machine.coroutines.thread_of_the_running(caller)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(running), ctypes.py_object(TimeIsUp))
                until += 10 * _GRACE  # raise it once more, in case it was caught


_REAL_EVENT: Final = threading.Event
_REAL_THREAD: Final = threading.Thread
