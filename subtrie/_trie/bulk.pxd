# C types for bulk.py.
cimport cython
from libc.stdint cimport uint64_t

from subtrie._trie.trie cimport SubscriptionTrie


cdef class Bulk:
    cdef SubscriptionTrie _trie
    cdef readonly Py_ssize_t rows

    @cython.locals(trie=SubscriptionTrie, number=Py_ssize_t, first=Py_ssize_t, queues=bint, added=bint, place=tuple)
    cpdef object add(self, list filters, list subscribers, list options)


@cython.locals(bulk=Bulk)
cpdef Bulk new_bulk(object dialect, bint exact)
