from cpython.object cimport PyObject

from subtrie._trie.match.walk cimport Traversal

cdef enum:
    KEPT = 12               # words, at most, of a topic whose own filter is looked for

cdef struct Passed:         # what was passed on the way to the topic's own filter
    PyObject *mains[KEPT + 1]   # of each level its first main node
    int taken[KEPT + 1]         # and how many words had been taken by then
    int count                   # of levels

cdef int find_named(Traversal *t, PyObject *main, Passed *passed) noexcept
cdef int traverse_beside(Traversal *t, const Passed *passed, PyObject *named) noexcept
