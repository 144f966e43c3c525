# The C bodies of steps.py.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.match.scratch cimport Scratch
from subtrie._trie.match.walk cimport Trails, Traversal, prefetch

cdef extern from *:
    """
    #ifdef CTRIE_EXPLORED       /* the first four children, wherever the node lies: a schedule must repeat */
    #define is_same_line(a, b) ((const char *)(a) - (const char *)(b) < 40)
    #else
    #define is_same_line(a, b) (((uintptr_t)(a) ^ (uintptr_t)(b)) < 64)
    #endif
    #define child_place(cn, place) (&CTRIE_CHILD(cn, place))
    """
    bint is_same_line(const void *a, const void *b) nogil
    const void *child_place(PyObject *cn, Py_ssize_t place) nogil

cdef enum:
    ROOM = 1024
    WILD = -1
    HEAD = 24               # where what is read of a C-node begins
    TAIL = 56               # where what is read of a branch may stand in another line

cdef enum:
    AT_LEVEL
    AT_MAIN
    AT_INNER
    AT_PLACE
    AT_CHILD
    AT_TEXT

cdef struct Member:
    Scratch scratch
    Trails trails

cdef struct Step:
    PyObject *node
    Traversal *topic
    uint64_t hash
    uint64_t positions
    int level
    short word
    signed char state
    signed char place

cdef struct Steps:
    Py_ssize_t count
    Step items[ROOM]

ctypedef Step *OneStep
ctypedef Traversal *OneTopic


cdef inline Scratch *scratch_at(Member *group, Py_ssize_t i) noexcept nogil:
    return &group[i].scratch


cdef inline Traversal *topic_at(Member *group, Py_ssize_t i) noexcept nogil:
    return &group[i].scratch.walk


cdef inline Trails *trails_at(Member *group, Py_ssize_t i) noexcept nogil:
    return &group[i].trails


cdef inline Step *step_at(Steps *steps, Py_ssize_t i) noexcept nogil:
    return &steps.items[i]


cdef inline void clear(Steps *steps) noexcept nogil:
    steps.count = 0


cdef inline Step *new_step(Steps *steps) noexcept nogil:
    steps.count += 1
    return &steps.items[steps.count - 1]


cdef inline void drop(Steps *steps, Py_ssize_t i) noexcept nogil:
    steps.count -= 1
    steps.items[i] = steps.items[steps.count]


cdef inline bint is_in_first_line(Borrowed cn, Py_ssize_t place) noexcept nogil:
    return is_same_line(child_place(cn, place), <const char *>cn + HEAD)


cdef inline void fetch_main(Borrowed main) noexcept nogil:
    prefetch(main)
    prefetch(<const char *>main + HEAD)


cdef inline void fetch_branch(Borrowed branch) noexcept nogil:
    prefetch(branch)
    prefetch(<const char *>branch + TAIL)


cdef inline void fetch_level(Borrowed inode) noexcept nogil:
    prefetch(inode)
    prefetch(<const char *>inode + 16)
