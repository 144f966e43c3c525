"""Change notices: somebody is interested in a filter now, nobody is any more.

Whoever makes a filter's first subscription, or takes its last, puts the filter's name on a list, and delivers what is
on it unless somebody else is at that. Who delivers goes on until the list is empty, then leaves the place, and looks
once more: what others put on the list while the place was taken is his to deliver. To deliver a filter is to look
whether it has subscribers now, and to tell the listener if that is not what it was told last. So notices come one at a
time, those of one filter are told in turn as True, False, True, what comes and goes in between is left out, and in the
end the listener knows what the trie has: every change is followed by a look.

What is not an `Exception` (Ctrl-C), or is raised by the look itself (no memory, no stack), ends the delivery. The place
is left then, too, and what has not been looked at waits for whoever delivers next. Nothing is lost between two steps:
what is taken off the list is noted before it is taken, and a notice is under way from before the listener is called
until it has returned. A notice that was cut off before the listener began is told again; where it was the listener that
was cut off, it has been told. Steps that must not be left out are tried a second time where Ctrl-C may have come before
them.

Nor is the place taken for ever by a thread that was left behind by a fork. In the child a notice that was under way
counts as told: its listener may wait for what is not there any more.

    waiting: None               the list is empty
             (filter, rest)     filter and those in the rest wait
    place:   None               nobody delivers
             Doer               that thread does; what others have taken off the list, and told, is its alone
"""

from __future__ import annotations

import opcode
from collections import deque
from collections.abc import Callable
from typing import Any

from ctrie._slot import Slot, compare_and_set, initialise, load
from ctrie._thread_owner import Doer

_RESUME = opcode.opmap["RESUME"]

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
        # Only who delivers touches these three:
        self._taken: deque[str | None] = deque()
        self._told: set[str] = set()  # wanted, by what the listener knows
        self._under_way: tuple[str, bool] | None = None  # what the listener is being told

    def changed(self, filter: str | None, is_wanted: IsWanted) -> None:
        """Say that interest in `filter` has come or gone; None: in any of them. `is_wanted` tells whether a filter has
        subscribers at the moment; it is not kept, so that the trie and its notices are no cycle."""
        self.put_on_list(filter)
        raised: list[Exception] = []
        me = Doer()
        try:
            self._deliver_as(me, is_wanted, raised)
        finally:
            self._leave_place(me)
        if raised:
            raise raised[0]

    def _deliver_as(self, me: Doer, is_wanted: IsWanted, raised: list[Exception]) -> None:
        try:
            # Progress: each round delivers what is on the list.
            while load(self._waiting) is not None and self._take_place(me):
                self._deliver(is_wanted, raised)
                self._leave_place(me)
        finally:
            self._leave_place(me)

    def put_on_list(self, filter: str | None) -> None:
        """Have whoever delivers next look at `filter`. Twice is as good as once."""
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
        if not compare_and_set(self._place, doer, me):
            return False
        if doer is not None:
            self._under_way = None  # it counts as told here
        return True

    def _leave_place(self, me: Doer) -> None:
        # Success: whoever comes next delivers. Failure: the place was not ours.
        compare_and_set(self._place, me, None)

    def _deliver(self, is_wanted: IsWanted, raised: list[Exception]) -> None:
        if self._under_way is not None:
            filter, wanted = self._under_way
            self._note_told(filter, not wanted)  # as if it had not been told, which may be
            self._taken.append(filter)
            self._under_way = None
        # Progress: each round tells something, or found that another thread has put something on the list.
        while True:
            while self._taken:
                self._look(is_wanted, raised)
            waiting = load(self._waiting)
            if waiting is None:
                return
            self._taken.extend(_in_turn(waiting))
            # Success: what was on the list is ours. Failure: it is longer by now, and what was taken will be again.
            if not compare_and_set(self._waiting, waiting, None):
                self._taken.clear()

    def _look(self, is_wanted: IsWanted, raised: list[Exception]) -> None:
        """Look at the first of what was taken off the list. If that raises, it is still to be looked at."""
        filter = self._taken[0]
        if filter is None:
            self._taken.extend(self._told)
            self._taken.popleft()
            return
        wanted = is_wanted(filter)
        if wanted is not (filter in self._told):
            self._under_way = filter, wanted
            self._note_told(filter, wanted)
            try:
                self._listener(filter, wanted)
            except Exception as error:  # noqa: BLE001 (raised when all others have been told)
                raised.append(error)
            except BaseException as error:
                if _had_begun(error):
                    self._under_way = None
                    self._taken.popleft()
                raise
            self._under_way = None
        self._taken.popleft()

    def _note_told(self, filter: str, wanted: bool) -> None:
        (self._told.add if wanted else self._told.discard)(filter)


def _had_begun(error: BaseException) -> bool:
    """Tell whether the listener had begun when it was cut off. Signals are looked for when a function's frame is
    entered, at its first instruction, RESUME; nothing of the listener has run then."""
    below = None if error.__traceback__ is None else error.__traceback__.tb_next
    return below is not None and below.tb_frame.f_code.co_code[below.tb_lasti] != _RESUME


def _in_turn(waiting: Any) -> list[str | None]:
    """Return what is on the list, the oldest first."""
    filters = []
    while waiting is not None:
        filter, waiting = waiting
        filters.append(filter)
    return filters[::-1]
