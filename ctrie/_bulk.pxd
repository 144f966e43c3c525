# C types for _bulk.py; what the code means is written there.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, Gen, MainNode
from ctrie._nodes cimport INode, Pair, Root, SNode

@cython.locals(old=INode, main=MainNode, cn=CNode, gen=Gen)
cdef bint fill_root(Root root, list pairs, object equal) except -1
@cython.locals(parted=list, pair=Pair, group=int, bitmap=uint64_t, branches=list)
cdef CNode _cnode_of(list pairs, int lev, Gen gen, object equal)
@cython.locals(main=MainNode, kept=list, cn=CNode)
cdef object _branch_of(list pairs, int lev, Gen gen, object equal)
cdef SNode _only_pair(CNode cn)
@cython.locals(kept=list, pair=Pair, first=Pair)
cdef list _distinct(list pairs, object equal)
