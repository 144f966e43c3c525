"""Work that a thread repeats: when it comes again, and what is known of its errors.

While it fails, the pauses grow. The logger ``snapshot.published`` gets one record when it begins to fail, one whenever
it fails in another way, and one when it works again.
"""

from __future__ import annotations

import atexit
import datetime
import logging
import math
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from snapshot.published.errors import FencedError
from snapshot.turns import Stop

LONGEST: Final = 10.0
"""Pauses grow up to so many seconds, or stay what they are without errors, if that is longer."""

OnError = Callable[[BaseException], object]

_log = logging.getLogger("snapshot.published")

_begun: weakref.WeakSet[Rounds] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Let all threads end before the interpreter does: one that is in Arrow then would abort the process. One that
    hangs, since a disk does, is waited for as long as a pause may be."""
    for rounds in list(_begun):
        rounds.stop.set()
    for rounds in list(_begun):
        rounds.join(LONGEST)


class Closing:
    """What is closed at the end of a ``with`` block."""

    def close(self) -> None:
        """Close it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


class Rounds:
    """A thread that does something again and again, and the error of the last attempt.

    Args:
        name: of the thread.
        what: what it does, for the log: ``"following /data/subscriptions"``.
        work: does it once, and returns how many seconds later it is to be done again.
        least: how many seconds later it is tried again after the first failure.
        on_error: called with each error that is logged.
    """

    def __init__(self, name: str, what: str, work: Callable[[], float], least: float, on_error: OnError | None) -> None:
        self.error: BaseException | None = None
        self.stop = Stop()
        self._what, self._work, self._least, self._on_error = what, work, least, on_error
        self._failures = 0
        self._ended = Stop()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin with the first round."""
        _begun.add(self)
        self.thread.start()

    def join(self, seconds: float = math.inf) -> None:
        """Wait until the thread has ended, but for so long at most, unless this is it.

        Not by `Thread.join`: a handler of a signal that comes in the middle of that, and joins, too, waits for a lock
        that its own thread holds.
        """
        end = time.monotonic() + seconds
        if self.thread is not threading.current_thread():
            # Progress: the thread ends. It may end without having told so, in a child of fork, so look now and then.
            while self.thread.is_alive() and not self._ended.is_set and time.monotonic() < end:
                self._ended.wait(0.02)

    def note(self, error: BaseException | None, on_error: OnError | None = None) -> None:
        """Note how an attempt ended, whoever made it.

        Args:
            on_error: called instead of the one that was given before.
        """
        before, self.error = self.error, error
        self._failures = 0 if error is None else self._failures + 1
        if _kind_of(error) == _kind_of(before):
            return
        if error is None:
            _log.warning("%s works again", self._what)
            return
        _log.error("%s failed: %s", self._what, error, exc_info=None if isinstance(error, FencedError) else error)
        told = on_error or self._on_error
        if told is not None:
            try:
                told(error)
            except BaseException as raised:
                if threading.current_thread() is not self.thread and not isinstance(raised, Exception):
                    raise  # it ends the program of a caller, but no more than the thread here
                _log.exception("%s: the function that is told of errors raised one", self._what)

    def _run(self) -> None:
        try:
            self._repeat()
        finally:
            self._ended.set()

    def _repeat(self) -> None:
        pause = 0.0
        while not self.stop.wait(pause):
            try:
                pause = self._work()
            except BaseException as error:  # noqa: BLE001 (nobody would notice that the thread ended)
                if self.stop.is_set:
                    return
                if error is not self.error:
                    self.note(error)
                pause = min(max(LONGEST, self._least), self._least * 2.0 ** min(self._failures - 1, 32))


def _kind_of(error: BaseException | None) -> Any:
    """By what two errors are told apart. Their texts may name files that differ each time."""
    return None if error is None else (type(error), getattr(error, "errno", None))


def seconds_of(every: float | datetime.timedelta) -> float:
    """The argument `every` in seconds.

    Raises:
        TypeError: it is neither a number nor a timedelta.
        ValueError: it is not positive, or longer than a thread can wait.
    """
    seconds = every.total_seconds() if isinstance(every, datetime.timedelta) else every
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"every must be seconds or a timedelta, not {every!r}")
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ValueError(f"every must be a positive time, not {every!r}")
    return seconds
