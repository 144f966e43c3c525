# The C bodies of _memory.py.
from cpython.object cimport PyObject

from ctrie._native cimport never_tracked

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(PyObject *o)

cdef extern from "leaf.h":
    int leaf_after(object first) except -1
    object new_leaf(object type, object one, object other)

cdef extern from "untracked.h":
    void untrack_above(object inode, object main)
    bint is_out_of_track(object inode, object main)
    void keep_track(object node)


cdef inline void untrack(object node, object one, object other) noexcept:
    # slot.h gives the reason.
    if never_tracked(<PyObject *>one) and never_tracked(<PyObject *>other):
        PyObject_GC_UnTrack(<PyObject *>node)
