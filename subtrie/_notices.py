"""Change notices: somebody is interested in a filter now, nobody is any more.

Whoever makes a filter's first subscription, or takes its last, puts the filter's name on a list. The first to put one
there also delivers what is on it, until it is empty; others go on at once. To deliver a filter is to look whether it
has subscribers now, and to tell the listener if that is not what it was told last. So notices come one at a time, those
of one filter are told in turn as True, False, True, what comes and goes in between is left out, and in the end the
listener knows what the trie has: every change is followed by a look.

    waiting: None                     nobody delivers
             BUSY                     somebody delivers, and the list is empty
             (filter, rest)           somebody delivers; filter and those in the rest wait
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ctrie._slot import Slot, compare_and_set, initialise, load

BUSY = "busy"

Listener = Callable[[str, bool], object]
IsWanted = Callable[[str], bool]


class Notices:
    """The notices of one trie."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._waiting: Any = Slot.__new__(Slot)
        initialise(self._waiting, None)
        self._told: set[str] = set()  # wanted, by what the listener knows; only who delivers touches it

    def changed(self, filter: str | None, is_wanted: IsWanted) -> None:
        """Say that interest in `filter` has come or gone; None: in any of them. `is_wanted` tells whether a filter has
        subscribers at the moment; it is not kept, so that the trie and its notices are no cycle."""
        # Progress: a round that does not return found that another thread has put something on the list.
        while True:
            waiting = load(self._waiting)
            # Success: the filter will be looked at, by us if nobody delivers. Failure: others were first.
            if compare_and_set(self._waiting, waiting, (filter, BUSY if waiting is None else waiting)):
                break
        if waiting is None:
            self._deliver(is_wanted)

    def _deliver(self, is_wanted: IsWanted) -> None:
        raised: list[Exception] = []
        # Progress: each round tells something, or found that another thread has put something on the list.
        while True:
            waiting = load(self._waiting)
            if waiting is BUSY:
                # Success: whoever comes next delivers. Failure: somebody has put something on the list.
                if compare_and_set(self._waiting, BUSY, None):
                    break
            # Success: what was on the list is ours. Failure: it is longer by now.
            elif compare_and_set(self._waiting, waiting, BUSY):
                self._tell(waiting, is_wanted, raised)
        if raised:
            raise raised[0]

    def _tell(self, waiting: Any, is_wanted: IsWanted, raised: list[Exception]) -> None:
        filters: list[str | None] = []
        while waiting is not BUSY:
            filter, waiting = waiting
            filters.append(filter)
        for filter in reversed(filters):
            for each in list(self._told) if filter is None else [filter]:
                wanted = is_wanted(each)
                if wanted is (each in self._told):
                    continue
                (self._told.add if wanted else self._told.discard)(each)
                try:
                    self._listener(each, wanted)
                except Exception as error:  # noqa: BLE001 (raised when all others have been told)
                    raised.append(error)
