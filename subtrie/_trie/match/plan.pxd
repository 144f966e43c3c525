# C types for plan.py.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from ctrie._nodes cimport Rooted
from subtrie._trie.match.answer_cache cimport Cache
from subtrie._trie.match.reading cimport Query
from subtrie._trie.match.walk cimport Traversal
from subtrie._trie.words cimport word, word_rules


cdef class Plan:
    cdef readonly object dialect
    cdef readonly str separator
    cdef Py_UCS4 separator_in_place
    cdef bint in_place      # matching.py serves for it
    cdef bint splits        # so does words.h
    cdef readonly bint exact
    cdef word_rules in_topics
    cdef word_rules in_filters
    cdef int many_min
    cdef Py_ssize_t max_bytes
    cdef Py_ssize_t most
    cdef int reserved  # first character of reserved topics, -1 for none
    cdef char one
    cdef char many
    cdef bint many_last
    cdef bint wildcards_in_words
    cdef readonly str share
    cdef bint shares        # the methods of `Dialect` write the filter of a group
    cdef bint unites         # groups of one name are one group
    cdef Py_ssize_t most_in_filter


cdef class Matchable(Rooted):
    cdef Plan _plan
    cdef Cache _cache
    cdef object _home  # see Matchable in plan.py


# Views of what a trie keeps for good, not counted: all threads would write there.
cdef inline Borrowed plan_of(Matchable trie) noexcept:
    return <PyObject *>trie._plan


cdef inline Borrowed cache_of(Matchable trie) noexcept:
    return <PyObject *>trie._cache


cpdef uint64_t word_hash(str word) except? 0
cdef word word_for(PyObject *string) noexcept
cdef Py_ssize_t words_in_filter(Plan plan, object filter, word *words) noexcept
cdef Py_ssize_t words_in_topic(PyObject *plan, PyObject *topic, word *words) noexcept
cdef bint begins_reserved(PyObject *plan, PyObject *topic) noexcept
cpdef tuple filter_path(Matchable trie, object filter)
cdef bint is_plain_filter(Matchable trie, object filter) noexcept
cpdef tuple path_by(Plan plan, object filter)
cdef bint split_in_place(Traversal *t, PyObject *plan, PyObject *topic) noexcept
cdef bint split_filter_in_place(Traversal *t, PyObject *plan, PyObject *filter) noexcept
cdef bint prepare_whole(Traversal *t, PyObject *plan, PyObject *topic) noexcept
cdef void put_query(Traversal *t, PyObject *plan, Query query) noexcept
cdef void lay_out(Traversal *t, PyObject *plan, PyObject *whole) noexcept
cdef Query query_of(PyObject *plan, object topic)
cdef Query query_again(PyObject *plan, object topic)
