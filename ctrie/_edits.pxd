# C types for _edits.py, which has the text.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._cnode cimport (
    CNode, MainNode, bitmap_of, branch_at, child_at, with_branch, with_other_branch, without_branch,
)
from ctrie._machine cimport W, flag_at, inserted, is_out_of_track, keep_track, popcount, removed, replaced
from ctrie._native cimport borrow, borrowed, is_exactly, peek, pin, unpin
from ctrie._nodes cimport (
    Edit, INode, LNode, Root, SNode, TNode, gcas, gcas_read, gen_of, new_inode, new_lnode, new_tnode,
    rdcss_read_root, two_snodes, renewed,
)

cdef int DONE, RESTART, AGAIN

cdef SNode edit_trie(Root root, Edit edit)
cdef object _clear_path(Root root, Edit edit)
cdef int _attempt(Root root, Edit edit) except -1
cdef int _from_root(Root root, Edit edit) except -1
@cython.locals(here=INode, parent_here=INode, parent_main_here=MainNode)
cdef bint _approach(Root root, Edit edit) except -1
cdef int _go_on(Root root, Edit edit) except -1
@cython.locals(sn=SNode)
cdef int _edit_cnode(Root root, Edit edit, CNode cn) except -1
@cython.locals(sn=SNode, pos=Py_ssize_t)
cdef int _edit_lnode(Root root, Edit edit, LNode ln) except -1
cdef int _edit_snode(Root root, Edit edit, MainNode main, Py_ssize_t pos, SNode sn) except -1
@cython.locals(cn=CNode, ln=LNode)
cdef MainNode _without_snode(Edit edit, MainNode main, Py_ssize_t pos)
cdef SNode _created(Edit edit)
cdef int _add_to_cnode(Root root, Edit edit, CNode cn, uint64_t flag, Py_ssize_t pos) except -1
cdef int _split(Root root, Edit edit, CNode cn, Py_ssize_t pos) except -1
cdef int _enter(Root root, Edit edit, MainNode main, Py_ssize_t pos, INode inode, SNode above) except -1
cdef int _commit(Root root, Edit edit, MainNode old, MainNode new) except -1
cdef int _remove(Root root, Edit edit, MainNode old, MainNode new) except -1
@cython.locals(cn=CNode)
cdef bint _is_one_snode(Edit edit, MainNode main) except -1
cdef bint _roll_up(Root root, Edit edit, CNode cn) except -1
cdef object _bury(Root root, Edit edit, TNode tomb)
@cython.locals(same=bint)
cdef bint _is_first(Root root, INode inode) except -1
@cython.locals(sn=SNode)
cdef MainNode _cnode_without_tomb(Edit edit, CNode cn, TNode tomb, bint first_of_trie)
@cython.locals(sn=SNode, pos=Py_ssize_t)
cdef MainNode _lnode_without_tomb(Edit edit, LNode ln, TNode tomb)

@cython.locals(ln=LNode)
cdef MainNode _with_other(MainNode main, Py_ssize_t pos, object branch)
cdef MainNode contracted(CNode cn, int lev, bint first_of_trie)
cdef MainNode _without_entry(LNode ln, Py_ssize_t pos)
