"""Tallies: how many keys or subscriptions are in a trie, and how many filters, without looking at them.

A change counts itself as begun before it is committed, and adds to the counts, and counts itself as done, afterwards.
So the counts are exact at any moment when as many are done as were begun. Threads count in different places, so that
they do not write in the same ones; a tally is the sum.

What replaces the whole content (a snapshot, `clear`) takes the counts along. That is exact if no change was in progress
meanwhile, which the numbers of those begun and done tell. Otherwise the tally is in doubt, and the next one who asks
counts the content once (`approximate_length`).

The counts are no slots: they decide nothing, and no answer but a number depends on them. If each change wrote to one
slot more, all changes would depend on one another, and the explorer could leave out no schedule. So it explores a
length that counts; the other one (`length`) rests on the argument given there, and on tests with threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import cython


class Tally:
    """How many things are in a trie."""

    if cython.compiled:

        def __dealloc__(self) -> None:
            free_counts(self)  # noqa: F821 (of _tally.pxd)
    else:
        __slots__ = ("cells", "own")
        cells: list[list[int]]  # the counts of each thread
        own: threading.local

        def __init__(self) -> None:
            self.cells, self.own = [], threading.local()


class Counts:
    """What a tally said: how many changes had begun, and how many of these were not done; items and filters; and the
    doubts about each."""

    __slots__ = ("begun", "doubts", "filter_doubts", "filters", "items", "pending")
    begun: int
    pending: int
    items: int
    filters: int
    doubts: int
    filter_doubts: int


if not cython.compiled:  # the C bodies are in _tally.pxd
    TELLS = True  # False where schedules are explored: slots are taken back after an execution, and counts are not
    BEGUN, DONE, ITEMS, FILTERS, DOUBTS, FILTER_DOUBTS = range(6)

    def add_to(t: Tally, count: int, more: int) -> None:
        """Add to one of the counts, in the place of this thread."""
        cell = getattr(t.own, "cell", None)
        if cell is None:
            cell = [0] * 6
            t.cells.append(cell)  # first: were there no memory for it, what this thread counts would never be read
            t.own.cell = cell
        cell[count] += more

    def sum_of(t: Tally, count: int) -> int:
        """Return one of the counts."""
        return sum(cell[count] for cell in list(t.cells))

    def begin_change(t: Tally) -> None:
        """A change begins, which may be committed any time from now on."""
        add_to(t, BEGUN, 1)

    def end_change(t: Tally, items: int, filters: int) -> None:
        """A change has been made, or given up. It has added so many."""
        add_to(t, ITEMS, items)
        add_to(t, FILTERS, filters)
        add_to(t, DONE, 1)


def end_with_doubts(t: Tally, items: int, filters: int, doubts: int, filter_doubts: int) -> None:
    """The same as `end_change`, and change the numbers of doubts."""
    add_to(t, DOUBTS, doubts)
    add_to(t, FILTER_DOUBTS, filter_doubts)
    end_change(t, items, filters)


def end_in_doubt(t: Tally) -> None:
    """A change has raised: nobody knows whether it was made."""
    end_with_doubts(t, 0, 0, 1, 1)


def read(t: Tally) -> Counts:
    """Return what a tally says now."""
    counts: Counts = Counts.__new__(Counts)
    done = sum_of(t, DONE)  # first, and those begun last
    counts.items = sum_of(t, ITEMS)
    counts.filters = sum_of(t, FILTERS)
    counts.doubts = sum_of(t, DOUBTS)
    counts.filter_doubts = sum_of(t, FILTER_DOUBTS)
    counts.begun = sum_of(t, BEGUN)
    counts.pending = counts.begun - done
    return counts


def has_changed(t: Tally, before: Counts) -> bool:
    """Tell whether a change has begun or ended since `before` was read."""
    done = sum_of(t, DONE)
    return sum_of(t, BEGUN) != before.begun or done != before.begun - before.pending


def taken_over(t: Tally, before: Counts) -> Tally:
    """Return a tally for a content that was taken over after `before` was read. O(1)."""
    copy = Tally()
    begin_change(copy)
    if before.pending or has_changed(t, before):
        end_with_doubts(copy, before.items, before.filters, 1, 1)
    else:
        end_with_doubts(copy, before.items, before.filters, before.doubts, before.filter_doubts)
    return copy


def begin_clear(t: Tally) -> Counts:
    """A `clear` begins. O(1)."""
    begin_change(t)
    try:
        return read(t)
    except BaseException:
        end_change(t, 0, 0)
        raise


def end_clear(t: Tally, before: Counts, cleared: bool) -> None:
    """It has ended; if not `cleared`, it has raised. O(1)."""
    if not cleared:
        end_in_doubt(t)
    elif before.pending > 1 or has_changed(t, before):
        end_with_doubts(t, 0, 0, 1, 1)
    else:
        end_with_doubts(t, -before.items, -before.filters, -before.doubts, -before.filter_doubts)


def approximate_length(t: Tally, filters: bool, count: Callable[[], int]) -> int:
    """Return the number of items, or of filters. O(1), unless it is in doubt: then `count` tells it, and if no change
    is in progress meanwhile, it is known from then on."""
    before = read(t)
    if (before.filter_doubts if filters else before.doubts) == 0:
        return before.filters if filters else before.items
    return counted(t, filters, count)


def length(t: Tally, count: Callable[[], int]) -> int:
    """Return the number of items of one instant: O(1) while nothing is changed, otherwise `count` tells it.

    Those done are read first, those begun last. If both are as many, then no change was in progress when the last of
    those done was read, nor has one begun before the first of those begun was: in between the content was the same,
    and so were the counts. That is the linearization point."""
    if not TELLS:
        return count()
    before = read(t)
    if before.pending == 0 and before.doubts == 0:
        return before.items
    return count() if before.pending else counted(t, False, count)


def counted(t: Tally, filters: bool, count: Callable[[], int]) -> int:
    """Return what `count` tells; if no change is in progress meanwhile, it is known from then on."""
    begin_change(t)
    more = less = 0
    try:
        before = read(t)
        number = count()
        if before.pending == 1 and not has_changed(t, before):
            more = number - (before.filters if filters else before.items)
            less = before.filter_doubts if filters else before.doubts
    finally:
        if filters:
            end_with_doubts(t, 0, more, 0, -less)
        else:
            end_with_doubts(t, more, 0, -less, 0)
    return number
