# C types for subscribers.py.
cimport cython
from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._machine cimport check_stack, leaf_after, new_leaf
from ctrie._native cimport never_tracked
from ctrie._nodes cimport mix
from subtrie._trie.keyed cimport Keyed


cdef class Entry(Keyed):
    cdef readonly dict options


cdef class Excepting(Entry):
    cdef tuple parts


cdef class Sole:
    cdef readonly object subscriber
    cdef readonly dict options


cdef inline PyObject *subscriber_in(PyObject *sole) noexcept nogil:
    return <PyObject *>(<Sole>sole).subscriber


cdef inline dict may_be_tracked(dict options):
    cdef Py_ssize_t at = 0
    cdef PyObject *name
    cdef PyObject *value
    if options is not None:
        while PyDict_Next(options, &at, &name, &value):
            if not never_tracked(value):
                return options
    return None


@cython.locals(entry=Entry)
cpdef Entry new_entry(object subscriber, uint64_t hash, dict options=*)
@cython.locals(sole=Sole)
cdef Sole new_sole(object subscriber, dict options)
@cython.locals(sole=Sole)
cpdef Entry entry_alone(object value, uint64_t hash)
cpdef Entry checked_entry(object subscriber, uint64_t hash, dict options, object dialect)
@cython.locals(entry=Excepting)
cdef Excepting _excepting(object subscriber, uint64_t hash, dict options, tuple parts)
@cython.locals(excepting=Excepting)
cpdef Entry entry_of(object subscriber, Entry entry)
cpdef uint64_t subscriber_hash(object subscriber) except? 0
cpdef bint is_held(object subscriber) except -1
cpdef Entry living(Entry entry)
