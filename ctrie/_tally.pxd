# C types for _tally.pyx, and the bodies of what every change calls.
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from ctrie._native cimport Py_None

cdef extern from "tally.h":
    ctypedef struct tally:
        pass
    enum:
        TALLY_BEGUN
        TALLY_DONE
        TALLY_ITEMS
        TALLY_FILTERS
        TALLY_DOUBTS
        TALLY_FILTER_DOUBTS
        TALLY_TELLS
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


cdef inline void begin_change(Tally t) noexcept:
    if <PyObject *>t != Py_None:        # the collector has cleared its trie
        tally_add(&t.counts, TALLY_BEGUN, 1)


cdef inline void end_change(Tally t, int64_t items, int64_t filters) noexcept:
    if <PyObject *>t != Py_None:
        if items:
            tally_add(&t.counts, TALLY_ITEMS, items)
        if filters:
            tally_add(&t.counts, TALLY_FILTERS, filters)
        tally_add(&t.counts, TALLY_DONE, 1)


cdef void end_with_doubts(Tally t, int64_t items, int64_t filters, int64_t doubts, int64_t filter_doubts) noexcept
cdef void end_in_doubt(Tally t) noexcept
cpdef Counts read(Tally t)
cpdef Tally taken_over(Tally t, Counts before)
cdef Counts begin_clear(Tally t)
cdef void end_clear(Tally t, Counts before, bint cleared) noexcept
cpdef object known(Tally t, bint filters, object count)
cpdef object exact(Tally t, object count)
cdef object counted(Tally t, bint filters, object count)
