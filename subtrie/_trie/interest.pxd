# C types for interest.py.
cimport cython

from ctrie._native cimport Slot, compare_and_set, initialise, load
from ctrie._thread_owner cimport Doer
from subtrie._trie.duties cimport LACKING, Duties, Duty

cdef int _RESUME


cdef class Deliverer(Doer):
    cdef bint done


cdef class Notices:
    cdef readonly bint of_groups
    cdef public object _listener
    cdef Duties _waiting
    cdef Slot _place
    cdef Slot _left
    cdef public object _taken
    cdef public set _told
    cdef public tuple _under_way

    cdef bint is_any_left(self) except -1
    cpdef object leave(self)
    cpdef object put_on_list(self, Duty duty)
    @cython.locals(me=Deliverer)
    cpdef object deliver(self, object is_wanted, list raised, bint again)
    cdef object _deliver_as(self, Deliverer me, object is_wanted, list raised, bint again)
    @cython.locals(doer=Deliverer, free=bint)
    cdef bint _take_place(self, Deliverer me) except -1
    cdef object _leave_place(self, Deliverer me)
    @cython.locals(waiting=Duty)
    cdef object _deliver(self, object is_wanted, list raised, bint again)
    @cython.locals(wanted=bint)
    cdef object _look(self, object is_wanted, list raised, bint again)
    cdef object _note_told(self, object watched, bint wanted)


cdef bint _had_begun(object error) except -1
@cython.locals(filters=list)
cdef list _in_turn(Duty waiting)
