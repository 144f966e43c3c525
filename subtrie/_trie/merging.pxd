# C types for merging.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._bulk cimport Ordered, hash_at
from ctrie._cnode cimport CNode, MainNode, branch_at, new_cnode, with_branch, with_other_branch
from ctrie._machine cimport (
    EVERY, W, check_signals, check_stack, flag_at, is_out_of_track, keep_track, popcount, release_items,
)
from ctrie._nodes cimport INode, Root, gcas, gcas_read, new_inode, rdcss_read_root, renewed, two_snodes
from subtrie._trie.branch cimport Branch, changed_branch, is_wanted, new_branch, subscribers_of, words_in
from subtrie._trie.filling cimport (
    DEEP, FILLED, FilterRow, Filling, NOT_EMPTY, OVERTAKEN, fill, let_go, new_filling, order, put_row, row_at,
    shared_until,
)
from subtrie._trie.match.plan cimport Matchable, Plan
from subtrie._trie.taking cimport is_single, numbers_of, take_rows
from subtrie._trie.warming cimport warm_rows


@cython.locals(filling=Filling, count=Py_ssize_t, outcome=int, top=INode)
cpdef tuple change_rows(
    Matchable trie, object place, list filters, list subscribers, list options, bint strict=*, bint takes=*
)
@cython.locals(seen=bytearray, once=list, place=Py_ssize_t, number=Py_ssize_t)
cdef list _each_once(list numbers, Py_ssize_t count)
cdef int _filled(Filling f) except -1
@cython.locals(
    later=list, below=INode, below_lev=int, first=Py_ssize_t, last=Py_ssize_t, below_depth=Py_ssize_t, levels=tuple
)
cdef object _merge(Filling f, INode inode, int lev, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth)
@cython.locals(
    root=Root, main=MainNode, old=CNode, cn=CNode, count=Py_ssize_t, begun=list, later=list, flag=uint64_t,
    stop=Py_ssize_t, first=Py_ssize_t, last=Py_ssize_t
)
cdef list _merge_here(Filling f, INode inode, int lev, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth)
@cython.locals(each=INode)
cdef object _keep_track(Filling f, INode inode)
@cython.locals(
    flag=uint64_t, pos=Py_ssize_t, inode=INode, below=INode, numbers=list, count=Py_ssize_t, known=Py_ssize_t,
    branch=Branch
)
cdef CNode _with_rows(
    Filling f, CNode cn, int lev, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, list begun, list later
)
@cython.locals(added=Branch, whole=bint, end=Py_ssize_t, place=Py_ssize_t, shared=Py_ssize_t)
cdef object _beside(
    Filling f, Branch branch, int lev, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, list later
)
@cython.locals(
    plan=Plan, words=tuple, rest=tuple, lower=Branch, level=INode, upper=Branch, own=list, changed=Branch,
    first=Py_ssize_t, last=Py_ssize_t
)
cdef Branch _parted(
    Filling f, Branch chain, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth, Py_ssize_t end, list later
)
@cython.locals(ordered=Ordered, place=Py_ssize_t, longer=Py_ssize_t, row=FilterRow, below=INode)
cdef Branch _with_rows_of(
    Filling f, Branch branch, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t end, list later
)
cdef INode _present(Filling f, INode inode)
