"""Calls that take turns, in processes that fork and that get signals.

An ordinary lock hangs in two cases. A child of ``fork`` inherits it as it was, perhaps locked by a thread that the
child does not have. And the handler of a signal may interrupt the very call that has it, and then waits for itself; or
a call that has another one, for which the thread waits that the handler waits for. So `Turns` has a lock for each
process, and a handler that comes in the middle of a call does not wait: it leaves what it wants done, and the
interrupted call does that when it ends, and has given back its locks.

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

_inside = threading.local()
"""What handlers have asked for, while this thread is in the middle of a call; None otherwise."""


def this_process() -> object:
    """What stands for this process: another object in each child of ``fork``, whatever number the child has."""
    return _process


def _in_child() -> None:
    global _process
    _process = object()
    _inside.asked = None  # the call that the fork came in the middle of, in a handler perhaps, is the parent's


os.register_at_fork(after_in_child=_in_child)


class Turns:
    """Runs one call at a time, of all the threads of a process."""

    def __init__(self) -> None:
        # Only the first call in a process adds an entry. So no thread changes the dictionary while another one forks,
        # unless neither has called before.
        self._locks = {_process: threading.RLock()}

    def take(
        self, call: Callable[[], Result], known: Callable[[], Result], later: Callable[[], object] | None
    ) -> Result:
        """Wait for the calls of other threads, run ``call``, and return its result.

        In the middle of a call of the same thread, whatever it is of, return what ``known`` does. ``later`` is called
        when that call has ended, whether it returned or raised; it notes its own errors, which are not raised there.
        Without ``later`` this is a part of that call, and waits, but not for itself.
        """
        lock, outer = self._locks.setdefault(_process, threading.RLock()), asked_here()
        if outer is not None and (later is not None or lock._is_owned()):  # type: ignore[attr-defined]
            if later is not None:
                outer.append(later)
            return known()
        try:
            _inside.asked = asked = [] if outer is None else outer
            with lock:
                return call()
        finally:
            _inside.asked = outer
            if outer is None:
                _answer(asked)


def asked_here() -> list[Callable[[], object]] | None:
    """What handlers have asked for, if this thread is in the middle of a call: who asks is a handler then."""
    return getattr(_inside, "asked", None)


def _answer(asked: list[Callable[[], object]]) -> None:
    """Do what handlers asked for, also if one more interrupts that."""
    while asked:
        try:
            with contextlib.suppress(Exception):  # of another publisher, perhaps: it has been noted there
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
