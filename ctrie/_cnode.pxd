# C types for _cnode.py.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Slot

cdef extern from "cnode.h" nogil:
    # Views for borrowed traversal: no reference is counted, so the caller must be pinned.
    uint64_t CTRIE_BITMAP(PyObject *cn)
    PyObject *CTRIE_CHILD(PyObject *cn, Py_ssize_t i)
    uint64_t bitmap_of "CTRIE_BITMAP" (PyObject *cn)
    PyObject *child_at "CTRIE_CHILD" (PyObject *cn, Py_ssize_t i)
    ctypedef struct Branches "cnode_branches":
        pass

cdef extern from "cnode.h":
    void new_branches "branches_start" (Branches *branches) noexcept
    void move_branch "branches_move" (Branches *branches, PyObject **branch, bint untracked) noexcept
    void add_branch "branches_add" (Branches *branches, object branch) noexcept
    void share_branch "branches_share" (Branches *branches, object branch, object cn) noexcept
    void drop_branches "branches_drop" (Branches *branches) noexcept


cdef class Gen:
    pass


cdef class MainNode(Slot):
    pass


cdef class CNode(MainNode):
    cdef uint64_t bitmap


cdef inline object branch_at(CNode cn, Py_ssize_t pos):
    return <object>CTRIE_CHILD(<PyObject *>cn, pos)


cdef CNode new_cnode(uint64_t bitmap, tuple array)
cdef CNode cnode_of_branches(uint64_t bitmap, Branches *branches)
cdef tuple branches_of(CNode cn)
cdef CNode with_branch(CNode cn, uint64_t flag, Py_ssize_t pos, object branch)
cdef CNode with_other_branch(CNode cn, Py_ssize_t pos, object branch)
cdef CNode without_branch(CNode cn, uint64_t flag, Py_ssize_t pos)
