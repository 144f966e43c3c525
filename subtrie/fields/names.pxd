# C types for names.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._nodes cimport mix
from subtrie.fields.criteria cimport Criterion
from subtrie.fields.maps cimport Cell, find_in_map, new_cell, with_cell, without_cell


@cython.locals(criterion=Criterion)
cpdef object with_names(object names, object criteria, Py_ssize_t by)
@cython.locals(end=Py_ssize_t, steps=Py_ssize_t, step=str, hash_=uint64_t, found=Cell, count=Py_ssize_t, left=Cell)
cdef object _with_name(object names, str name, Py_ssize_t by)
cpdef bint leads_on(object names, object name) except -1
cpdef bint may_meet_in_a_list(object criteria) except -1
@cython.locals(criterion=Criterion, name=str, step=str, end=Py_ssize_t)
cdef bint _meet(object criteria, set seen) except -1
