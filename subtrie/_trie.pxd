# C types for _trie.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._nodes cimport Root
from subtrie._branch cimport Subscribe, Unsubscribe
from subtrie._match cimport Matchable, Plan
from subtrie._subscribers cimport Entry

cdef Root _UNMADE
cdef Plan _UNMADE_PLAN


cdef class SubscriptionTrie(Matchable):
    cdef readonly object dialect
    cdef object __weakref__

    cdef object _check_branch(self, object branch)
    cdef object _writable(self)
    cdef tuple _path(self, object filter)
    cdef tuple _checked(self, object subscription)
    @cython.locals(edit=Subscribe)
    cdef bint _put(self, tuple words, tuple hashes, Entry entry) except -1
    @cython.locals(edit=Unsubscribe)
    cdef bint _take(self, tuple words, tuple hashes, object subscriber, uint64_t hash) except -1
    @cython.locals(other=SubscriptionTrie)
    cdef SubscriptionTrie _with_root(self, Root root)


cdef Root _frozen(SubscriptionTrie trie)
