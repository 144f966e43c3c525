# C types for dedupe.py, and the bodies of what has pointers.
cimport cython
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool
from libc.stdint cimport uint32_t, uint64_t

from ctrie._machine cimport flag_at
from subtrie._trie.match.buffer cimport buffer

cdef extern from *:
    void Py_DECREF_PTR "Py_DECREF" (PyObject *o)

cdef enum:
    FEW = 16
    REPEATED = 1        # the mark: the lowest bit, which is 0 in an address

ctypedef uint64_t *noted_words
ctypedef uint32_t *numbered


cdef inline bint is_one(uint64_t one, uint64_t other) except -1:
    return one == other or PyObject_RichCompareBool(<object><PyObject *>one, <object><PyObject *>other, Py_EQ)


cdef inline bint is_marked(buffer *subscribers, Py_ssize_t i) noexcept nogil:
    return subscribers.items[i] & REPEATED


cdef inline void mark(buffer *subscribers, Py_ssize_t i) noexcept nogil:
    subscribers.items[i] |= REPEATED


cdef inline void let_go(buffer *subscribers, Py_ssize_t i) noexcept:
    Py_DECREF_PTR(<PyObject *>(subscribers.items[i] & ~<uint64_t>REPEATED))


cdef inline void keep_first(buffer *subscribers, Py_ssize_t count) noexcept nogil:
    subscribers.count = count


cdef inline uint32_t *new_places(Py_ssize_t size) noexcept nogil:
    return <uint32_t *>PyMem_RawCalloc(size, sizeof(uint32_t))


cdef inline void free_places(uint32_t *places) noexcept nogil:
    PyMem_RawFree(places)


cdef int drop_repeated(buffer *subscribers) except -1
@cython.locals(items=noted_words, taken=uint64_t, flag=uint64_t, i=Py_ssize_t)
cdef inline bint _are_distinct(buffer *subscribers) noexcept
@cython.locals(items=noted_words)
cdef inline bint _is_same(buffer *subscribers, Py_ssize_t i, Py_ssize_t j) except -1
@cython.locals(some=bint, i=Py_ssize_t, j=Py_ssize_t)
cdef bint _mark_among_few(buffer *subscribers) except -1
@cython.locals(size=Py_ssize_t, places=numbered, some=bint, i=Py_ssize_t, at=uint64_t)
cdef bint _mark_among_many(buffer *subscribers) except -1
@cython.locals(at=uint64_t)
cdef Py_ssize_t _place_until_taken(
    uint64_t *items, Py_ssize_t i, Py_ssize_t count, uint32_t *places, uint64_t mask
) noexcept
@cython.locals(items=noted_words, kept=Py_ssize_t, i=Py_ssize_t)
cdef void _drop_marked(buffer *subscribers) noexcept
