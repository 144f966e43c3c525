# The C bodies of _arrays.py.
from libc.stdint cimport uint32_t

cdef extern from "arrays.h":
    tuple replaced "ctrie_replaced" (tuple array, Py_ssize_t pos, object item)
    tuple inserted "ctrie_inserted" (tuple array, Py_ssize_t pos, object item)
    tuple removed "ctrie_removed" (tuple array, Py_ssize_t pos)
    int popcount "ctrie_popcount" (uint32_t bitmap) nogil
