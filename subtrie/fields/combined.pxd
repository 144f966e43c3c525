# C types for combined.py.
cimport cython

from ctrie._machine cimport untrack_constant
from subtrie.fields.criteria cimport ANY, Absent, Criterion, LEADS, NotIn, OneOf


cdef class Not(Criterion):
    cdef readonly Criterion criterion
    cdef readonly int depth

    cpdef bint holds(self, object value) except -1
    cdef bint is_found_exactly(self) except -1


cdef class AnyOf(Criterion):
    cdef readonly tuple alternatives
    cdef readonly int depth

    cpdef bint holds(self, object value) except -1
    cpdef bint met_by(self, dict message) except -1
    cpdef bint may_be_met_by(self, dict message) except -1
    cdef bint is_found_exactly(self) except -1
    @cython.locals(first=Criterion)
    cpdef bint is_taken_apart(self) except -1
    cpdef tuple leads(self)


@cython.locals(criterion=Criterion)
cdef bint _all_hold(tuple way, object value) except -1
@cython.locals(criterion=Criterion)
cdef bint _all_met(tuple way, dict message) except -1
@cython.locals(criterion=Criterion)
cdef bint _all_may_be_met(tuple way, dict message) except -1
cpdef list listed(object criteria)
@cython.locals(named=Py_ssize_t)
cpdef Py_ssize_t values_named(object criteria) except -1
cpdef object ways_to_meet(object criteria)
