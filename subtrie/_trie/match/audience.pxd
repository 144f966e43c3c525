# C types for audience.py.
cimport cython

from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly
from subtrie._trie.choosing cimport Choice, any_member, choose_among, new_choice
from subtrie._trie.groups cimport Group, Shared, groups_in, plain_in
from subtrie._trie.match.plan cimport Matchable, plan_of, query_again
from subtrie._trie.match.reading cimport Query, is_excluded
from subtrie._trie.match.scratch cimport Question, drop_shared, is_shared_at, put_taken, taken_shared
from subtrie._trie.match.walk cimport item_of, size_of
from subtrie._trie.keyed cimport SetNode, hash_in, key_in, set_array_of
from subtrie._trie.subscribers cimport Entry, Excepting, living


cdef class Audience:
    cdef bint weak
    cdef Choice choice
    cdef dict united
    cdef list entries
    cdef Matchable trie
    cdef object topic
    cdef Query _query

    cdef int add(self, Entry entry, object group, object trail, Py_ssize_t at) except -1
    cdef int receive(self, Borrowed value, object trail, Py_ssize_t at) except -1
    @cython.locals(number=Py_ssize_t, entry=Entry)
    cdef int receive_united(self) except -1
    cpdef bint excludes(self, Entry entry) except -1
    cdef Query _asked(self)
    @cython.locals(group=Group)
    cdef Choice _choice_in(self, list groups)
    @cython.locals(alive=Entry)
    cdef int _add_plain(self, Borrowed subscribers, object trail, Py_ssize_t at) except -1
    cdef int _add_groups(self, Borrowed groups, object trail, Py_ssize_t at) except -1
    cdef int _unite(self, Group group, tuple one) except -1
    @cython.locals(entry=Entry)
    cdef int _add_chosen(self, Borrowed borrowed_group, object trail, Py_ssize_t at) except -1


@cython.locals(audience=Audience)
cpdef Audience new_audience(Matchable trie, object topic, Py_ssize_t filters)
cdef int begin_audience(
    Audience audience, Matchable trie, object topic, Py_ssize_t filters, Choice choice
) except -1
@cython.locals(entry=Entry)
cdef int put_receivers(Question *q, Matchable trie, object topic) except -1
cdef inline Borrowed _several(Borrowed members) noexcept
