"""Calls that take turns, in processes that fork and that get signals.

An ordinary lock hangs in two cases. A child of ``fork`` inherits it as it was, perhaps locked by a thread that the
child does not have. And the handler of a signal may interrupt the very call that has it, and then waits for itself. So
`Turns` has a lock for each process, and a handler that comes in the middle of a call does not wait: it leaves what it
wants done, and the interrupted call does that when it ends.

`Stop` ends a thread. It is no Event, since an Event has an ordinary lock inside.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

_process = object()


def this_process() -> object:
    """What stands for this process: another object in each child of ``fork``, whatever number the child has."""
    return _process


def _in_child() -> None:
    global _process
    _process = object()


os.register_at_fork(after_in_child=_in_child)


class Turns:
    """Runs one call at a time, of all the threads of a process."""

    def __init__(self) -> None:
        # Only the first call in a process adds an entry. So no thread changes the dictionary while another one forks,
        # unless neither has called before.
        self._locks: dict[object, tuple[threading.RLock, list[Callable[[], object]]]] = {}
        self._own()

    def take(
        self, call: Callable[[], Result], known: Callable[[], Result], later: Callable[[], object] | None
    ) -> Result:
        """Wait for the calls of other threads, run ``call``, and return its result.

        In the middle of a call of the same thread, return what ``known`` does. ``later`` is run when that call ends,
        whether it returns or raises.
        """
        lock, asked = self._own()
        if lock._is_owned():  # type: ignore[attr-defined]  # atomic, as no flag beside the lock could be
            if later is not None:
                asked.append(later)
            return known()
        with lock:
            try:
                return call()
            finally:
                _answer(asked)

    def is_mine(self) -> bool:
        """Whether this thread is in the middle of a call, and so is a handler that asks."""
        return self._own()[0]._is_owned()  # type: ignore[attr-defined, no-any-return]

    def _own(self) -> tuple[threading.RLock, list[Callable[[], object]]]:
        """The lock of this process, and what handlers have asked for."""
        found = self._locks.get(_process)
        return found or self._locks.setdefault(_process, (threading.RLock(), []))


def _answer(asked: list[Callable[[], object]]) -> None:
    """Do what handlers asked for, also if one more interrupts that."""
    while asked:
        try:
            asked.pop(0)()
        finally:
            _answer(asked)


def attempted(call: Callable[[], Result], *, strict: bool = False) -> tuple[Result | None, Exception | None]:
    """What a call returns that asks values and functions of users, or the exception that it raises. One that does not
    come again was raised by a signal's handler, in between: it is raised, and so is every one if ``strict``."""
    try:
        return call(), None
    except MemoryError:
        raise
    except Exception as error:
        if not strict:
            try:
                call()
            except Exception:  # noqa: BLE001 (whatever comes)
                return None, error
        raise


class Stop:
    """Tells threads to stop. A handler of a signal may do it, in the middle of anything.

    Who waits gets the lock once it is told, and gives it back for the next. It is no queue: if the time for its `get`
    has passed when that looks again, since the process was stopped, it waits for ever.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Tell them."""
        self.is_set = True
        with contextlib.suppress(RuntimeError):  # the lock was released already
            self._lock.release()

    def wait(self, seconds: float) -> bool:
        """Wait until it is told, or for so long. Return whether it was told."""
        if not self.is_set and seconds > 0 and self._lock.acquire(timeout=seconds):
            self.set()
        return self.is_set
