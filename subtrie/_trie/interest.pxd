# C types for interest.py.
cimport cython

from ctrie._native cimport Slot, compare_and_set, initialise, load
from ctrie._thread_owner cimport Doer
from subtrie._trie.duties cimport Duties, Duty


cdef class Notices:
    cdef readonly bint of_groups
    cdef public object _listener
    cdef Duties _waiting
    cdef Slot _deliverer
    cdef public object _drained
    cdef public set _told

    cdef bint is_any_left(self) except -1
    cdef object put(self, Duty notice)
    cdef object deliver(self, object is_wanted)
    cdef object _deliver_as(self, Doer me, object is_wanted)
    @cython.locals(doer=Doer)
    cdef bint _begin_to_deliver(self, Doer me) except -1
    cdef object _cease_to_deliver(self, Doer me)
    @cython.locals(duty=Duty)
    cdef bint _drain_list(self) except -1
    @cython.locals(wanted=bint)
    cdef object _look(self, object is_wanted)
    cdef object _note_told(self, object watched, bint wanted)
