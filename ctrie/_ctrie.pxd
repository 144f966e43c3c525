# C types for _ctrie.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._changeable cimport ChangeableMap, REMOVE, REMOVE_SAME, REPLACE, REPLACE_SAME
from ctrie._descent cimport GROUP, NoValue, find_value, is_there, prefetch_text, warm, warm_walk
from ctrie._machine cimport check_signals, own_methods
from ctrie._native cimport borrow
from ctrie._nodes cimport (
    INode, Pair, Root, SNode, branches, empty_root, fork_root, freeze_root, is_empty, rdcss_read_root,
)
from ctrie._tally cimport Tally, exact, known, read, taken_over


cdef Py_ssize_t BLOCK
cdef int KEYS, VALUES, PAIRS
cdef object _ABSENT


@cython.collection_type("mapping")
cdef class Ctrie(ChangeableMap):
    @cython.locals(answers=list, block=list, start=Py_ssize_t, at=Py_ssize_t)
    cdef list _get_all(self, list keys, object default)
    @cython.locals(hashes=uint64_t[16], count=Py_ssize_t, i=Py_ssize_t)
    cdef int _get_group(self, list keys, Py_ssize_t start, object default, list answers) except -1
    @cython.locals(other=Ctrie)
    cdef Ctrie _with_content(self, Root root, Tally tally)
    @cython.locals(other=Ctrie)
    cdef Ctrie _with_root(self, Root root)

@cython.locals(count=Py_ssize_t, root=Root, stack=list)
cpdef Py_ssize_t _number(Ctrie trie) except -1
cdef Root _frozen(Ctrie trie)
cdef bint compares_as(Ctrie one, Ctrie other) except -1
@cython.locals(remade=Ctrie)
cpdef Ctrie _remade(object cls, object hash, object equal)
