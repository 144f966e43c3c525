"""The compiled twin of _tally.py, which explains it; the counts are in tally.h."""


cdef class Tally:
    """How many things are in a trie."""

    def __dealloc__(self):
        tally_free(&self.counts)


cdef class Counts:
    """What a tally said."""


cdef void end_with_doubts(Tally t, int64_t items, int64_t filters, int64_t doubts, int64_t filter_doubts) noexcept:
    """The same as `end_change`, and change the numbers of doubts."""
    tally_add(&t.counts, TALLY_DOUBTS, doubts)
    tally_add(&t.counts, TALLY_FILTER_DOUBTS, filter_doubts)
    end_change(t, items, filters)


cdef void end_in_doubt(Tally t) noexcept:
    """A change has raised: nobody knows whether it was made."""
    if <PyObject *>t != Py_None:
        end_with_doubts(t, 0, 0, 1, 1)


cpdef Counts read(Tally t):
    """Return what a tally says now."""
    cdef Counts counts = Counts.__new__(Counts)
    cdef int64_t done = tally_sum(&t.counts, TALLY_DONE)       # first, and those begun last
    counts.items = tally_sum(&t.counts, TALLY_ITEMS)
    counts.filters = tally_sum(&t.counts, TALLY_FILTERS)
    counts.doubts = tally_sum(&t.counts, TALLY_DOUBTS)
    counts.filter_doubts = tally_sum(&t.counts, TALLY_FILTER_DOUBTS)
    counts.begun = tally_sum(&t.counts, TALLY_BEGUN)
    counts.pending = counts.begun - done
    return counts


cdef inline bint has_changed(Tally t, Counts before) noexcept:
    # Of `before`, those that are begun or pending are not the same if a change has begun or ended meanwhile.
    cdef int64_t done = tally_sum(&t.counts, TALLY_DONE)
    return tally_sum(&t.counts, TALLY_BEGUN) != before.begun or done != before.begun - before.pending


cpdef Tally taken_over(Tally t, Counts before):
    """Return a tally for a content that was taken over after `before` was read. O(1)."""
    cdef Tally copy = Tally.__new__(Tally)
    begin_change(copy)
    if before.pending or has_changed(t, before):
        end_with_doubts(copy, before.items, before.filters, 1, 1)
    else:
        end_with_doubts(copy, before.items, before.filters, before.doubts, before.filter_doubts)
    return copy


cdef Counts begin_clear(Tally t):
    """A `clear` begins. O(1)."""
    begin_change(t)
    try:
        return read(t)
    except BaseException:
        end_change(t, 0, 0)
        raise


cdef void end_clear(Tally t, Counts before, bint cleared) noexcept:
    """It has ended; if not `cleared`, it has raised. O(1)."""
    if not cleared:
        end_in_doubt(t)
    elif before.pending > 1 or has_changed(t, before):
        end_with_doubts(t, 0, 0, 1, 1)
    else:
        end_with_doubts(t, -before.items, -before.filters, -before.doubts, -before.filter_doubts)


cpdef object known(Tally t, bint filters, object count):
    """Return the number of items, or of filters. O(1), unless it is in doubt: then `count` tells it, and if no change
    is in progress meanwhile, it is known from then on."""
    cdef Counts before
    if <PyObject *>t == Py_None:        # the collector has cleared its trie
        return count()
    before = read(t)
    if (before.filter_doubts if filters else before.doubts) == 0:
        return before.filters if filters else before.items
    return counted(t, filters, count)


cpdef object exact(Tally t, object count):
    """Return the number of items of one instant: O(1) while nothing is changed, otherwise `count` tells it."""
    cdef Counts before
    if not TALLY_TELLS or <PyObject *>t == Py_None:     # the collector has cleared its trie
        return count()
    before = read(t)
    if before.pending == 0 and before.doubts == 0:
        return before.items
    return count() if before.pending else counted(t, False, count)


cdef object counted(Tally t, bint filters, object count):
    """Return what `count` tells; if no change is in progress meanwhile, it is known from then on."""
    cdef int64_t number, more = 0, less = 0
    cdef Counts before
    begin_change(t)
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
