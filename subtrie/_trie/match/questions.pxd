from libc.stdint cimport uint64_t

from ctrie._nodes cimport Rooted
from subtrie._trie.match.answer_cache cimport Cache
from subtrie._trie.words cimport word, word_rules


cdef class Plan:
    cdef readonly object dialect
    cdef readonly str separator
    cdef Py_UCS4 separator_in_place
    cdef bint in_place      # traversal.py serves for it
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
    cdef Py_ssize_t most_in_filter

cdef class Matchable(Rooted):
    cdef Plan _plan
    cdef Cache _cache
    cdef object _home  # see Matchable in questions_interpreted.py

cpdef uint64_t word_hash(str word) except? 0
cdef Py_ssize_t words_in_filter(Plan plan, object filter, word *words) noexcept
cpdef tuple filter_path(Matchable trie, object filter)
cpdef tuple path_by(Plan plan, object filter)
cpdef tuple match(Matchable trie, topic, bint take_turns=*)
cpdef object exact_first(Matchable trie, topic)
cpdef bint has_match(Matchable trie, topic) except -1
cpdef list match_many(Matchable trie, topics)
cpdef tuple match_numbers(Matchable trie, list topics)
cpdef tuple deliveries(Matchable trie, topic)
cpdef list deliveries_many(Matchable trie, topics)
cpdef tuple all_held(Matchable trie, topic)
cpdef tuple all_found(Matchable trie, topic)
