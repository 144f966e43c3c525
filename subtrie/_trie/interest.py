# distutils: extra_compile_args = SMALL
# cython: nonecheck=True

"""Change notices: a filter has got its first subscriber, or has lost its last; or one of its groups has.

A thread that makes a filter's first subscription, or removes its last, puts the filter on a list. Then it takes the
place of the delivering thread, unless another thread has it. The delivering thread works until the list is empty, gives
up the place, and checks the list once more: other threads may have put filters on it while the place was taken. To
deliver a filter means to look whether it has subscribers now, and to tell the listener if that differs from what it was
told last. So notices come one at a time. Those of one filter alternate: True, False, True; short-lived changes in
between are left out. In the end the listener knows the state of the trie, since every change is followed by a look.

An exception that is not an `Exception` (Ctrl-C), or that the look itself raises (no memory, no stack), ends the
delivery. The place is given up then, too, and filters that were not looked at wait for the next delivering thread.
Without memory a delivery is tried once more; after that it waits for the next change (duties.py), and the change that
it follows does not fail.
Where a delivery of the interpreted twin ends without memory, even its place may not have been given up. So the thread
marks itself as done before it tries, which takes none.
Nothing is lost between two steps: a filter is noted before it is taken off the list, and a notice is under way from
before the listener is called until it has returned. If a notice is interrupted before the listener has begun, it is
told again. If the listener itself is interrupted, it has been told. Steps that must not be left out are tried twice,
since Ctrl-C may have come before them.

A thread that a fork has left behind does not keep the place, either. In the child, a notice that was under way counts
as told: its listener may wait for something that does not exist there.

    waiting: the Watched that wait, as duties (duties.py)
    place:   None               no thread delivers
             Deliverer          this thread delivers; only it uses the filters that were taken off the list and told
                                until it is `done`, without memory
    left:    whether a delivery has ended without memory; it may be True too long, but not False
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import cython

if not cython.compiled:
    from ctrie._slot import Slot, compare_and_set, initialise, load
    from ctrie._thread_owner import Doer
    from subtrie._trie.duties import LACKING, Duties, Duty

_RESUME = compile("0", "", "eval").co_code[0]  # what all code begins with; `opcode` takes long to import

Watched = str | tuple[str, str | None]
"""What the listener is told about: a filter; or (filter, group), with None for the subscribers in no group."""

Listener = Callable[..., object]
IsWanted = Callable[[Watched], bool]


class Deliverer(Doer):
    """A thread that delivers. It is done if its delivery has ended without memory."""

    __slots__ = ("done",)
    done: bool

    def __init__(self) -> None:
        super().__init__()
        self.done = False


class Notices:
    """The notices of one trie: of its filters, or of their groups."""

    of_groups: bool
    _listener: Listener
    _waiting: Duties
    _place: Slot
    _left: Slot  # whether a delivery has ended without memory
    # Only the delivering thread uses these three:
    _taken: deque[Watched | None]
    _told: set[Watched]  # what the listener knows as wanted
    _under_way: tuple[Watched, bool] | None  # the notice that the listener is being told

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
        self._place = Slot.__new__(Slot)
        initialise(self._place, None)
        self._left = Slot.__new__(Slot)
        initialise(self._left, False)
        self._taken = deque()
        self._told = set()
        self._under_way = None

    def is_any_left(self) -> bool:
        """Return whether a notice may wait: on the list, or for the next change to give it, because there was no
        memory."""
        return self._waiting.is_any() or bool(load(self._left))

    def leave(self) -> None:
        """Leave what waits to the next change."""
        # Success: it will look. Failure: it would anyway.
        compare_and_set(self._left, False, True)

    def follow(self, notice: Duty, change: Callable[..., None], *arguments: Any) -> None:
        """Call a change of the interpreted twin that this notice may follow (`Duties.follow`)."""
        self._waiting.follow(notice, change, *arguments)

    def put_on_list(self, duty: Duty) -> None:
        """Let the next delivery look at the filter that is this duty; None: any filter may have got its first
        subscriber or lost its last. Twice does no harm. A thread that has the place checks the list after giving it up,
        and so shall we."""
        self._waiting.put(duty)

    def deliver(self, is_wanted: IsWanted, raised: list[Exception], again: bool) -> None:
        """Tell the listener what waits. Add to `raised` what it raises. `is_wanted` tells whether a filter has
        subscribers now. It is not kept, so that the trie and its notices form no cycle. `again`: there was no memory
        the first time."""
        me = Deliverer()
        try:
            self._deliver_as(me, is_wanted, raised, again)
        except LACKING:
            if not cython.compiled:  # in the compiled twin giving up the place takes no memory
                me.done = True
            raise
        finally:
            self._leave_place(me)

    def _deliver_as(self, me: Deliverer, is_wanted: IsWanted, raised: list[Exception], again: bool) -> None:
        try:
            # Progress: each round delivers what is on the list.
            while self.is_any_left() and self._take_place(me):
                self._deliver(is_wanted, raised, again)
                self._leave_place(me)
        finally:
            self._leave_place(me)

    def _take_place(self, me: Deliverer) -> bool:
        """Return whether we have the place. If not, the thread that has it will check the list again."""
        doer: Any = load(self._place)
        free = doer is None or doer.done
        if not free and not doer.is_left_behind():
            return False
        # Success: we deliver. Failure: another thread does; it took the place after we had put our filter on the list.
        if not compare_and_set(self._place, doer, me):
            return False
        if not free:
            self._under_way = None  # it counts as told here
        return True

    def _leave_place(self, me: Deliverer) -> None:
        # Success: the next thread delivers. Failure: the place was not ours.
        compare_and_set(self._place, me, None)

    def _deliver(self, is_wanted: IsWanted, raised: list[Exception], again: bool) -> None:
        if self._under_way is not None:
            watched, wanted = self._under_way
            self._note_told(watched, not wanted)  # as if it had not been told, which is possible
            self._taken.append(watched)
            self._under_way = None
        # Progress: each round takes filters off the list, or found that another thread has put one on it.
        while True:
            while self._taken:
                self._look(is_wanted, raised, again)
            waiting = self._waiting.first()
            if waiting is None:
                # Success: nothing is left. Failure: nothing was.
                compare_and_set(self._left, True, False)
                return
            self._taken.extend(_in_turn(waiting))
            # Success: the filters on the list are ours. Failure: the list is longer by now, and is taken again.
            if not self._waiting.take(waiting):
                self._taken.clear()

    def _look(self, is_wanted: IsWanted, raised: list[Exception], again: bool) -> None:
        """Look at the first filter that was taken off the list. If that raises, it stays there for the next look."""
        watched = self._taken[0]
        if watched is None:
            self._taken.extend(self._told)
            self._taken.popleft()
            return
        wanted = is_wanted(watched)
        if wanted != (watched in self._told):
            self._under_way = watched, wanted
            self._note_told(watched, wanted)
            try:
                if self.of_groups:
                    self._listener(watched[0], watched[1], wanted)
                else:
                    self._listener(watched, wanted)
            except MemoryError as error:
                if not again or not _had_begun(error):
                    raise  # it is told once more
                raised.append(error)
            except Exception as error:  # noqa: BLE001 (raised after all others have been told)
                raised.append(error)
            except BaseException as error:
                if _had_begun(error):
                    self._under_way = None
                    self._taken.popleft()
                raise
            self._under_way = None
        self._taken.popleft()

    def _note_told(self, watched: Watched, wanted: bool) -> None:
        if wanted:
            self._told.add(watched)
        else:
            self._told.discard(watched)


def _had_begun(error: BaseException) -> bool:
    """Return whether the listener had begun when it was interrupted. Python checks for signals at a function's first
    instruction, RESUME; no code of the listener has run then."""
    below = None if error.__traceback__ is None else error.__traceback__.tb_next
    return below is not None and below.tb_frame.f_code.co_code[below.tb_lasti] != _RESUME


def _in_turn(waiting: Any) -> list[Watched | None]:
    """Return the filters on the list, the oldest first."""
    filters = []
    while waiting is not None:
        filters.append(waiting.what)
        waiting = waiting.rest
    return filters[::-1]
