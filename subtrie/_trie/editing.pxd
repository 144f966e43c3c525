# C types for editing.py, which explains the code.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from ctrie._edits cimport edit_trie
from ctrie._nodes cimport Root, SNode, root_of
from subtrie._trie.branch cimport FilterEdit, Subscribe, Unsubscribe, subscribe_edit, unsubscribe_edit
from subtrie._trie.match.plan cimport Matchable, Plan, plan_of
from subtrie._trie.subscribers cimport Entry


@cython.locals(plan=Borrowed)
cdef Subscribe new_subscribe(Matchable trie, tuple words, tuple hashes, object group, Entry entry)
@cython.locals(plan=Borrowed, separator=str)
cdef Unsubscribe new_unsubscribe(
    Matchable trie, tuple words, tuple hashes, object group, object subscriber, uint64_t hash
)
cdef SNode edit_filter(Matchable trie, FilterEdit edit)
