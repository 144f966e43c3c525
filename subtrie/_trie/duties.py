# distutils: extra_compile_args = SMALL
# cython: nonecheck=True

"""What a change leaves to be done after its compare-and-set: a list to which a duty is added without any memory.

A notice to give, or a filing to strike, follows a change that other threads can see already. It must not be lost if
there is no memory for it, or if a user's `__eq__` raises there, nor may the call fail, since the change stands. So a
`Duty` is made before the change. To put it on the list afterwards allocates nothing, and the next change takes it off
and does it.

In the interpreted twin there may be no memory even for the call that puts it there. So a change of that twin names its
duty before it begins, and strikes it when it is over (`follow`). If it ends without memory, it marks the duty as
failed, which takes none, and the next change does it.

    first: None     there is none
           a Duty   the last one that was put there; its `rest` is the one before it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._slot import Slot, compare_and_set, initialise, load

_ON_NO_LIST: Any = object()
LACKING = (MemoryError, RecursionError)
"""How a call ends that lacks memory or stack. An except clause that names several would need memory to make this."""


class Duty:
    """One thing to do. Its maker may add a `detail` until the duty is on a list."""

    __slots__ = ("detail", "failed", "rest", "what")

    def __init__(self, what: Any, detail: Any = None) -> None:
        self.what = what
        self.detail = detail
        self.failed = False
        self.rest: Any = _ON_NO_LIST


class Duties:
    """Duties that wait."""

    __slots__ = ("_expected", "_failed", "_first")
    _first: Slot
    _expected: dict[Duty, None]  # those of changes that have begun, and of such as have failed
    _failed: bool  # whether one of them may have: True after its own mark, False before a look at all

    def __init__(self) -> None:
        self._first = Slot.__new__(Slot)
        initialise(self._first, None)
        self._expected = {}
        self._failed = False

    def is_any(self) -> bool:
        """Return whether a duty waits."""
        return self._failed or load(self._first) is not None

    def follow(self, duty: Duty, change: Callable[..., None], *arguments: Any) -> None:
        """Call a change of the interpreted twin that this duty may follow. What ends without memory may have been made,
        and its duty be on no list."""
        self._expected[duty] = None
        try:
            change(*arguments)
        except LACKING:  # no `finally` is within: one that raises without memory may let 3.13 pass by handlers
            duty.failed = self._failed = True  # from left to right
            raise
        finally:
            if not duty.failed:
                del self._expected[duty]

    def put(self, duty: Duty) -> None:
        """Add a duty. One that Ctrl-C may have left on the list already is added as another one, which does no harm."""
        if duty.rest is not _ON_NO_LIST:
            duty = Duty(duty.what, duty.detail)
        # Progress: a round that does not return found that another thread has changed the list.
        while True:
            first = load(self._first)
            duty.rest = first
            # Success: it is the first. Failure: the list was changed meanwhile.
            if compare_and_set(self._first, first, duty):
                return

    def first(self) -> Duty | None:
        """Return the last one that was put there."""
        if self._failed:
            self._put_failed()
        duty: Duty | None = load(self._first)
        return duty

    def _put_failed(self) -> None:
        self._failed = False
        try:
            for duty in list(self._expected):
                if duty.failed:
                    self.put(duty)
                    self._expected.pop(duty, None)  # another thread may have found it, too
        except BaseException:
            self._failed = True
            raise

    def take(self, first: Duty | None) -> bool:
        """Empty the list if `first` is still its first; then this one and its `rest` are the caller's."""
        # Success: no other thread has them. Failure: another one was put there, or another thread has taken them.
        return compare_and_set(self._first, first, None)

    def do_all(self, do: Any) -> None:
        """Call `do` with each duty. One for which that raises goes back to the list: its error is not that of the
        caller, whose own change has nothing to do with it."""
        duty = self.first()
        if not self.take(duty):
            return  # they are left to the next change
        while duty is not None:
            following = duty.rest
            duty.rest = _ON_NO_LIST
            try:
                do(duty)
            except BaseException as error:
                self.put(duty)
                if not isinstance(error, Exception):
                    self._put_back(following)
                    raise
            duty = following

    def _put_back(self, duty: Duty | None) -> None:
        while duty is not None:
            following = duty.rest
            duty.rest = _ON_NO_LIST
            self.put(duty)
            duty = following
