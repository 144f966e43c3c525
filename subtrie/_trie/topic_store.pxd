# C types for topic_store.py.
cimport cython

from ctrie._nodes cimport Root
from subtrie._trie.match.plan cimport Matchable, Plan

cdef Root _UNMADE
cdef Plan _UNMADE_PLAN


cdef class TopicStore(Matchable):
    cdef readonly object dialect
    cdef tuple _suspect
    cdef Plan _asked_by
    cdef object __weakref__

    cdef object _begin(self, object dialect, Root root)
    cdef object _writable(self)
    cdef object _held(self, Root root, object topic)
    cdef tuple _path(self, object topic)
    @cython.locals(other=TopicStore)
    cdef TopicStore _with_root(self, Root root)


cdef Root _frozen(TopicStore store)
