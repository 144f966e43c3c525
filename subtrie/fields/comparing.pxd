# The C bodies of comparing.py.
from cpython.object cimport PyObject

cdef extern from *:
    """
    /* Whether the error that is set may say nothing but that two values do not compare; it is cleared then. */
    static inline int does_not_compare(void)
    {
        if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)
            || PyErr_ExceptionMatches(PyExc_RecursionError)) {
            return 0;   /* to ask again would take twice the time at each level of a recursion */
        }
        PyErr_Clear();
        return 1;
    }
    """
    bint does_not_compare() noexcept
    int RichCompareBool "PyObject_RichCompareBool" (PyObject *one, PyObject *other, int how) noexcept
    int SetContains "PySet_Contains" (object several, object value) noexcept
    bint is_text "PyUnicode_CheckExact" (object value) noexcept
    bint is_whole "PyLong_CheckExact" (object value) noexcept
    bint is_double "PyFloat_CheckExact" (object value) noexcept

cdef enum:
    LESS = 0
    UP_TO = 1
    EQUAL = 2

cdef enum:
    LIST, OBJECT, VALUE, NOTHING

cpdef bint is_up_to(object one, object other, bint strictly) except -1
cpdef bint compared_again(object one, object other, int how) except -1
cpdef bint equals_one(object value, frozenset values) except -1
cpdef bint is_equal_to_itself(object value) except -1
cpdef object number_of(object value)
cpdef int kind_of(object value) except -1
cpdef list contents_of(object value)


cdef inline int compared_there(PyObject *one, PyObject *other, int how) except -1:     # borrowed
    cdef int known = RichCompareBool(one, other, how)
    return known if known >= 0 or not does_not_compare() else compared_again(<object>one, <object>other, how)


cdef inline int compared(object one, object other, int how) except -1:
    return compared_there(<PyObject *>one, <PyObject *>other, how)


cdef inline int is_among(object value, frozenset values) except -1:
    cdef int known = SetContains(values, value)
    return known if known >= 0 or not does_not_compare() else equals_one(value, values)


cdef inline object as_value(object value):
    return value if is_text(value) or is_whole(value) or is_double(value) else number_of(value)
