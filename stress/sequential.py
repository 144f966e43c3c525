"""A specification made from the object itself: an answer is right if some order of the calls, made one after another on
a fresh object, gives it.

So nobody has to write what the object does. It finds what goes wrong because calls overlap, and not what is wrong with
one thread alone. A state is the calls that were made so far, and a step makes them all again. That is meant for a dozen
calls, after which a fresh object is taken.

What the object must be like is checked, not assumed. If the same calls get other answers when they are made again (a
clock, random numbers, an `id`, something that outlives the object), nothing can be said, and `SpecError` names the
call. A call waits for others if its thread sleeps for some time: a thread that does not get a processor on a busy
machine does not sleep, and is waited for. Before an answer is called wrong, all calls have been made anew, and twice,
with more time for each, and none that counted as waiting has returned some seconds later.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeVar

from stress.history import ANSWERS
from stress.of_calls import Calls, OfCalls, told
from stress.rest import end_of, rest_of
from stress.spec import WAITS, SpecError, State
from stress.values import fresh

PATIENCE: Final = (0.05, 0.5)
"""Seconds after which a call that is made alone counts as waiting: as a rule, and before an answer is called wrong."""
_LOOKS: Final = 4
"""How often a thread must be found asleep, one look after another, ..."""
_BUSY: Final = 4
"""... or how many times as long it must have been busy: it may wait by going round and round."""
_STARVED: Final = 60.0
"""Seconds after which a call is given up in any case."""
_TO_END: Final = 2.0
"""Seconds in which a thread should end that is no longer waited for."""
_TO_MAKE: Final = 10.0
"""Seconds that the factory may sleep."""
_LATER: Final = 3.0
"""Seconds in which a call that counts as waiting must not return, before an answer is called wrong."""
_MOST_WAITING: Final = 300
"""Threads that wait for ever: each call that waits takes one."""
_MOST_KNOWN: Final = 200_000
_DOUBTED: Final = 100
"""Sequences of calls that are made twice, before a fault is found."""

T = TypeVar("T")


class Sequential(OfCalls):
    """The object that `make` makes, called by one thread.

    Args:
        make: makes a fresh object.

    Raises:
        SpecError: (from a step) the same calls got other answers when they were made again, or too many calls wait.

    >>> counted = Sequential(lambda: [1, 2])
    >>> counted.step((), "pop", ())
    ((('pop', ()),), 2)
    >>> counted.step((("pop", ()),), "pop", ())[1]
    1
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__()
        self._make = make
        self._waiting = self._doubted = 0
        self._patience = PATIENCE[0]
        self._given_up: list[tuple[threading.Thread, _Watch]] = []

    def step(self, state: Calls, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        """The calls with one more, and its answer after the others."""
        return self.supervised(partial(super().step, state, op, args))

    def _learn(self, calls: Calls) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        answers = self._answers(calls)
        if self._doubted < _DOUBTED:
            self._doubted += 1
            for at, (one, other) in enumerate(zip(answers, self._answers(calls), strict=False), start=1):
                self.demand_equal(calls[:at], one, other)
        self._known.update((calls[: at + 1], answer) for at, answer in enumerate(answers))

    def doubt(self) -> None:
        """Make calls twice again, and forget the answers to all that were made."""
        self._known.clear()
        self._given_up.clear()
        self._doubted, self._patience = -_MOST_KNOWN, PATIENCE[1]

    def confirm(self) -> None:
        """An answer is about to be called wrong: see whether the calls that counted as waiting go on waiting.

        Raises:
            SpecError: one has returned meanwhile.
        """
        until = time.monotonic() + _LATER
        for thread, watch in self._given_up:
            thread.join(max(0.0, until - time.monotonic()))
            if not thread.is_alive():
                raise SpecError(
                    f"{told(watch.calls[-1])} returns only after {self._patience:g} s or more if one thread calls it "
                    "alone, so that it cannot be told from one that waits for others: a specification must say"
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return Sequential, (self._make,)

    def _answers(self, calls: Calls) -> list[Any]:
        """The answers to calls that one thread makes on a fresh object, up to the first that is known to wait."""
        answers: list[Any] = []
        with self._watched(calls[:0]):
            subject = self._make()
        for at, (op, args) in enumerate(calls, start=1):
            if self._known.get(calls[:at]) is WAITS:
                return [*answers, WAITS]
            with self._watched(calls[:at]):
                try:
                    answer = getattr(subject, op)(*fresh(args))
                except ANSWERS as error:
                    answer = error
            read = getattr(answer, "read_alone", None)  # of a `Deferred`
            answers.append(self.normalise(op, answer if read is None else read()))
        return answers

    @contextmanager
    def _watched(self, calls: Calls) -> Iterator[None]:
        watch: _Watch | None = getattr(_here, "watch", None)
        assert watch is not None
        watch.calls, watch.since = calls, time.monotonic()
        yield
        watch.since = None
        if watch.is_given_up:
            raise _GivenUp

    def supervised(self, work: Callable[[], T]) -> T:
        """What `work` gives, in a thread of its own, whose calls of the object are watched. If one does not return in
        time, the thread is given up, and the work begins again with the knowledge that this call waits.
        """
        if getattr(_here, "watch", None) is not None:
            return work()
        while True:
            watch = _Watch()
            done: list[tuple[Any, BaseException | None]] = []
            context = copy_context()
            thread = threading.Thread(
                target=context.run, args=(_work, work, watch, done), daemon=True, name="stress-alone"
            )
            try:
                thread.start()
                self._attend(thread, watch)
            except BaseException:  # an interruption: the thread ends with its present call, or with its search
                watch.is_given_up = True
                end_of((thread,), _TO_END)
                raise
            if done:
                result, error = done[0]
                if error is not None:
                    raise error
                return result  # type: ignore[no-any-return]
            self._given_up.append((thread, watch))
            self._gave_up(watch.calls)

    def _attend(self, thread: threading.Thread, watch: _Watch) -> None:
        """Return when the thread has ended, or is given up."""
        since, looks, began = watch.since, 0, 0.0
        while thread.is_alive():
            thread.join(self._patience / _LOOKS)
            sleeps, busy = rest_of(thread.native_id)
            now = watch.since  # read once: the other thread goes on
            if now is None or now != since:  # another call
                since, looks, began = now, 0, busy
                continue
            looks = looks + 1 if sleeps else 0
            seconds = time.monotonic() - now
            has_slept = looks >= _LOOKS and seconds > (self._patience if watch.calls else _TO_MAKE)
            if has_slept or busy - began > _BUSY * self._patience or seconds > _STARVED:
                watch.is_given_up = thread.is_alive()
                return

    def _gave_up(self, calls: Calls) -> None:
        if not calls:
            raise SpecError(
                "the factory does not return if one thread calls it alone: let it make the object without waiting"
            )
        self._waiting += 1
        if self._waiting > _MOST_WAITING:
            raise SpecError(
                f"{told(calls[-1])} waits for other threads so often that a specification must say what it waits for"
            )
        self._known[calls] = WAITS


_here = threading.local()


class _Watch:
    """The work of a thread: the calls that it makes, the time since the last of them, and whether it was given up."""

    def __init__(self) -> None:
        self.calls: Calls = ()
        self.since: float | None = None
        self.is_given_up = False


class _GivenUp(BaseException):
    """The thread is no longer waited for."""


def _work(work: Callable[[], Any], watch: _Watch, done: list[tuple[Any, BaseException | None]]) -> None:
    _here.watch = watch
    try:
        result = work()
    except _GivenUp:
        return
    except BaseException as error:  # noqa: BLE001 - the thread that waits for it raises it
        done.append((None, error))
    else:
        done.append((result, None))
