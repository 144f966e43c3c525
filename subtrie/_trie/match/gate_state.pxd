# The C bodies of gate_state.py.
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.match.steps cimport Steps
from subtrie._trie.match.walk cimport Traversal, prefetch

cdef extern from *:
    """
    #include <time.h>
    static inline uint64_t nanoseconds(void)
    {
        struct timespec now;
        timespec_get(&now, TIME_UTC);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
    #ifdef CTRIE_EXPLORED       /* a pass for each topic, which would otherwise take a large trie */
    enum { GATE_GROUP = 1, GATE_SMALL = 0, GATE_LARGE = 0 };
    #else
    enum { GATE_GROUP = 16, GATE_SMALL = 12000, GATE_LARGE = 200000 };
    #endif
    """
    enum:
        GROUP "GATE_GROUP"
        SMALL "GATE_SMALL"
        LARGE "GATE_LARGE"
    uint64_t nanoseconds()
    Borrowed text_at "PyList_GET_ITEM" (object array, Py_ssize_t i)

cdef enum:
    PREFETCHES = 1
    TRIED = 8
    ROUNDS = 128
    MOST_ROUNDS = 2_048

cdef struct Gate:
    Traversal *topics       # NULL: no memory was needed yet
    Steps *here
    Steps *there
    bint pays
    bint better
    Py_ssize_t round
    Py_ssize_t rounds
    uint64_t since
    uint64_t spent[2]
    uint64_t longest[2]

ctypedef Gate *Gated


cdef inline void begin_gate(Gate *w) noexcept:
    w.topics = NULL
    w.here = w.there = NULL
    w.pays = w.better = False
    w.rounds = 0


cdef inline void end_gate(Gate *w) noexcept:
    PyMem_RawFree(w.topics)
    PyMem_RawFree(w.here)
    PyMem_RawFree(w.there)


cdef inline bint has_room(Gate *w, Py_ssize_t count) noexcept:
    if w.topics == NULL:
        w.topics = <Traversal *>PyMem_RawMalloc(count * sizeof(Traversal))
    if w.here == NULL:
        w.here = <Steps *>PyMem_RawMalloc(sizeof(Steps))
    if w.there == NULL:
        w.there = <Steps *>PyMem_RawMalloc(sizeof(Steps))
    return w.topics != NULL and w.here != NULL and w.there != NULL


cdef inline void fetch_characters(Borrowed text) noexcept:
    prefetch(<const char *>text + 56)
