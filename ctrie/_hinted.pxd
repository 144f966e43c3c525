# C types for _hinted.py, and the bodies of its shortest functions.
cimport cython
from libc.stdint cimport int64_t

from ctrie._tally cimport Counts, Tally, read

cdef extern from *:
    """
    #define relaxed_load(place) __atomic_load_n(place, __ATOMIC_RELAXED)
    #define relaxed_store(place, value) __atomic_store_n(place, value, __ATOMIC_RELAXED)
    """
    int64_t relaxed_load(int64_t *place) noexcept
    void relaxed_store(int64_t *place, int64_t value) noexcept


@cython.final
cdef class HintedIterator:
    cdef object _items
    cdef int64_t _left


cdef inline void take_one(HintedIterator iterator) noexcept:
    cdef int64_t left = relaxed_load(&iterator._left)
    if left > 0:
        relaxed_store(&iterator._left, left - 1)


cdef inline int64_t left_in(HintedIterator iterator) noexcept:
    return relaxed_load(&iterator._left)


@cython.locals(counts=Counts)
cdef HintedIterator hinted(object items, Tally tally)
