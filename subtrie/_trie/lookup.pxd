# C types for lookup.py, which explains the code.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._arrays cimport W, flag_at, popcount
from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport help_pending
from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, Root, hash_of, rdcss_read_root, root_of
from subtrie._trie.branch cimport Branch, next_of
from subtrie._trie.match.plan cimport Matchable
from subtrie._trie.packed_key cimport words_followed_in


@cython.locals(
    inode=Borrowed, depth=Py_ssize_t, lev=int, hash=uint64_t, main=Borrowed, flag=uint64_t, child=Borrowed,
    taken=Py_ssize_t, found=Branch
)
cdef Branch find_branch(Matchable trie, tuple words, tuple hashes, str separator)
