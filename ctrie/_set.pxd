# C types for _set.py.
cimport cython
from cpython.object cimport PyObject

from ctrie._ctrie cimport Ctrie, REMOVE, compares_as
from ctrie._descent cimport NoValue, is_there
from ctrie._native cimport Borrowed
from ctrie._nodes cimport empty_root


cdef class OneByOne:
    cdef readonly Ctrie _members


cdef inline Borrowed members_of(OneByOne set) noexcept:
    return <PyObject *>set._members


cdef Ctrie _UNMADE
cdef int _hold(OneByOne made, Ctrie members) except -1
