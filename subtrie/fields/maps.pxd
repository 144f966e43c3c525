# C types for maps.py.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, branch_at, branches_of, new_cnode, with_branch, with_other_branch, without_branch
from ctrie._machine cimport W, flag_at, inserted, popcount, removed, replaced, untrack_constant
from ctrie._native cimport PyTuple_GET_ITEM_PTR
from subtrie._trie.keyed cimport Keyed, set_size

cdef extern from *:
    """
    /* As untrack_constant, for what each subscription has. On free-threaded builds a collection visits whatever was allocated for
     * it, tracked or not, and comes when a quarter more has been allocated than is tracked. So what is visited anyway stays
     * tracked there: the matcher's own entries would otherwise have all of them visited for every few hundred new ones. */
    #ifdef Py_GIL_DISABLED
    #define untrack_entry(entry) ((void)(entry))
    #else
    #define untrack_entry(entry) ctrie_untrack_constant(entry)
    #endif
    """
    void untrack_entry(object entry) noexcept

cdef int _HASH_BITS


cdef enum:
    FEW = 4

cdef class Crowd:
    cdef readonly Py_ssize_t count


cdef class Cell(Keyed):
    cdef readonly object value
    cdef int few                # how many of the next there are
    cdef PyObject *entries[FEW] # what `value` leads to, one step nearer, if it is that many entries at most


cdef inline void note_few(Cell cell) noexcept:
    cdef Py_ssize_t i
    cell.few = 0
    if isinstance(cell.value, Keyed):
        cell.few = 1
        cell.entries[0] = <PyObject *>cell.value
    elif type(cell.value) is tuple and len(<tuple>cell.value) <= FEW:
        cell.few = len(<tuple>cell.value)
        for i in range(cell.few):
            cell.entries[i] = PyTuple_GET_ITEM_PTR(<PyObject *>cell.value, i)


@cython.locals(crowd=Crowd)
cpdef Py_ssize_t crowd_size(object filed) except -1
@cython.locals(cell=Cell)
cpdef Cell new_cell(object key, uint64_t hash, object value)
@cython.locals(shift=int, cn=CNode, flag=uint64_t, found=Cell)
cpdef Cell find_in_map(object cells, object key, uint64_t hash)
@cython.locals(cn=CNode, flag=uint64_t, pos=Py_ssize_t, other=Cell)
cpdef object with_cell(object node, Cell cell, Cell found, int shift=*)
@cython.locals(left=tuple, cn=CNode, flag=uint64_t, pos=Py_ssize_t, changed=CNode)
cdef object without_cell(object node, Cell found, int shift=*)
@cython.locals(pos=Py_ssize_t)
cdef Py_ssize_t _place_of(tuple cells, Cell found) except -1
@cython.locals(listed=list, stack=list)
cpdef list cells_of(object cells)
@cython.locals(cn=CNode)
cdef object _check_node(object node, object shift, object path)
