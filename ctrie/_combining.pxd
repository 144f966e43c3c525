# C types for _combining.py, which has the text.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._bulk cimport only_pair
from ctrie._cnode cimport (
    Branches, CNode, Gen, MainNode, add_branch, branch_at, cnode_of_branches, drop_branches, new_branches,
    share_branch,
)
from ctrie._descent cimport warm_ahead, warm_branches
from ctrie._machine cimport W, check_signals, flag_at, popcount
from ctrie._native cimport borrow
from ctrie._nodes cimport (
    HASH_BITS, INode, LNode, Pair, Root, SNode, TNode, gcas_read, new_inode, new_lnode, new_root, rdcss_read_root, same_key,
    two_snodes,
)

cdef int MINE, THEIRS, BOTH, BOTH_AS_THEIRS


@cython.no_gc
cdef class Combining:
    cdef Root mine
    cdef Root theirs
    cdef object equal
    cdef int kept
    cdef bint asks
    cdef Py_ssize_t common
    cdef bint uncounted
    cdef Gen gen

    @cython.locals(x=INode, y=INode)
    cdef CNode top(self)
    @cython.locals(
        branches=Branches[1], mine=uint64_t, theirs=uint64_t, left=uint64_t, flag=uint64_t, bitmap=uint64_t,
        as_mine=bint, as_theirs=bint
    )
    cdef CNode cnode(self, object x, object y, int lev)
    @cython.locals(cn=CNode, only=SNode)
    cdef object branch(self, object x, object y, int lev)
    cdef object shared(self, object branch, object content)
    cdef object pair(self, Pair x, Pair y, int lev)
    cdef Pair of_both(self, Pair x, Pair y)
    @cython.locals(rest=list, kept=list, one=Pair, other=Pair, both=Pair)
    cdef object collisions(self, object x, object y)


@cython.locals(cn=CNode, pair=Pair)
cdef uint64_t _flags(object node, int lev)
cdef object _branch(object node, uint64_t bitmap, uint64_t flag)
@cython.locals(main=MainNode, tn=TNode)
cdef object _content(Root root, object branch)
@cython.locals(ln=LNode)
cdef list _entries(object node)
@cython.locals(both=Combining)
cdef Combining _prepared(Root mine, Root theirs, object equal, int kept, bint asks)
@cython.locals(both=Combining, root=Root)
cdef tuple combined(Root mine, Root theirs, object equal, int kept)
cdef bint has_any(Root mine, Root theirs, object equal, int kept) except -1
