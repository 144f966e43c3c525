# C types for filed.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._machine cimport inserted, removed, replaced, untrack_constant
from ctrie._native cimport Slot
from ctrie._nodes cimport mix

cdef int INLINE, _BITS, _MASK, _HASH_BITS


@cython.no_gc
cdef class Filing:
    cdef object key
    cdef Slot state
    cdef tuple others


cdef class Wide:
    cdef readonly tuple parts
    cdef Py_ssize_t size


@cython.locals(wide=Wide)
cdef Wide _new_wide(tuple parts, Py_ssize_t size)
@cython.locals(filing=Filing)
cpdef object key_filed(object member)
cdef uint64_t _hash(object key) except? 0
cdef tuple _several(object filed)
cdef object _set_of(tuple members)
cdef Py_ssize_t _position(tuple members, object key) except -2
cdef Py_ssize_t _position_known(tuple members, object key) except -1
@cython.locals(wide=Wide)
cpdef object find_filed(object filed, object key)
cpdef object with_filed(object filed, object member)
@cython.locals(wide=Wide, place=Py_ssize_t)
cdef object _with(object filed, object member, object key, uint64_t hash, int shift, bint is_new)
cpdef object without_filed(object filed, object key)
@cython.locals(wide=Wide, place=Py_ssize_t)
cdef object _without(object filed, object key, uint64_t hash, int shift)
cpdef object check_filed(object filed)
@cython.locals(wide=Wide)
cdef object _check_shape(object filed, int shift)
