# The C bodies of steps.py.
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.match.scratch cimport Question
from subtrie._trie.match.walk cimport Trails, Traversal, prefetch

cdef extern from *:
    """
    #ifdef CTRIE_EXPLORED
    enum { TOPICS_OF_GROUP = 1, FEWEST_OF_GROUP = 1 };       /* a group of each topic */
    #else
    enum { TOPICS_OF_GROUP = 16, FEWEST_OF_GROUP = 4 };
    #endif
    """
    enum:
        GROUP "TOPICS_OF_GROUP"
        FEWEST "FEWEST_OF_GROUP"
    Borrowed text_at "PyList_GET_ITEM" (object array, Py_ssize_t i)

cdef enum:
    PREFETCHES = 1
    ROOM = 512              # all queues together take less than what malloc asks the system for anew each time
    WILD = -1

cdef enum:
    AT_CHILD
    AT_TEXT
    AT_INNER
    AT_MAIN
    KINDS

cdef struct Member:
    Question question
    Trails trails

cdef struct Step:
    PyObject *node
    Traversal *topic
    uint64_t hash
    uint64_t positions
    int level
    short word
    short child

cdef struct Steps:
    Py_ssize_t counts[KINDS]
    Step queues[KINDS][ROOM]

cdef struct Batch:
    Member *group           # NULL: no memory was needed yet
    Py_ssize_t count
    Steps *steps


cdef inline void begin_batch(Batch *batch) noexcept:
    batch.group = NULL
    batch.steps = NULL


cdef inline void end_batch(Batch *batch) noexcept:
    PyMem_RawFree(batch.group)
    PyMem_RawFree(batch.steps)


cdef inline bint has_room(Batch *batch) noexcept:
    if batch.group == NULL:
        batch.group = <Member *>PyMem_RawMalloc(GROUP * sizeof(Member))
    if batch.steps == NULL:
        batch.steps = <Steps *>PyMem_RawMalloc(sizeof(Steps))
    return batch.group != NULL and batch.steps != NULL


cdef inline Question *question_at(Member *group, Py_ssize_t i) noexcept nogil:
    return &group[i].question


cdef inline Traversal *topic_at(Member *group, Py_ssize_t i) noexcept nogil:
    return &group[i].question.walk


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


cdef inline Step *next_step(Steps *steps, int kind) noexcept nogil:
    return &steps.queues[kind][steps.counts[kind]]


cdef inline Step *moved(const Step *step, Steps *steps, int kind) noexcept nogil:
    cdef Step *there = next_step(steps, kind)
    there[0] = step[0]
    return there


cdef inline void keep(const Step *step, Steps *steps, int kind, bint wanted) noexcept nogil:
    steps.counts[kind] += wanted        # no branch, which the processor could not foresee


# What is read of a node begins with its type, the last word of the head that all objects have, and may end in another
# line of memory: a C-node's bitmap is its second word, a branch has six, and of a level's I-node only the slot is read.

cdef inline const char *behind_head(Borrowed node) noexcept nogil:
    return <const char *>node + sizeof(PyObject)


cdef inline void fetch_main(Borrowed main) noexcept nogil:
    prefetch(behind_head(main) - 8)
    prefetch(behind_head(main) + 8)


cdef inline void fetch_branch(Borrowed branch) noexcept nogil:
    prefetch(behind_head(branch) - 8)
    prefetch(behind_head(branch) + 40)


cdef inline void fetch_level(Borrowed inode) noexcept nogil:
    prefetch(behind_head(inode))


cdef inline void fetch_characters(Borrowed text) noexcept:
    prefetch(<const char *>text + 56)
