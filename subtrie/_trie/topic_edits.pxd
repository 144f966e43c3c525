# C types for topic_edits.py.
cimport cython

from ctrie._machine cimport untrack
from ctrie._edits cimport edit_trie
from ctrie._nodes cimport Root, SNode, root_of
from ctrie._tally cimport begin_change, end_change, end_in_doubt
from subtrie._trie.branch cimport Branch, FilterEdit, Subscribe, Unsubscribe, changed_branch, is_wanted
from subtrie._trie.match.plan cimport Matchable, Plan, plan_of
from subtrie._trie.subscribers cimport new_entry


@cython.no_gc
cdef class Put(Subscribe):
    cdef bint only_new
    cdef object kept

    cdef SNode create(self)
    @cython.locals(branch=Branch)
    cdef SNode change(self, SNode sn)


@cython.no_gc
cdef class Remove(Unsubscribe):
    cdef object expected
    cdef object kept

    cdef SNode create(self)
    @cython.locals(branch=Branch)
    cdef SNode change(self, SNode sn)


@cython.locals(edit=Put)
cpdef object put_topic(Matchable store, tuple words, tuple hashes, tuple pair, bint only_new)
@cython.locals(edit=Remove)
cpdef object remove_topic(Matchable store, tuple words, tuple hashes, object expected=*)
cdef int _make(FilterEdit edit, Matchable store, tuple words, tuple hashes, int more) except -1
