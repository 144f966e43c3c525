from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._nodes cimport Root, Rooted, SNode

cdef int help_pending(Root root, PyObject *inode, PyObject *main) except -1
cdef SNode find(Rooted trie, object key, uint64_t hash, object equal)
cdef object find_value(Rooted trie, object key, uint64_t hash, object equal, object default)
cdef bint put_quickly(Rooted trie, object key, uint64_t hash, object equal, object value) except -1
