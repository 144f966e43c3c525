# C types for _tally.py, and the C bodies of what every change calls.
cimport cython
from libc.stdint cimport int64_t

cdef extern from "tally.h":
    ctypedef struct tally:
        pass
    enum:
        BEGUN "TALLY_BEGUN"
        DONE "TALLY_DONE"
        ITEMS "TALLY_ITEMS"
        FILTERS "TALLY_FILTERS"
        DOUBTS "TALLY_DOUBTS"
        FILTER_DOUBTS "TALLY_FILTER_DOUBTS"
        TELLS "TALLY_TELLS"
    void tally_free(tally *t)
    void tally_add(tally *t, int count, int64_t more)
    int64_t tally_sum(tally *t, int count)


cdef class Tally:
    cdef tally counts


cdef class Counts:
    cdef int64_t begun
    cdef int64_t pending
    cdef int64_t items
    cdef int64_t filters
    cdef int64_t doubts
    cdef int64_t filter_doubts


cdef inline void free_counts(Tally t) noexcept:
    tally_free(&t.counts)


cdef inline void add_to(Tally t, int count, int64_t more) noexcept:
    tally_add(&t.counts, count, more)


cdef inline int64_t sum_of(Tally t, int count) noexcept:
    return tally_sum(&t.counts, count)


cdef inline void begin_change(Tally t) noexcept:
    add_to(t, BEGUN, 1)


cdef inline void end_change(Tally t, int64_t items, int64_t filters) noexcept:
    if items:
        add_to(t, ITEMS, items)
    if filters:
        add_to(t, FILTERS, filters)
    add_to(t, DONE, 1)


cdef void end_with_doubts(Tally t, int64_t items, int64_t filters, int64_t doubts, int64_t filter_doubts) noexcept
cdef void end_in_doubt(Tally t) noexcept
@cython.locals(counts=Counts)
cpdef Counts read(Tally t)
cdef bint has_changed(Tally t, Counts before) noexcept
cpdef Tally taken_over(Tally t, Counts before)
cdef Counts begin_clear(Tally t)
cdef void end_clear(Tally t, Counts before, bint cleared) noexcept
cpdef object approximate_length(Tally t, bint filters, object count)
cpdef object length(Tally t, object count)
@cython.locals(number=int64_t)
cdef object counted(Tally t, bint filters, object count)
