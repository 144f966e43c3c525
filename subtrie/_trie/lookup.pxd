# C types for lookup.py, which explains the code.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.branch cimport Branch
from subtrie._trie.match.plan cimport Matchable


@cython.locals(
    inode=Borrowed, depth=Py_ssize_t, lev=int, hash=uint64_t, main=Borrowed, flag=uint64_t, child=Borrowed,
    taken=Py_ssize_t, found=Branch
)
cdef Branch find_branch(Matchable trie, tuple words, tuple hashes, str separator)
