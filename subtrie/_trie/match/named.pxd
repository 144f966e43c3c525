# C types for named.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._arrays cimport W, flag_at, popcount
from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._native cimport Borrowed, borrow, is_exactly, peek
from ctrie._nodes cimport INode, LNode, entombed_in, entries_of, hash_of, value_of
from subtrie._trie.branch cimport Chain, next_of, sole_hash_of
from subtrie._trie.match.traversal cimport ENOUGH, PENDING, THROUGH, first_of_exact_but_whole, go_through, wildcards
from subtrie._trie.match.walk cimport (
    Ends, FEW, Passed, Traversal, as_node, begin_with, begins_branch, bit, ends_of, few_of, is_part, item_of,
    length_of, named_word, rewind, size_of, text_in, word_end,
)
from subtrie._trie.packed_key cimport characters
from subtrie._trie.subscribers cimport Entry
from subtrie._trie.words cimport word

@cython.locals(size=Py_ssize_t, taken=Py_ssize_t, branch=Borrowed, level=Borrowed)
cdef int find_named(Traversal *t, Borrowed main, Passed *passed) noexcept
cdef int traverse_beside(Traversal *t, const Passed *passed, Borrowed named) noexcept
@cython.locals(i=Py_ssize_t)
cdef bint few_beside(Traversal *t, const Passed *passed, Borrowed named) noexcept
cdef void begin_again(Traversal *t, Borrowed named) noexcept
@cython.locals(value=Borrowed)
cdef inline bint _has_few(Borrowed branch) noexcept
@cython.locals(outcome=int, i=int)
cdef int _beside(Traversal *t, Ends ends, const Passed *passed) noexcept
cdef inline bint _is_pending(Traversal *t, Borrowed inode, Borrowed main) noexcept
@cython.locals(hash=uint64_t, bitmap=uint64_t, flag=uint64_t, node=Borrowed, entries=Borrowed, i=Py_ssize_t)
cdef inline Borrowed _branch_of(Traversal *t, Borrowed main, const word *word) noexcept
cdef inline bint _begins(Traversal *t, Borrowed branch, const word *word) noexcept
@cython.locals(chain=characters, length=Py_ssize_t, start=Py_ssize_t, at=Py_ssize_t, count=Py_ssize_t)
cdef inline Py_ssize_t _followed(Traversal *t, Borrowed branch, Py_ssize_t taken, Py_ssize_t size) noexcept
