# C types for groups.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._native cimport Slot, initialise
from subtrie._trie.draws cimport draw_word
from subtrie._trie.keyed cimport Keyed, find_keyed, set_size, with_keyed, without_keyed
from subtrie._trie.subscribers cimport Entry, living, subscriber_hash


cdef class Shared:
    cdef object plain
    cdef object groups


cdef class Group(Keyed):
    cdef object members
    cdef Slot turn
    cdef uint64_t stamp
    cdef bint weighted
    cdef object wheel


@cython.locals(shared=Shared)
cdef object members_of(object value, object group)
cdef object with_members(object value, object group, object members, Entry newest=*)
@cython.locals(shared=Shared)
cdef object _groups_of(object value)
@cython.locals(group=Group)
cdef object _members(object entry)
@cython.locals(shared=Shared)
cdef Shared _new_shared(object plain, object groups)
@cython.locals(group=Group)
cdef Group _new_group(object name, object members, Group present, Entry newest)
@cython.locals(slot=Slot)
cdef Slot _new_slot(object value)
cpdef Py_ssize_t weight_of(Entry entry) except -1
