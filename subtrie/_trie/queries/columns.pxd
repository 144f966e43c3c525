# C types for columns.py.
cimport cython

from ctrie._nodes cimport Root
from subtrie._trie.branch cimport Branch
from subtrie._trie.queries.buffers cimport Rows
from subtrie._trie.subscribers cimport Entry


cdef class SetColumns:
    cdef Root _root
    cdef list _nodes
    cdef readonly Rows rows

    @cython.locals(filling=Rows, nodes=list)
    cpdef bint fill(self, Py_ssize_t rows, Py_ssize_t text) except -1
    cdef object _branch(self, Branch branch)
    @cython.locals(entry=Entry)
    cdef object _members(self, object group, object members)
    cdef object _row(self, object group, object subscriber, dict options)


@cython.locals(columns=SetColumns)
cpdef SetColumns set_columns(Root root, object dialect, object texts, bint ask)
