# C types for audience.py.
cimport cython
from libc.stdint cimport uint64_t

from subtrie._trie.branch cimport Branch, subscribers_of
from subtrie._trie.choosing cimport Choice, choose, choose_among
from subtrie._trie.groups cimport Group, Shared
from subtrie._trie.match.plan cimport Matchable, asker_of, joins_groups
from subtrie._trie.match.scratch cimport Scratch, drop_shared, is_shared_at, put_taken, subscriber_at
from subtrie._trie.keyed cimport branches_of
from subtrie._trie.subscribers cimport Entry, living


cdef class Audience:
    cdef uint64_t asker
    cdef bint take_turns
    cdef Choice choice
    cdef dict joined

    @cython.locals(shared=Shared, found=list)
    cpdef list receivers(self, object value, object by)
    @cython.locals(found=list, same=list, group=Group, groups=list, entry=Entry)
    cpdef list joined_receivers(self)
    @cython.locals(alive=Entry)
    cdef object _add_plain(self, list found, object subscribers, object by)
    @cython.locals(group=Group, entry=Entry)
    cdef object _add_groups(self, list found, object groups, object by)


@cython.locals(audience=Audience)
cpdef Audience new_audience(Matchable trie, bint take_turns, Choice choice, Py_ssize_t filters)
@cython.locals(asker=uint64_t, joined=Audience, filters=Py_ssize_t, count=Py_ssize_t, i=Py_ssize_t, shared=Shared)
cdef int put_receivers(Scratch *s, Matchable trie, bint take_turns) except -1
cdef int _put(Scratch *s, Entry entry) except -1
cdef int _put_plain(Scratch *s, object subscribers) except -1
@cython.locals(entry=Entry)
cdef int _put_chosen(Scratch *s, object groups, uint64_t asker, bint take_turns) except -1
cpdef tuple distinct_subscribers(list found, Matchable trie, bint take_turns)
