# The C bodies of steps.py.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.match.scratch cimport Scratch
from subtrie._trie.match.walk cimport Trails, Traversal, prefetch

cdef enum:
    ROOM = 512              # all queues together take less than what malloc asks the system for anew each time
    WILD = -1
    HEAD = 24               # where what is read of a C-node begins
    TAIL = 56               # where what is read of a branch may stand in another line

cdef enum:
    AT_PLACE
    AT_CHILD
    AT_TEXT
    AT_INNER
    AT_LEVEL
    AT_MAIN
    KINDS

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
    short place

cdef struct Steps:
    Py_ssize_t counts[KINDS]
    Step queues[KINDS][ROOM]

ctypedef Step *OneStep
ctypedef Traversal *OneTopic


cdef inline Scratch *scratch_at(Member *group, Py_ssize_t i) noexcept nogil:
    return &group[i].scratch


cdef inline Traversal *topic_at(Member *group, Py_ssize_t i) noexcept nogil:
    return &group[i].scratch.walk


cdef inline Trails *trails_at(Member *group, Py_ssize_t i) noexcept nogil:
    return &group[i].trails


cdef inline Py_ssize_t queued(const Steps *steps, int kind) noexcept nogil:
    return steps.counts[kind]


cdef inline Step *step_at(Steps *steps, int kind, Py_ssize_t i) noexcept nogil:
    return &steps.queues[kind][i]


cdef inline void clear(Steps *steps) noexcept nogil:
    cdef int kind
    for kind in range(KINDS):
        steps.counts[kind] = 0


cdef inline void forget(Steps *steps, int kind) noexcept nogil:
    steps.counts[kind] = 0


cdef inline Step *new_step(Steps *steps, int kind) noexcept nogil:
    cdef Step *step = &steps.queues[kind][steps.counts[kind]]
    steps.counts[kind] += 1
    return step


cdef inline Step *moved(const Step *step, Steps *steps, int kind) noexcept nogil:
    cdef Step *there = new_step(steps, kind)
    there[0] = step[0]
    return there


cdef inline void fetch_main(Borrowed main) noexcept nogil:
    prefetch(main)
    prefetch(<const char *>main + HEAD)


cdef inline void fetch_branch(Borrowed branch) noexcept nogil:
    prefetch(branch)
    prefetch(<const char *>branch + TAIL)


cdef inline void fetch_level(Borrowed inode) noexcept nogil:
    prefetch(inode)
    prefetch(<const char *>inode + 16)
