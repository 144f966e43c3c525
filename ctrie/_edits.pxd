# C types for _edits.py, which has the text.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._cnode cimport (
    CNode, Gen, MainNode, bitmap_of, branch_at, child_at, with_branch, with_other_branch, without_branch,
)
from ctrie._machine cimport W, flag_at, inserted, is_out_of_track, keep_track, popcount, removed, replaced
from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly, peek, pin, unpin
from ctrie._nodes cimport (
    Edit, INode, LNode, Root, SNode, TNode, gcas, gcas_read, gen_of, new_inode, new_lnode, new_tnode,
    rdcss_read_root, two_snodes, renewed,
)

cdef int DONE, RESTART, AGAIN

@cython.locals(outcome=int)
cdef SNode edit_trie(Root root, Edit edit)
@cython.locals(outcome=int)
cdef object clear_path(Root root, Edit edit)
cdef object _clear_path(Root root, Edit edit)
cdef int _attempt(Root root, Edit edit) except -1
cdef int _from_root(Root root, Edit edit) except -1
@cython.locals(
    inode=Borrowed, lev=int, parent_lev=int, parent_hash=uint64_t, parent=Borrowed, parent_main=Borrowed, main=Borrowed,
    flag=uint64_t, branch=Borrowed, in_level=bint, below=Borrowed, here=INode, parent_here=INode,
    parent_main_here=MainNode
)
cdef bint _approach(Root root, Edit edit) except -1
@cython.locals(main=MainNode, outcome=int)
cdef int _go_on(Root root, Edit edit) except -1
@cython.locals(sn=SNode, flag=uint64_t, pos=Py_ssize_t)
cdef int _edit_cnode(Root root, Edit edit, CNode cn) except -1
@cython.locals(sn=SNode, pos=Py_ssize_t, added=SNode)
cdef int _edit_lnode(Root root, Edit edit, LNode ln) except -1
@cython.locals(below=INode, new=SNode, changed=MainNode)
cdef int _edit_snode(Root root, Edit edit, MainNode main, Py_ssize_t pos, SNode sn) except -1
@cython.locals(cn=CNode, left=CNode, ln=LNode)
cdef MainNode _without_snode(Edit edit, MainNode main, Py_ssize_t pos)
cdef SNode _created(Edit edit)
@cython.locals(added=SNode)
cdef int _add_to_cnode(Root root, Edit edit, CNode cn, uint64_t flag, Py_ssize_t pos) except -1
@cython.locals(added=SNode, gen=Gen, both=INode)
cdef int _split(Root root, Edit edit, CNode cn, Py_ssize_t pos) except -1
@cython.locals(copy=INode, changed=MainNode)
cdef int _enter(Root root, Edit edit, MainNode main, Py_ssize_t pos, INode inode, SNode above) except -1
cdef int _commit(Root root, Edit edit, MainNode old, MainNode new) except -1
cdef int _remove(Root root, Edit edit, MainNode old, MainNode new) except -1
@cython.locals(cn=CNode)
cdef bint _is_one_snode(Edit edit, MainNode main) except -1
cdef bint _roll_up(Root root, Edit edit, CNode cn) except -1
@cython.locals(main=MainNode, left=MainNode)
cdef object _bury(Root root, Edit edit, TNode tomb)
@cython.locals(top=Borrowed, same=bint)
cdef bint _is_first(Root root, INode inode) except -1
@cython.locals(sn=SNode, flag=uint64_t, pos=Py_ssize_t, new=SNode, left=CNode)
cdef MainNode _cnode_without_tomb(Edit edit, CNode cn, TNode tomb, bint first_of_trie)
@cython.locals(sn=SNode, pos=Py_ssize_t, new=SNode)
cdef MainNode _lnode_without_tomb(Edit edit, LNode ln, TNode tomb)

@cython.locals(ln=LNode)
cdef MainNode _with_other(MainNode main, Py_ssize_t pos, object branch)
@cython.locals(size=Py_ssize_t)
cdef MainNode contracted(CNode cn, int lev, bint first_of_trie)
@cython.locals(entries=tuple)
cdef MainNode _without_entry(LNode ln, Py_ssize_t pos)
