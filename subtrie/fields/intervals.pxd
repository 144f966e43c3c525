# C types for intervals.py.
cimport cython

from subtrie.fields.criteria cimport Within

cdef int _HEAVIER, _OUTER


cdef class Ranges:
    cdef readonly Within span
    cdef readonly object filed
    cdef readonly Ranges left
    cdef readonly Ranges right
    cdef readonly Within reach
    cdef readonly Py_ssize_t size


cdef Py_ssize_t _size(Ranges node)
@cython.locals(node=Ranges, reach=Within)
cdef Ranges _node(Within span, object filed, Ranges left, Ranges right)
cdef int _by_low(Within a, Within b) except -2
cdef int _by_high(Within a, Within b) except -2
@cython.locals(by_low=int)
cdef int _compare(Within a, Within b) except -2
cdef bint _begins_by(Within span, object value) except -1
cdef bint _lasts_to(Within span, object value) except -1
@cython.locals(side=int)
cpdef object filed_at(Ranges node, Within span)
@cython.locals(side=int)
cpdef Ranges with_range(Ranges node, Within span, object filed)
@cython.locals(side=int, first=Ranges)
cpdef Ranges without_range(Ranges node, Within span)
cdef Ranges _there(Ranges node)
cdef Ranges _first(Ranges node)
@cython.locals(inner=Ranges, top=Ranges)
cdef Ranges _balanced(Ranges node, Ranges left, Ranges right)
cdef bint _is_too_heavy(Ranges one, Ranges other) except -1
cpdef object filed_around(Ranges node, object value, list found)
@cython.locals(crowd=Py_ssize_t)
cpdef Py_ssize_t crowd_around(Ranges node, object value, Py_ssize_t most) except -1
cdef object _check_node(Ranges node)
cpdef Within max_reach(Ranges node)
