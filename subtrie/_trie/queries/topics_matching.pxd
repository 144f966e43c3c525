# C types for topics_matching.py.
cimport cython

from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, MainNode
from ctrie._native cimport Borrowed
from ctrie._nodes cimport INode, Root
from subtrie._trie.branch cimport Branch


cdef enum:
    GROUP = 16


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

    @cython.locals(group=list, i=Py_ssize_t, depth=Py_ssize_t)
    cdef object run(self, INode first)
    @cython.locals(
        nodes=Borrowed[16], hashes=uint64_t[16], places=Py_ssize_t[16], count=Py_ssize_t, left=Py_ssize_t, i=Py_ssize_t,
        depth=Py_ssize_t, lev=int
    )
    cdef object _warm(self, list group)
    @cython.locals(hash=uint64_t, inode=INode, lev=int, main=MainNode, cn=CNode, flag=uint64_t)
    cdef object _own_word(self, INode level, Py_ssize_t depth)
    cdef object _step_if_own(self, Branch branch, Py_ssize_t depth, uint64_t hash)
    @cython.locals(inodes=list, inode=INode, main=MainNode, cn=CNode, i=Py_ssize_t)
    cdef object _any_word(self, INode level, Py_ssize_t depth)
    cdef object _take_any(self, Branch branch, Py_ssize_t depth)
    @cython.locals(reached=Py_ssize_t, followed=Py_ssize_t, fits=bint)
    cdef object _step(self, Branch branch, Py_ssize_t depth)
    cdef bint _is_no_words(self, Branch branch) except -1


@cython.locals(size=Py_ssize_t, i=Py_ssize_t, child=Borrowed)
cdef object _warm_children(Borrowed cn)
@cython.locals(walk=Walk)
cpdef list topics_along(
    Root root, tuple words, tuple hashes, str separator, bint open, Py_ssize_t least, object reserved, bint wordless
)
