"""The compiled body of _cnode.py, which is the text to read; cnode.h describes where a node keeps its branches.

If the garbage collector tracks none of a node's branches, it does not track the node either (slot.h says why). An
S-node never changes, so it is untracked for good or tracked for good. If an I-node below becomes tracked, the C-node
becomes tracked, too (untracked.h).
"""

from cpython.object cimport PyObject, PyTypeObject, Py_TPFLAGS_BASETYPE
from libc.stdint cimport uint64_t

from ctrie._machine cimport is_out_of_track, keep_track

cdef extern from "arrays.h":
    ctypedef struct array_part:
        pass
    array_part part_of_tuple(tuple array, Py_ssize_t kept, Py_ssize_t skipped, PyObject *item)
    tuple tuple_of_part(array_part part)

cdef extern from "cnode.h":
    CNode cnode_make(PyTypeObject *type, uint64_t bitmap, array_part part, bint tracked)
    array_part cnode_part(object cn, Py_ssize_t kept, Py_ssize_t skipped, PyObject *branch)
    CNode cnode_of_moved "cnode_of_branches" (PyTypeObject *type, uint64_t bitmap, Branches *branches)
    Py_ssize_t cnode_bytes(object cn)
    int cnode_prepare(PyTypeObject *type) except -1

cdef extern from "Python.h":
    bint PyObject_GC_IsTracked(PyObject *o)

cdef PyTypeObject *CNODE = <PyTypeObject *>CNode


cdef class Gen:
    """A generation."""


cdef class MainNode(Slot):
    """What an I-node holds."""


cdef class CNode(MainNode):
    """Branches."""

    def __sizeof__(self):
        return cnode_bytes(self)


cnode_prepare(CNODE)
CNODE.tp_flags &= ~Py_TPFLAGS_BASETYPE    # an instance of a class derived from it would have no place for its branches


cdef CNode new_cnode(uint64_t bitmap, tuple array):
    cdef bint tracked = False
    for branch in array:
        tracked = tracked or PyObject_GC_IsTracked(<PyObject *>branch)
    return cnode_make(CNODE, bitmap, part_of_tuple(array, len(array), 0, NULL), tracked)


cdef CNode cnode_of_branches(uint64_t bitmap, Branches *branches):
    return cnode_of_moved(CNODE, bitmap, branches)


cdef CNode _changed(CNode cn, uint64_t bitmap, Py_ssize_t pos, Py_ssize_t skipped, PyObject *branch):
    cdef bint tracked = PyObject_GC_IsTracked(<PyObject *>cn) or (branch != NULL and PyObject_GC_IsTracked(branch))
    cdef CNode changed = cnode_make(CNODE, bitmap, cnode_part(cn, pos, skipped, branch), tracked)
    if is_out_of_track(changed, cn):    # the allocation may have started a collection, which may run users' code
        keep_track(changed)
    return changed


cdef tuple branches_of(CNode cn):
    return tuple_of_part(cnode_part(cn, 0, 0, NULL))


cdef CNode with_branch(CNode cn, uint64_t flag, Py_ssize_t pos, object branch):
    return _changed(cn, cn.bitmap | flag, pos, 0, <PyObject *>branch)


cdef CNode with_other_branch(CNode cn, Py_ssize_t pos, object branch):
    return _changed(cn, cn.bitmap, pos, 1, <PyObject *>branch)


cdef CNode without_branch(CNode cn, uint64_t flag, Py_ssize_t pos):
    return _changed(cn, cn.bitmap ^ flag, pos, 1, NULL)
