# C types for intervals.py.
cimport cython
from cpython.object cimport PyObject
from libc.math cimport INFINITY

from subtrie.fields.criteria cimport Within

cdef int _HEAVIER, _OUTER


cdef class Ranges:
    cdef readonly Within span
    cdef readonly object filed
    cdef readonly Ranges left
    cdef readonly Ranges right
    cdef readonly Within reach
    cdef readonly Py_ssize_t size
    cdef double low, high, highest
    cdef bint low_open, high_open, highest_open
    cdef bint has_numbers


cdef extern from *:
    """
    /* The number that an int or a float is, exactly; 0 if it is none, or no double is the same. */
    static inline int exact_double(PyObject *number, double *is)
    {
        if (PyFloat_CheckExact(number)) {
            *is = PyFloat_AS_DOUBLE(number);
            return 1;
        }
        if (PyLong_CheckExact(number)) {
            int overflow;
            long long whole = PyLong_AsLongLongAndOverflow(number, &overflow);
            if (!overflow && whole >= -(1LL << 53) && whole <= (1LL << 53)) {
                *is = (double)whole;
                return 1;
            }
        }
        return 0;
    }
    """
    bint exact_double(PyObject *number, double *value) noexcept


cdef inline bint number_or(object bound, double otherwise, double *number) noexcept:
    if bound is None:
        number[0] = otherwise
        return True
    return exact_double(<PyObject *>bound, number)


cdef inline void note_numbers(Ranges node) noexcept:
    cdef Within span = node.span, reach = node.reach
    node.low_open, node.high_open, node.highest_open = span.low_open, span.high_open, reach.high_open
    node.has_numbers = (
        number_or(span.low, -INFINITY, &node.low)
        and number_or(span.high, INFINITY, &node.high)
        and number_or(reach.high, INFINITY, &node.highest)
    )


cdef Py_ssize_t _size(Ranges node)
@cython.locals(node=Ranges, reach=Within)
cdef Ranges _node(Within span, object filed, Ranges left, Ranges right)
cdef int _by_low(Within a, Within b) except -2
cdef int _by_high(Within a, Within b) except -2
@cython.locals(by_low=int)
cdef int _compare(Within a, Within b) except -2
cdef bint begins_by(Within span, object value) except -1
cdef bint lasts_to(Within span, object value) except -1
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
@cython.locals(crowd=Py_ssize_t)
cpdef Py_ssize_t crowd_around(Ranges node, object value, Py_ssize_t most) except -1
cdef object _check_node(Ranges node)
cpdef Within max_reach(Ranges node)
