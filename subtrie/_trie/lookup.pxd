# C types for lookup.py, which explains the code.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport help_pending
from ctrie._machine cimport W, flag_at, popcount
from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, Root, hash_of, rdcss_read_root, root_of
from subtrie._trie.branch cimport Branch, Chain, next_of
from subtrie._trie.match.plan cimport Matchable, Plan, plan_of, put_words
from subtrie._trie.match.walk cimport Traversal, begins_branch, is_part, length_of, text_in, word_at
from subtrie._trie.packed_key cimport characters
from subtrie._trie.words cimport word, word_end

ctypedef const word *a_word
ctypedef Traversal *a_traversal


@cython.locals(given=Traversal, t=a_traversal, branch=Branch, root=Root)
cdef Branch find_branch(Matchable trie, tuple words, tuple hashes)
@cython.locals(
    inode=Borrowed, depth=Py_ssize_t, hash=uint64_t, main=Borrowed, flag=uint64_t, child=Borrowed, word=a_word,
    found=Branch
)
cdef Branch find_in_place(Matchable trie, Traversal *t)
@cython.locals(chain=characters, length=Py_ssize_t, start=Py_ssize_t)
cdef Py_ssize_t _along(Traversal *t, Borrowed branch, Py_ssize_t at, Py_ssize_t depth) noexcept
