"""Change notices: somebody is interested in a filter now, nobody is any more.

Whoever makes a filter's first subscription, or takes its last, puts the filter's name on a list, and delivers what is
on it unless somebody else is at that. Who delivers goes on until the list is empty, then leaves the place, and looks
once more: what others put on the list while the place was taken is his to deliver. To deliver a filter is to look
whether it has subscribers now, and to tell the listener if that is not what it was told last. So notices come one at a
time, those of one filter are told in turn as True, False, True, what comes and goes in between is left out, and in the
end the listener knows what the trie has: every change is followed by a look.

What is not an `Exception` (Ctrl-C), or is raised by the look itself (no memory, no stack), ends the delivery. The place
is left then, too, and what has not been looked at waits for whoever delivers next. Nor is the place taken for ever by a
thread that was left behind by a fork.

    waiting: None               the list is empty
             (filter, rest)     filter and those in the rest wait
    place:   None               nobody delivers
             Doer               that thread does; what others have taken off the list, and told, is its alone
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ctrie._slot import Slot, compare_and_set, initialise, load
from ctrie._thread_owner import Doer

Listener = Callable[[str, bool], object]
IsWanted = Callable[[str], bool]


class Notices:
    """The notices of one trie."""

    def __init__(self, listener: Listener) -> None:
        if not callable(listener):
            raise TypeError(f"on_interest must be callable or None, not {type(listener).__name__}")
        self._listener = listener
        self._waiting: Any = Slot.__new__(Slot)
        initialise(self._waiting, None)
        self._place: Any = Slot.__new__(Slot)
        initialise(self._place, None)
        # Only who delivers touches these two:
        self._taken: deque[str | None] = deque()
        self._told: set[str] = set()  # wanted, by what the listener knows

    def changed(self, filter: str | None, is_wanted: IsWanted) -> None:
        """Say that interest in `filter` has come or gone; None: in any of them. `is_wanted` tells whether a filter has
        subscribers at the moment; it is not kept, so that the trie and its notices are no cycle."""
        self._put_on_list(filter)
        raised: list[Exception] = []
        me = Doer()
        try:
            # Progress: each round delivers what is on the list.
            while load(self._waiting) is not None and self._take_place(me):
                self._deliver(is_wanted, raised)
                self._leave_place(me)
        finally:
            self._leave_place(me)
        if raised:
            raise raised[0]

    def _put_on_list(self, filter: str | None) -> None:
        # Progress: a round that does not return found that another thread has changed the list.
        while True:
            waiting = load(self._waiting)
            # Success: whoever has the place looks at the list before leaving it for good, and so shall we.
            if compare_and_set(self._waiting, waiting, (filter, waiting)):
                return

    def _take_place(self, me: Doer) -> bool:
        """Tell whether the place is ours. If not, whoever has it has yet to look at the list again."""
        doer = load(self._place)
        if doer is not None and not doer.is_left_behind():
            return False
        # Success: we deliver. Failure: another thread does, and took the place after we had put something on the list.
        return compare_and_set(self._place, doer, me)

    def _leave_place(self, me: Doer) -> None:
        # Success: whoever comes next delivers. Failure: the place was not ours.
        compare_and_set(self._place, me, None)

    def _deliver(self, is_wanted: IsWanted, raised: list[Exception]) -> None:
        # Progress: each round tells something, or found that another thread has put something on the list.
        while True:
            while self._taken:
                self._look(is_wanted, raised)
            waiting = load(self._waiting)
            if waiting is None:
                return
            # Success: what was on the list is ours. Failure: it is longer by now.
            if compare_and_set(self._waiting, waiting, None):
                filters = []
                while waiting is not None:
                    filter, waiting = waiting
                    filters.append(filter)
                self._taken.extend(reversed(filters))

    def _look(self, is_wanted: IsWanted, raised: list[Exception]) -> None:
        """Look at the first of what was taken off the list. If that raises, it is still to be looked at."""
        filter = self._taken[0]
        if filter is None:
            self._taken.popleft()
            self._taken.extendleft(self._told)
            return
        wanted = is_wanted(filter)
        self._taken.popleft()
        if wanted is (filter in self._told):
            return
        (self._told.add if wanted else self._told.discard)(filter)
        try:
            self._listener(filter, wanted)
        except Exception as error:  # noqa: BLE001 (raised when all others have been told)
            raised.append(error)
