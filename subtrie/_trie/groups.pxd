# C types for groups.py.
cimport cython

from ctrie._native cimport Slot, compare_and_set, initialise, load
from subtrie._trie.keyed cimport Keyed, branches_of, find_keyed, set_size, with_keyed, without_keyed
from subtrie._trie.subscribers cimport Entry, living, subscriber_hash


cdef class Shared:
    cdef object plain
    cdef object groups


cdef class Group(Keyed):
    cdef object members
    cdef Slot turn


@cython.locals(shared=Shared)
cdef object members_of(object value, object group)
cdef object with_members(object value, object group, object members)
@cython.locals(shared=Shared)
cdef object _groups_of(object value)
@cython.locals(group=Group)
cdef object _members(object entry)
@cython.locals(shared=Shared)
cdef Shared _new_shared(object plain, object groups)
@cython.locals(group=Group, turn=Slot)
cdef Group _new_group(object name, object members, Group present)
@cython.locals(first=Group, size=Py_ssize_t, place=Py_ssize_t, after=Py_ssize_t, member=Entry)
cpdef tuple whose_turn(list groups, bint take_turns)
@cython.locals(size=Py_ssize_t)
cdef tuple _member_at(list groups, Py_ssize_t place)
cdef object _take_turn(Slot turn)
@cython.locals(size=Py_ssize_t)
cdef Entry _entry_at(object members, Py_ssize_t place)
