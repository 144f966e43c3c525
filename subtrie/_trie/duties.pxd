# C types for duties.py.
cimport cython

from ctrie._native cimport Slot, compare_and_set, initialise, load


@cython.trashcan(True)
cdef class Duty:
    cdef public object what
    cdef public object rest


cdef class Duties:
    cdef Slot _first

    cdef Duty first(self)
    cdef object put(self, Duty duty)
    cdef bint drain(self, Duty first) except -1
    @cython.locals(following=Duty)
    cdef object do_all(self, object do)
