from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from subtrie._trie.match.buffer cimport buffer
from subtrie._trie.words cimport word

cdef extern from *:
    """
    #define prefetch(node) __builtin_prefetch(node)
    /* What is to be counted is to be written: on free-threaded builds another core may have it. */
    #ifdef Py_GIL_DISABLED
    #define prefetch_to_count(object) __builtin_prefetch(object, 1)
    #else
    #define prefetch_to_count(object) __builtin_prefetch(object)
    #endif
    """
    void prefetch(const void *node) nogil
    void prefetch_to_count(const void *object) nogil

cdef enum:
    MOST_WORDS = 63     # positions 0 to 63 are the bits of a machine word
    NOTED = 3           # what `seen` holds for an I-node

cdef enum:              # how a traversal goes on or ends
    THROUGH
    PENDING
    NO_MEMORY
    ENOUGH              # one branch is found, and one is all that was wanted
    UNSPLIT             # the topic's words are needed

cdef struct Trails:         # how a traversal came to what it found (trail.h), for questions that want the filters
    buffer above            # of each level but the first, in the order in which they are gone through: the branch that
                            # leads to it, the number of that branch's level, and a place for ABOVE
    buffer levels           # of each branch found, the number of its level
    buffer records          # the trails, when all is found

cdef enum:
    ABOVE = 3               # what `above` holds for a level

cdef struct Traversal:
    word words[MOST_WORDS]  # of the topic, `size` of them
    Py_ssize_t size         # 0: not split yet, which is for a trie with exact=True only (exact_layout.py)
    word whole              # in such a trie: the topic as one word
    bint exact
    uint64_t full           # the positions 0 to size
    int many_min
    Py_UCS4 separator
    Py_UCS4 one
    Py_UCS4 many
    bint reserved
    bint only_first
    Trails *trails          # NULL: nobody wants them
    uint64_t level          # with them: the number of the present level, from 0
    PyObject *pending       # the I-node of an undecided GCAS that stopped the traversal
    PyObject *pending_main
    buffer seen             # I-node, main node, positions: those of a level that begins there, 0 for I-nodes inside
    buffer found            # branches

cdef int traverse(Traversal *t, PyObject *first, PyObject *main) noexcept nogil

cdef enum:
    KEPT = 12               # words, at most, of a topic whose own filter is looked for

cdef struct Passed:         # what was passed on the way to the topic's own filter
    PyObject *mains[KEPT + 1]   # of each level its first main node
    int taken[KEPT + 1]         # and how many words had been taken by then
    int count                   # of levels

cdef int find_named(Traversal *t, PyObject *main, Passed *passed) noexcept nogil
cdef int traverse_beside(Traversal *t, const Passed *passed, PyObject *named) noexcept nogil
cdef bint still_holds(Traversal *t, PyObject *root, PyObject *first) noexcept nogil

cdef enum:
    ROOM = 1024             # steps of a warming pass that are under way at most

cdef struct Step:           # where a warming pass is with one topic, on one of its ways
    PyObject *node          # fetched, but not looked at yet
    uint64_t hash           # of the word or wildcard that is looked for there: what C-nodes have not told apart yet
    uint64_t whole          # the same, whole
    uint64_t positions      # after it
    int topic
    short state
    int end                 # how many characters the word has

cdef void warm(Traversal *topics, Py_ssize_t count, PyObject *first, Step *steps) noexcept nogil
cdef double estimated_size(Traversal *t, PyObject *first) noexcept nogil
