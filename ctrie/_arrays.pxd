# The C bodies of _arrays.py.
from libc.stdint cimport uint64_t

cdef extern from "arrays.h" nogil:
    const int W "CTRIE_W"
    const int GROUPS "CTRIE_GROUPS"
    uint64_t flag_at "ctrie_flag_at" (uint64_t hash, int shift)
    int popcount "ctrie_popcount" (uint64_t bitmap)

cdef extern from "arrays.h":
    tuple replaced "ctrie_replaced" (tuple array, Py_ssize_t pos, object item)
    tuple inserted "ctrie_inserted" (tuple array, Py_ssize_t pos, object item)
    tuple removed "ctrie_removed" (tuple array, Py_ssize_t pos)
    void settle "ctrie_settle" (object node)
