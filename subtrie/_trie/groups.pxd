# C types for groups.py.
cimport cython
from libc.stdint cimport uint64_t

from cpython.object cimport PyObject

from ctrie._native cimport Borrowed, is_exactly
from subtrie._trie.keyed cimport Keyed, find_keyed, set_size, with_keyed, without_keyed
from subtrie._trie.subscribers cimport Entry, Excepting, living, subscriber_hash


cdef class Shared:
    cdef readonly object plain
    cdef readonly object groups
    cdef readonly Py_ssize_t excepting


cdef class Group(Keyed):
    cdef readonly object members
    cdef readonly bint excepting
    cdef int heaviest


cdef inline Borrowed plain_in(Borrowed shared) noexcept nogil:
    return <PyObject *>(<Shared>shared).plain


cdef inline Borrowed groups_in(Borrowed shared) noexcept nogil:
    return <PyObject *>(<Shared>shared).groups


cdef inline Borrowed members_in(Borrowed group) noexcept nogil:
    return <PyObject *>(<Group>group).members


@cython.locals(shared=Shared)
cdef object members_of(object value, object group)


cdef inline bint may_be_excluded_from(Borrowed value) noexcept:
    return is_exactly(value, Shared) and (<Shared>value).excepting > 0


cdef object with_members(object value, object group, object members, Entry newest, Entry gone)
@cython.locals(shared=Shared)
cdef object _with_groups(object plain, object groups, Py_ssize_t excepting)
@cython.locals(shared=Shared)
cdef Py_ssize_t _excepting_in(object value) except -1
@cython.locals(shared=Shared)
cdef object _groups_of(object value)
@cython.locals(group=Group)
cdef Group _new_group(object name, object members, Group present, Entry newest)
cdef bint is_member(object value, object group, bint of_any, object subscriber, uint64_t hash) except -1
@cython.locals(entry=Entry)
cdef bint _is_in(object members, object subscriber, uint64_t hash) except -1
cpdef Py_ssize_t weight_of(Entry entry) except -1
