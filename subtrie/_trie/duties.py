# distutils: extra_compile_args = SMALL
# cython: nonecheck=True

"""What a change leaves to be done after its compare-and-set: a list to which a duty is added without any memory.

A notice to give, or a filing to strike, follows a change that other threads can see already. So a `Duty` is made before
the change. To put it on the list afterwards allocates nothing. Whoever drains the list has all that is on it.

    first: None     there is none
           a Duty   the last one that was put there; its `rest` is the one before it
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._slot import Slot, compare_and_set, initialise, load


@cython.trashcan(True)
@cython.cclass
class Duty:
    """One thing to do."""

    __slots__ = ("rest", "what")

    def __init__(self, what: Any) -> None:
        self.what = what
        self.rest: Any = None


class Duties:
    """Duties that wait."""

    __slots__ = ("_first",)
    _first: Slot

    def __init__(self) -> None:
        self._first = Slot.__new__(Slot)
        initialise(self._first, None)

    def first(self) -> Duty | None:
        """Return the last one that was put there."""
        duty: Duty | None = load(self._first)
        return duty

    def put(self, duty: Duty) -> None:
        """Add a duty that is on no list."""
        # Progress: a round that does not return found that another thread has changed the list.
        while True:
            first = load(self._first)
            duty.rest = first
            # Success: it is the first. Failure: the list was changed meanwhile.
            if compare_and_set(self._first, first, duty):
                return

    def drain(self, first: Duty | None) -> bool:
        """Empty the list if `first` is still its first; then this one and its `rest` are the caller's."""
        # Success: no other thread has them. Failure: another one was put there, or another thread has drained it.
        return compare_and_set(self._first, first, None)

    def do_all(self, do: Callable[[Duty], object]) -> None:
        """Call `do` with each duty. One for which that raises goes back to the list: its error is not that of the
        caller, whose own change has nothing to do with it, unless it is Ctrl-C."""
        duty = self.first()
        if not self.drain(duty):
            return  # they are left to the next change
        interrupted: BaseException | None = None
        while duty is not None:
            following = duty.rest
            try:
                do(duty)
            except BaseException as error:  # noqa: BLE001 (raised after the others have been done)
                self.put(duty)
                if not isinstance(error, Exception):
                    interrupted = error
            duty = following
        if interrupted is not None:
            raise interrupted
