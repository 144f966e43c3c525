# The C bodies of gate_state.py.
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.match.steps cimport Member, Steps
from subtrie._trie.match.walk cimport prefetch

cdef extern from *:
    """
    #include <time.h>
    static inline uint64_t nanoseconds(void)
    {
        struct timespec now;
        timespec_get(&now, TIME_UTC);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
    #ifdef CTRIE_EXPLORED       /* a group of each topic, which would otherwise take a large trie */
    enum { GATE_GROUP = 1, GATE_FEWEST = 1, GATE_SMALL = 0, GATE_LARGE = 0 };
    #else
    enum { GATE_GROUP = 16, GATE_FEWEST = 4, GATE_SMALL = 8000, GATE_LARGE = 200000 };
    #endif
    """
    enum:
        GROUP "GATE_GROUP"
        FEWEST "GATE_FEWEST"
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
    Member *group           # NULL: no memory was needed yet
    Py_ssize_t count
    Steps *steps
    bint pays
    bint better
    Py_ssize_t round
    Py_ssize_t rounds
    uint64_t since
    uint64_t spent[2]
    uint64_t longest[2]

ctypedef Gate *Gated


cdef inline void begin_gate(Gate *w) noexcept:
    w.group = NULL
    w.steps = NULL
    w.pays = w.better = False
    w.rounds = 0


cdef inline void end_gate(Gate *w) noexcept:
    PyMem_RawFree(w.group)
    PyMem_RawFree(w.steps)


cdef inline bint has_room(Gate *w) noexcept:
    if w.group == NULL:
        w.group = <Member *>PyMem_RawMalloc(GROUP * sizeof(Member))
    if w.steps == NULL:
        w.steps = <Steps *>PyMem_RawMalloc(sizeof(Steps))
    return w.group != NULL and w.steps != NULL


cdef inline void fetch_characters(Borrowed text) noexcept:
    prefetch(<const char *>text + 56)
