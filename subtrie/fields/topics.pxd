# C types for topics.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._machine cimport untrack_constant
from ctrie._native cimport Borrowed, borrow
from subtrie._trie.match.plan cimport word_hash
from subtrie._trie.match.walk cimport item_of, size_of
from subtrie.fields.criteria cimport Criterion, LEADS, TOPICS
from subtrie.fields.words cimport (
    ALL, ANYWHERE, MOST_PLACES, PAIRS, Words, as_number, bit_of_word, count_of, hash_of, hash_of_more, hash_of_one,
    is_reserved, is_word, put_strings, release_words, strings_of
)

cdef object WORDS, Dialect


@cython.locals(hash=uint64_t, i=Py_ssize_t)
cdef uint64_t hash_of_all(const Words *words) noexcept
@cython.locals(size=Py_ssize_t, first=Py_ssize_t, i=Py_ssize_t)
cdef bint stand_there(const Words *words, Borrowed key, Py_ssize_t place) noexcept


cdef class Topic(Criterion):
    cdef readonly object dialect
    cdef readonly str filter
    cdef readonly tuple words
    cdef tuple _asked
    cdef bint _is_open, _is_left_to_dialect, _begins_wild
    cdef Py_ssize_t _least

    @cython.locals(words=Words)
    cpdef bint holds(self, object value) except -1
    cdef bint is_found_exactly(self) except -1
    cdef bint is_implied_by(self, Criterion access) except -1
    cpdef tuple leads(self)
    cpdef list literal_words(self)
    @cython.locals(bits=uint64_t)
    cdef uint64_t needs(self) except? 1
    cpdef list steps(self, object access)


@cython.locals(asked=Borrowed, more=Py_ssize_t, i=Py_ssize_t)
cdef bint topic_holds(Topic topic, Words *words) except -1


cdef class WordsAt(Criterion):
    cdef readonly tuple key
    cdef readonly uint64_t key_hash

    cpdef bint holds(self, object value) except -1


@cython.locals(first=Py_ssize_t, hash=uint64_t, one=uint64_t, i=Py_ssize_t)
cdef uint64_t _hash_at(Py_ssize_t place, tuple words) except? 0
