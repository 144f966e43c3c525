# C types for taking.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._bulk cimport Ordered, hash_at
from ctrie._cnode cimport (
    Branches, CNode, MainNode, add_branch, branch_at, cnode_of_branches, drop_branches, new_branches, share_branch,
    with_other_branch, without_branch,
)
from ctrie._edits cimport clear_path, contracted
from ctrie._machine cimport EVERY, W, check_signals, check_stack, flag_at, popcount
from ctrie._native cimport Borrowed
from ctrie._nodes cimport (
    INode, Root, SNode, TNode, gcas, gcas_read, new_tnode, rdcss_read_root, renewed, root_of,
)
from subtrie._trie.branch cimport Branch, FilterEdit, Unsubscribe, changed_branch, is_wanted, subscribers_of, unsubscribe_edit
from subtrie._trie.filling cimport (
    DEEP, FilterRow, Filling, group_of, order, put_row, row_at, shared_until, subscriber_of,
)
from subtrie._trie.groups cimport members_of, with_members
from subtrie._trie.keyed cimport Keyed, find_keyed, without_keyed
from subtrie._trie.match.plan cimport Matchable, Plan, plan_of
from subtrie._trie.warming cimport warm_rows


cdef int FEW


cdef class Taking:
    cdef Filling filling
    cdef FilterEdit edit
    cdef bint renews
    cdef list unburied
    cdef list unclear


@cython.freelist(8)
cdef class BranchChange:
    cdef uint64_t flag
    cdef object was
    cdef object branch
    cdef bint own
    cdef INode below
    cdef int lev
    cdef Py_ssize_t depth
    cdef Py_ssize_t start
    cdef Py_ssize_t going
    cdef Py_ssize_t end
    cdef Py_ssize_t number
    cdef bint single


@cython.locals(root=Root, top=INode, t=Taking, number=Py_ssize_t)
cdef object take_rows(Filling f, Py_ssize_t count)
@cython.locals(words=tuple, hashes=tuple)
cdef object _clear(Filling f, Py_ssize_t number)
@cython.locals(plan=Borrowed, separator=str)
cdef Unsubscribe _unsubscribe(Filling f, tuple words, tuple hashes)
@cython.locals(
    f=Filling, root=Root, main=MainNode, old=CNode, copied=CNode, known=Py_ssize_t, own=Py_ssize_t, changes=int,
    steps=list, step=BranchChange, below=INode, above=bint, top=bint
)
cdef bint _take(
    Taking t, INode inode, int lev, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth, bint bare, Py_ssize_t number
) except -1
cdef MainNode _to_publish(CNode cn, int lev, bint bare, bint top)
@cython.locals(cn=CNode)
cdef bint is_single(MainNode main) except -1
@cython.locals(root=Root, step=BranchChange, below=INode)
cdef object _look_again(Taking t, INode inode, MainNode main, list steps)
@cython.locals(
    f=Filling, steps=list, flag=uint64_t, stop=Py_ssize_t, below=INode, number=Py_ssize_t, step=BranchChange
)
cdef list _steps(Taking t, CNode cn, int lev, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth)
@cython.locals(
    f=Filling, ordered=Ordered, going=Py_ssize_t, end=Py_ssize_t, words=Py_ssize_t, place=Py_ssize_t, row=FilterRow,
    shared=Py_ssize_t, number=Py_ssize_t, below=INode, visits=bint, changed=Branch, own=bint
)
cdef BranchChange _at_branch(
    Taking t, Branch branch, uint64_t flag, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t depth
)
cdef Branch _replaced(Branch branch, object audience, object left, INode below)
@cython.locals(present=Keyed)
cdef object _without(Filling f, object audience, FilterRow row)
@cython.locals(f=Filling)
cdef INode _present(Taking t, INode inode)
@cython.locals(step=BranchChange)
cdef BranchChange _new_step(
    uint64_t flag, object was, object branch, bint own, INode below, int lev, Py_ssize_t depth, Py_ssize_t start, Py_ssize_t going,
    Py_ssize_t end, Py_ssize_t number
)
@cython.locals(step=BranchChange, below=INode, branch=Branch)
cdef CNode _renewing(CNode cn, list steps)
@cython.locals(changes=int, step=BranchChange, below=INode, main=MainNode, tomb=TNode, branch=Branch)
cdef int _see_what_is_left(Taking t, list steps) except -1
@cython.locals(step=BranchChange, pos=Py_ssize_t)
cdef CNode _changed(CNode cn, list steps, int changes)
@cython.locals(
    branches=Branches[1], bitmap=uint64_t, left=uint64_t, pos=Py_ssize_t, at=Py_ssize_t, flag=uint64_t
)
cdef CNode _of_branches(CNode cn, list steps)
@cython.locals(numbers=list, place=Py_ssize_t)
cdef list numbers_of(Filling f, Py_ssize_t start, Py_ssize_t end)
