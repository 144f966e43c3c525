# The C bodies of _machine.py.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport never_tracked

cdef extern from "arrays.h" nogil:
    const int W "CTRIE_W"
    const int GROUPS "CTRIE_GROUPS"
    uint64_t flag_at "ctrie_flag_at" (uint64_t hash, int shift)
    int popcount "ctrie_popcount" (uint64_t bitmap)

cdef extern from "arrays.h":
    tuple replaced "ctrie_replaced" (tuple array, Py_ssize_t pos, object item)
    tuple inserted "ctrie_inserted" (tuple array, Py_ssize_t pos, object item)
    tuple removed "ctrie_removed" (tuple array, Py_ssize_t pos)
    void untrack_constant "ctrie_untrack_constant" (object node)

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


cdef extern from "stack.h":
    int check_stack() except -1

cdef extern from "methods.h":
    int own_methods(object kind) except -1

cdef extern from "signals.h":
    int check_signals() except -1

cdef enum:
    EVERY = 128

cdef extern from "release.h":
    int release(list dropped, tuple kinds) except -1
    int release_items(list items) except -1
