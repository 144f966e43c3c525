# C types for tree.py, and the C bodies of what a search of a tree asks.
cimport cython
from cpython.object cimport PyObject

from ctrie._machine cimport inserted, removed, replaced, untrack_constant
from ctrie._native cimport Borrowed, PyTuple_GET_ITEM_PTR, Py_None
from subtrie.fields.maps cimport crowd_size

cdef enum:
    MOST = 16       # entries of a node
cdef int LEAST


cdef class Tree:
    cdef int size                   # the number of entries
    cdef readonly tuple below
    cdef readonly tuple keys
    cdef readonly object first
    cdef PyObject *entries[MOST]    # what `below` holds, one step nearer

    cdef Tree blank(self)
    cdef int order_at(self, Py_ssize_t i, object key) except -2
    cdef int note(self, Tree before, object key) except -1
    cdef int check_noted(self, list keys) except -1


cdef inline void note_entries(Tree node) noexcept:
    cdef int i
    node.size = len(node.below)
    for i in range(node.size):
        node.entries[i] = PyTuple_GET_ITEM_PTR(<PyObject *>node.below, i)


cdef inline bint is_leaf(Borrowed node) noexcept:
    return <PyObject *>(<Tree>node).keys != Py_None


cdef inline Py_ssize_t count_at(Borrowed node) noexcept:
    return (<Tree>node).size


cdef inline Borrowed below_at(Borrowed node, Py_ssize_t i) noexcept:
    return (<Tree>node).entries[i]


cdef inline Borrowed key_at(Borrowed node, Py_ssize_t i) noexcept:
    return PyTuple_GET_ITEM_PTR(<PyObject *>(<Tree>node).keys, i)


# A tree takes keys of its own kind, and does not look: no Python code may call these.
cdef Tree filled(Tree node, tuple keys, tuple below, Tree before, object key)
@cython.locals(child=Tree)
cdef object first_at(Tree node, Py_ssize_t i)
@cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t)
cdef Py_ssize_t _place_of(Tree node, object key) except -2
@cython.locals(i=Py_ssize_t, node=Tree)
cdef object filed_under(Tree tree, object key)
@cython.locals(nodes=tuple)
cdef Tree with_key(Tree tree, object key, object filed)
@cython.locals(i=Py_ssize_t)
cdef tuple _with(Tree node, object key, object filed)
@cython.locals(half=Py_ssize_t, left=tuple, right=tuple)
cdef tuple _nodes(Tree like, tuple keys, tuple below, Tree before, object key)
cdef tuple _exchanged(tuple below, Py_ssize_t i, tuple nodes)
@cython.locals(left=Tree, only=Tree)
cdef Tree without_key(Tree tree, object key)
@cython.locals(i=Py_ssize_t, left=Py_ssize_t, child=Tree, joined=tuple)
cdef Tree _without(Tree node, object key)
@cython.locals(keys=tuple)
cdef tuple _joined(Tree one, Tree other)
@cython.locals(leaf=Tree)
cpdef object check_tree(object tree)
@cython.locals(node=Tree)
cdef object _check_node(Tree node)
