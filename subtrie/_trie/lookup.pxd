# C types for lookup.py, which explains the code.
cimport cython

from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport help_pending
from ctrie._machine cimport W, flag_at, popcount
from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, Root, hash_of, rdcss_read_root, root_of
from subtrie._trie.branch cimport Branch, Chain, next_of
from subtrie._trie.match.plan cimport Matchable
from subtrie._trie.match.walk cimport Traversal, begins_branch, is_part, length_of, text_in
from subtrie._trie.words cimport word, word_end


@cython.locals(found=Branch)
cdef Branch find_in_place(Matchable trie, Traversal *t)
cdef Py_ssize_t _along(Traversal *t, Borrowed branch, Py_ssize_t at, Py_ssize_t depth) noexcept
