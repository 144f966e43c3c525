# C types for _set.py.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._changeable cimport REMOVE
from ctrie._combining cimport BOTH, BOTH_AS_THEIRS, MINE, THEIRS, combined, has_any
from ctrie._ctrie cimport Ctrie, compares_as
from ctrie._descent cimport NoValue, is_there
from ctrie._native cimport Borrowed
from ctrie._nodes cimport Root, empty_root, fork_root, freeze_root
from ctrie._tally cimport begin_change, end_change, end_in_doubt, read, taken_over


cdef class OneByOne:
    cdef readonly Ctrie _members


cdef inline Borrowed members_of(OneByOne set) noexcept:
    return <PyObject *>set._members


cdef Ctrie _UNMADE
cdef int _hold(OneByOne made, Ctrie members) except -1
cdef Ctrie _keys_of(mine, theirs)
cdef tuple _counted_root(Ctrie members)
