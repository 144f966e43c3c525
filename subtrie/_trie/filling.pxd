# C types for filling.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._bulk cimport Ordered
from ctrie._cnode cimport CNode, Gen, MainNode
from ctrie._nodes cimport INode, Root
from subtrie._trie.branch cimport Branch
from subtrie._trie.match.questions cimport Matchable
from subtrie._trie.subscribers cimport Entry


@cython.locals(root=Root, old=INode, main=MainNode, cn=CNode, rows=list, row=tuple, filling=Filling, filled=INode)
cpdef Py_ssize_t fill(Matchable trie, list given) except -2
@cython.locals(path=tuple, options=dict)
cdef tuple _row_of(Matchable trie, object one)
cdef bint _is_plain(object dialect, object options) except -1


cdef class Filling:
    cdef Gen _gen
    cdef str _separator
    cdef readonly Py_ssize_t repeated

    @cython.locals(parted=dict, row=tuple, word=str, several=list, made=list, ordered=Ordered, cn=CNode)
    cdef INode level(self, list rows, Py_ssize_t depth)
    @cython.locals(row=tuple, words=tuple, hashes=tuple, entry=Entry, end=Py_ssize_t, longer=list, below=INode)
    cdef Branch _branch(self, list rows, Py_ssize_t depth)
    @cython.locals(present=Entry)
    cdef object _joined(self, object audience, Entry entry)


cdef Py_ssize_t _agree_until(tuple words, tuple others, Py_ssize_t start, Py_ssize_t end) except -1
@cython.locals(filling=Filling)
cdef Filling new_filling(str separator)
