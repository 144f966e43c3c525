# C types for editing.py, which explains the code.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from ctrie._nodes cimport INode, SNode
from subtrie._trie.branch cimport FilterEdit, Subscribe, Unsubscribe
from subtrie._trie.match.plan cimport Matchable
from subtrie._trie.subscribers cimport Entry


cdef inline Borrowed plan_of(Matchable trie) noexcept:
    return <PyObject *>trie._plan


@cython.locals(plan=Borrowed)
cdef Subscribe new_subscribe(Matchable trie, tuple words, tuple hashes, object group, Entry entry)
@cython.locals(plan=Borrowed, separator=str)
cdef Unsubscribe new_unsubscribe(
    Matchable trie, tuple words, tuple hashes, object group, object subscriber, uint64_t hash
)
cdef SNode edit_filter(Matchable trie, FilterEdit edit)
@cython.locals(
    hashes=tuple, words=tuple, separator=str, inode=Borrowed, hash=uint64_t, lev=int, depth=Py_ssize_t, bare_above=bint,
    parent=Borrowed, parent_lev=int, parent_hash=uint64_t, main=Borrowed, flag=uint64_t, branch=Borrowed, below=Borrowed,
    taken=Py_ssize_t, here=INode, parent_here=INode
)
cdef bint _approach(Matchable trie, FilterEdit edit) except -1
