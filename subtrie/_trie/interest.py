# distutils: extra_compile_args = SMALL
# cython: nonecheck=True

"""Change notices: a filter has got its first subscriber, or has lost its last; or one of its groups has.

A thread that makes a filter's first subscription, or removes its last, puts the filter on a list. Then it becomes the
deliverer, unless another thread is. The deliverer works until the list is empty, ceases, and checks the list once more:
other threads may have put filters on it meanwhile. To deliver a filter means to look whether it has subscribers now,
and to tell the listener if that differs from what it was told last. So notices come one at a time. Those of one filter
alternate: True, False, True; short-lived changes in between are left out. In the end the listener knows the state of
the trie, since every change is followed by a look.

An exception that is not an `Exception` (Ctrl-C), or a lack of memory, ends the delivery. What was not told then waits
for the next change, whichever it is. If it was the listener that was interrupted, it is told again.

A thread that a fork has left behind is no deliverer. In the child, a notice that was under way counts as told: its
listener may wait for something that does not exist there.

    waiting:   the Watched that wait, as duties (duties.py)
    deliverer: None    nobody delivers
               Doer    this thread does; only it uses the filters that were drained from the list, and those told
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._slot import Slot, compare_and_set, initialise, load
    from ctrie._thread_owner import Doer
    from subtrie._trie.duties import Duties, Duty

Watched = str | tuple[str, str | None]
"""What the listener is told about: a filter; or (filter, group), with None for the subscribers in no group."""

Listener = Callable[..., object]
IsWanted = Callable[[Watched], bool]


class Notices:
    """The notices of one trie: of its filters, or of their groups."""

    of_groups: bool
    _listener: Listener
    _waiting: Duties
    _deliverer: Slot
    # Only the delivering thread changes these two:
    _drained: deque[Watched | None]
    _told: set[Watched]  # what the listener knows as wanted

    def __init__(self, listener: Listener, of_groups: bool) -> None:
        name = "on_group_interest" if of_groups else "on_interest"
        if not callable(listener):
            raise TypeError(f"{name} must be callable or None, not {type(listener).__name__}")
        from inspect import iscoroutinefunction  # only now: it takes longer to import than this package

        if iscoroutinefunction(listener) or iscoroutinefunction(getattr(listener, "__call__", None)):  # noqa: B004
            raise TypeError(f"{name} must be a function that is called, not one that is awaited: nobody awaits it")
        self.of_groups = of_groups
        self._listener = listener
        self._waiting = Duties()
        self._deliverer = Slot.__new__(Slot)
        initialise(self._deliverer, None)
        self._drained = deque()
        self._told = set()

    def is_any_left(self) -> bool:
        """Return whether a notice may wait: on the list, or because a delivery was interrupted."""
        return self._waiting.first() is not None or len(self._drained) > 0

    def put(self, notice: Duty) -> None:
        """Let the next delivery look at the filter that is this duty; None: every filter may have lost its last
        subscriber. Twice does no harm."""
        self._waiting.put(notice)

    def deliver(self, is_wanted: IsWanted) -> Exception | None:
        """Tell the listener what waits; return what it raised first. `is_wanted` tells whether a filter has subscribers
        now. It is not kept, so that the trie and its notices form no cycle."""
        me = Doer()
        try:
            return self._deliver_as(me, is_wanted)
        finally:
            self._cease_to_deliver(me)  # in the interpreted twin, Ctrl-C may have come before it was left

    def _deliver_as(self, me: Doer, is_wanted: IsWanted) -> Exception | None:
        raised: Exception | None = None
        # Progress: each round delivers what is on the list.
        while self.is_any_left():
            try:
                if not self._begin_to_deliver(me):
                    break
                while self._drained or self._drain_list():
                    error = self._look(is_wanted)
                    raised = raised or error
            finally:
                self._cease_to_deliver(me)
        return raised

    def _begin_to_deliver(self, me: Doer) -> bool:
        """Return whether we deliver. If not, the deliverer will check the list again."""
        doer: Any = load(self._deliverer)
        if doer is not None and not doer.is_left_behind():
            return False
        # Success: we deliver. Failure: another thread does, and began after we had put our filter on the list.
        return compare_and_set(self._deliverer, doer, me)

    def _cease_to_deliver(self, me: Doer) -> None:
        # Success: the next thread delivers. Failure: we were not the deliverer.
        compare_and_set(self._deliverer, me, None)

    def _drain_list(self) -> bool:
        """Drain the list, the oldest first, and return whether there was anything."""
        # Progress: a round that does not return found that another thread has put a filter on the list.
        while (first := self._waiting.first()) is not None:
            duty: Any = first
            while duty is not None:
                self._drained.appendleft(duty.what)
                duty = duty.rest
            # Success: the filters on the list are ours. Failure: the list is longer by now, and is drained again.
            if self._waiting.drain(first):
                return True
            self._drained.clear()
        return False

    def _look(self, is_wanted: IsWanted) -> Exception | None:
        """Look at the first filter that was drained, and return what the listener raises. If the look fails, or the
        listener is interrupted, the filter stays there."""
        raised: Exception | None = None
        watched = self._drained[0]
        if watched is None:
            self._drained.extend(self._told)
        elif (wanted := is_wanted(watched)) != (watched in self._told):
            try:
                self._note_told(watched, wanted)
                if self.of_groups:
                    self._listener(watched[0], watched[1], wanted)
                else:
                    self._listener(watched, wanted)
            except BaseException as error:
                if not isinstance(error, Exception) or isinstance(error, MemoryError):
                    self._note_told(watched, not wanted)
                    raise
                raised = error
        self._drained.popleft()
        return raised

    def _note_told(self, watched: Watched, wanted: bool) -> None:
        if wanted:
            self._told.add(watched)
        else:
            self._told.discard(watched)
