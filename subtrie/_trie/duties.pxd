# C types for duties.py.
cimport cython

from ctrie._native cimport Slot, compare_and_set, initialise, load

cdef object _ON_NO_LIST
cdef tuple LACKING


@cython.trashcan(True)
cdef class Duty:
    cdef public object what
    cdef public object detail
    cdef public object rest
    cdef public bint failed


cdef class Duties:
    cdef Slot _first
    cdef dict _expected
    cdef bint _failed

    cdef bint is_any(self) except -1
    cdef object put(self, Duty duty)
    cdef Duty first(self)
    @cython.locals(duty=Duty)
    cdef object _put_failed(self)
    cdef bint take(self, Duty first) except -1
    @cython.locals(duty=Duty, following=Duty)
    cdef object do_all(self, object do)
    @cython.locals(following=Duty)
    cdef object _put_back(self, Duty duty)
