# C types for maps.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode
from subtrie._trie.subscribers cimport Entry

cdef int _HASH_BITS


cdef class Cell(Entry):
    cdef readonly object value


@cython.locals(cell=Cell)
cpdef Cell new_cell(object key, uint64_t hash, object value)
@cython.locals(shift=int, cn=CNode, flag=uint64_t, found=Cell)
cpdef Cell find_in_map(object cells, object key, uint64_t hash)
cpdef object with_cell(object cells, Cell cell, Cell found)
@cython.locals(cn=CNode, flag=uint64_t, pos=Py_ssize_t, other=Cell)
cdef object _with(object node, Cell cell, Cell found, int shift)
cpdef object without_cell(object cells, Cell found)
@cython.locals(left=tuple, cn=CNode, flag=uint64_t, pos=Py_ssize_t, changed=CNode)
cdef object _without(object node, Cell found, int shift)
@cython.locals(pos=Py_ssize_t)
cdef Py_ssize_t _place_of(tuple cells, Cell found) except -1
@cython.locals(listed=list, stack=list)
cpdef list cells_of(object cells)
@cython.locals(cn=CNode)
cdef object _check_node(object node, object shift, object path)
