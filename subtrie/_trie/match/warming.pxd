from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from subtrie._trie.match.walk cimport Traversal

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

cdef void warm(Traversal *topics, Py_ssize_t count, PyObject *first, Step *steps) noexcept
cdef double estimated_size(Traversal *t, PyObject *first) noexcept
