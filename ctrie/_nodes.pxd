# C types for _nodes.py, which has the text.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, Gen, MainNode, branch_at, branches_of, new_cnode
from ctrie._machine cimport W, check_signals, check_stack, flag_at, leaf_after, new_leaf, popcount, untrack_above
from ctrie._native cimport Borrowed, Slot, borrow, compare_and_set, initialise, is_exactly, load, peek, pin, unpin
from ctrie._tally cimport Tally

cdef int HASH_BITS
cdef uint64_t _MASK64, _MIX_1, _MIX_2
cdef object UNDECIDED, COMMITTED, ABORTED

cpdef uint64_t mix(uint64_t raw) noexcept


cdef class FailedNode:
    cdef MainNode wrapped


cdef class INode(Slot):
    cdef Gen gen


cdef class Edit


cdef class SNode:
    cdef readonly uint64_t hash
    cdef readonly object value

    cdef bint is_for(self, object key, object equal) except -1
    cdef SNode with_level(self, INode level)
    cdef SNode without_level(self, Edit edit, SNode last)


cdef class Pair(SNode):
    cdef readonly object key

    cdef bint is_for(self, object key, object equal) except -1


cdef class LNode(MainNode):
    cdef tuple entries


cdef class TNode(MainNode):
    cdef SNode sn


cdef class Root(Slot):
    cdef bint readonly


cdef class Rooted:
    cdef Root _root
    cdef Tally _tally


# Views of borrowed nodes; the caller must be pinned.
cdef inline Borrowed root_of(Rooted trie) noexcept:
    return <PyObject *>trie._root


cdef inline Borrowed gen_of(Borrowed inode) noexcept nogil:
    return <PyObject *>(<INode>inode).gen


cdef inline uint64_t hash_of(Borrowed sn) noexcept nogil:
    return (<SNode>sn).hash


cdef inline Borrowed key_of(Borrowed pair) noexcept nogil:
    return <PyObject *>(<Pair>pair).key


cdef inline Borrowed value_of(Borrowed sn) noexcept nogil:
    return <PyObject *>(<SNode>sn).value


cdef inline Borrowed entries_of(Borrowed ln) noexcept nogil:
    return <PyObject *>(<LNode>ln).entries


cdef inline Borrowed entombed_in(Borrowed tn) noexcept nogil:
    return <PyObject *>(<TNode>tn).sn


cdef class RDCSSDescriptor(Slot):
    cdef INode old
    cdef MainNode expected
    cdef INode new


@cython.locals(inode=INode)
cdef INode new_inode(MainNode main, Gen gen)
@cython.locals(pair=Pair)
cdef Pair new_pair(object key, uint64_t hash, object value)
@cython.locals(ln=LNode)
cdef LNode new_lnode(tuple entries)
@cython.locals(tn=TNode)
cdef TNode new_tnode(SNode sn)
@cython.locals(root=Root)
cdef Root new_root(INode inode, bint readonly)
cpdef Root empty_root()
@cython.locals(fn=FailedNode)
cdef FailedNode _failed(MainNode wrapped)

cdef bint _may_commit(Root root, INode inode) except -1
cdef bint gcas(Root root, INode inode, MainNode old, MainNode new) except -1
@cython.locals(main=MainNode)
cdef MainNode gcas_read(Root root, INode inode)
@cython.locals(failed=FailedNode)
cdef MainNode gcas_complete(Root root, INode inode, MainNode main)

cdef INode rdcss_read_root(Root root, bint abort=*)
@cython.locals(same=bint)
cdef bint is_present(Root root, INode inode) except -1
@cython.locals(descriptor=RDCSSDescriptor)
cdef INode _rdcss_complete(Root root, bint abort)
@cython.locals(descriptor=RDCSSDescriptor)
cdef bint rdcss_root(Root root, INode old, MainNode expected, INode new) except -1
cdef INode snapshot_root(Root root)
cdef Root fork_root(Root root)
cdef Root freeze_root(Root root)
cdef list clear_root(Root root)

cdef INode renewed(Root root, INode inode, Gen gen)
cdef MainNode two_snodes(SNode x, SNode y, int lev, Gen gen)

@cython.locals(tn=TNode, cn=CNode, ln=LNode)
cdef tuple branches(Root root, INode inode)
cdef bint same_key(SNode sn, object key, uint64_t hash, object equal) except -1
cdef bint is_empty(Root root) except -1
cdef SNode first_snode(Root root)
cdef object compare_next(Root older, Root newer, object equal, list stack, list found)
cdef object _compare_branches(CNode older, CNode newer, object equal, list stack, list found)
cdef bint _have_one_key(SNode x, SNode y, object equal) except -1


@cython.no_gc
cdef class Edit:
    cdef uint64_t hash
    cdef SNode found
    cdef bint settled
    cdef bint emptied
    cdef bint entombed
    cdef bint tracks
    cdef INode inode
    cdef int lev
    cdef INode parent
    cdef uint64_t parent_hash
    cdef int parent_lev
    cdef MainNode parent_main
    cdef bint compared
    cdef object asked
    cdef bint verdict
    cdef dict said

    @cython.locals(said=tuple)
    cdef bint agree(self, object stored, object wanted, object equal) except -1
    cdef object rewind(self)
    cdef bint same(self, SNode sn) except -1
    cdef INode below(self, SNode sn)
    cdef Borrowed level_passed(self, Borrowed sn) noexcept
    cdef object advance(self)
    cdef bint rolls_up(self) except -1
    cdef SNode create(self)
    cdef SNode change(self, SNode sn)


@cython.locals(sn=SNode, inode=INode, below=INode, lev=int, path=uint64_t)
cpdef list check_level(Root root, INode first=*)
@cython.locals(cn=CNode, ln=LNode)
cdef object _check_main(MainNode main, int lev, bint first_of_trie)
@cython.locals(tn=TNode, cn=CNode, ln=LNode)
cdef list _groups(MainNode main)
cpdef tuple shape(Root root, INode inode=*)
