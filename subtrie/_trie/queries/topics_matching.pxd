# C types for topics_matching.py.
cimport cython

from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, MainNode
from ctrie._nodes cimport INode, Root
from subtrie._trie.branch cimport Branch


cdef class Walk:
    cdef Root root
    cdef list found
    cdef str separator
    cdef tuple words
    cdef tuple hashes
    cdef Py_ssize_t size
    cdef Py_ssize_t least
    cdef bint open
    cdef bint wordless
    cdef str reserved
    cdef list levels

    @cython.locals(level=INode, depth=Py_ssize_t)
    cdef object run(self, INode first)
    @cython.locals(hash=uint64_t, inode=INode, lev=int, main=MainNode, cn=CNode, flag=uint64_t)
    cdef object _own_word(self, INode level, Py_ssize_t depth)
    cdef object _step_if_own(self, Branch branch, Py_ssize_t depth, uint64_t hash)
    @cython.locals(inodes=list, inode=INode, main=MainNode, cn=CNode, i=Py_ssize_t)
    cdef object _any_word(self, INode level, Py_ssize_t depth)
    cdef object _take_any(self, Branch branch, Py_ssize_t depth)
    @cython.locals(reached=Py_ssize_t, followed=Py_ssize_t, fits=bint)
    cdef object _step(self, Branch branch, Py_ssize_t depth)
    cdef bint _is_no_words(self, Branch branch) except -1


@cython.locals(walk=Walk)
cpdef list topics_along(
    Root root, tuple words, tuple hashes, str separator, bint open, Py_ssize_t least, object reserved, bint wordless
)
