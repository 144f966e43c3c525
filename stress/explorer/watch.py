"""Interrupts an execution that does not end: when time is up, since a call that goes in circles without a step never
returns control, and when a call waits in the operating system for a thread that the explorer does not let run.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from typing import Any, Final

from stress.explorer.machine import Machine
from stress.explorer.policy import Refused
from stress.rest import rest_of

__all__ = ["TimeIsUp", "Watch"]

_GRACE: Final = 1.0
"""Seconds after which code that checks the time between executions must have noticed that it is up."""
_BEAT: Final = 0.2
_ASLEEP: Final = 5.0
"""Seconds of sleep without a step, after which a call is taken to wait for another thread."""
_BUSY: Final = 0.1
_LOOK: Final = 0.001
_SIGNAL: Final[Any] = getattr(signal, "SIGURG", None)
"""A signal that is ignored unless somebody handles it, and that ends a wait in the operating system."""


class TimeIsUp(BaseException):
    """Raised in the thread that explores."""


class Watch:
    """Within the block, `TimeIsUp` is raised in the calling thread, or in the thread that makes a step for it, some
    time after `seconds`; None: never. It ends the block.

    In the main thread, `Refused` is raised in a call that sleeps for some seconds without a step. Elsewhere nothing can
    end such a wait.
    """

    def __init__(self, machine: Machine, seconds: float | None) -> None:
        self._machine, self._seconds = machine, seconds
        self._over = threading.Event()
        self._thread: Any = None
        self._before: Any = None
        self._has_handler = False
        self._sleeps_in = ""

    def __enter__(self) -> Watch:
        try:
            self._begin()
        except BaseException:  # Ctrl-C, which `start` lets through when the thread has begun
            self._end()
            raise
        return self

    def _begin(self) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and _SIGNAL is not None:
            self._before = signal.signal(_SIGNAL, self._wake)
            self._has_handler = True
        if self._seconds is not None or self._has_handler:
            me = threading.get_ident()
            until = float("inf") if self._seconds is None else time.monotonic() + self._seconds + _GRACE
            self._thread = _REAL_THREAD(target=self._look, args=(me, until), name="explorer-watch", daemon=True)
            self._thread.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        interrupted: KeyboardInterrupt | None = None
        while True:  # TimeIsUp may come here, too, but not more than once in some seconds
            try:
                self._end()
                break
            except TimeIsUp:
                continue
            except KeyboardInterrupt as raised:
                interrupted = raised
        if interrupted is not None:
            raise interrupted
        return kind is TimeIsUp

    def _end(self) -> None:
        """End the thread that looks, and put the handler back."""
        self._over.set()
        deadline = time.monotonic() + _GRACE
        while self._thread in threading.enumerate() and time.monotonic() < deadline:
            _NEVER.wait(_LOOK)  # one whose start was interrupted has no identity yet, and cannot be joined
        for _each in range(2):  # one that is set and not raised yet is raised at a jump
            pass
        if self._has_handler and signal.getsignal(_SIGNAL) == self._wake:
            signal.signal(_SIGNAL, self._before)

    def _look(self, caller: int, until: float) -> None:
        asleep = _Sleep(self._machine)
        while not self._over.wait(_BEAT):
            running = self._machine.coroutines.thread_of_the_running(caller)
            if time.monotonic() > until:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(running), ctypes.py_object(TimeIsUp))
                until += 10 * _GRACE  # raise it once more, in case it was caught
            if self._has_handler and asleep.for_long(running):
                frame = sys._current_frames().get(running)
                if frame is not None and self._machine.seam.before is not None:
                    self._sleeps_in = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                    signal.pthread_kill(caller, _SIGNAL)

    def _wake(self, *_: object) -> None:
        where, self._sleeps_in = self._sleeps_in, ""
        if where:
            raise Refused(f"a call waits in the operating system for what no schedule brings ({where})")


class _Sleep:
    """How long the thread that makes a step has gone on with it, and used no processor."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._seen: Any = None
        self._since = self._busy = 0.0

    def for_long(self, running: int) -> bool:
        """Whether it sleeps for too long now."""
        sleeps, busy = rest_of(next((each.native_id for each in threading.enumerate() if each.ident == running), None))
        seen = (running, id(self._machine.execution), self._machine.step)
        if not sleeps or seen != self._seen or busy - self._busy > _BUSY:
            self._seen, self._busy, self._since = seen, busy, time.monotonic()
            return False
        return time.monotonic() - self._since > _ASLEEP


_REAL_THREAD: Final = threading.Thread
_NEVER: Final = threading.Event()
