# The C bodies of words.py.
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.match.plan cimport Plan, begins_reserved, word_for, words_in_topic
from subtrie._trie.match.walk cimport MOST_WORDS
from subtrie._trie.words cimport word, word_is_string

cdef extern from *:
    void XINCREF "Py_XINCREF" (PyObject *thing) noexcept
    void XDECREF "Py_XDECREF" (PyObject *thing) noexcept

cdef enum:
    MOST_PLACES = 63
    PAIRS = 64
    ALL = 128
    ANYWHERE = 129

cdef struct Words:
    word *words             # `size` of them, each with the hash that it has where it stands
    Py_ssize_t size
    bint reserved
    PyObject *strings       # all of them in a tuple, NULL if nobody has wanted it
    PyObject *dialect       # borrowed, as `topic`: the caller has them
    PyObject *topic
    word room[MOST_WORDS]


# ------------------------------------------------------------------------------------------------------------- hashes

cdef inline uint64_t hash_of_one(Py_ssize_t i, uint64_t hash) noexcept:
    return hash ^ <uint64_t>(i + 1) * <uint64_t>0x9E3779B97F4A7C15


cdef inline uint64_t hash_of_more(uint64_t one, uint64_t other) noexcept:
    return one * <uint64_t>0xD6E8FEB86659FD93 ^ other


cdef inline uint64_t bit_of_word(uint64_t hash) noexcept:
    return <uint64_t>1 << (hash >> 48 & 63)


# -------------------------------------------------------------------------------------------------------------- words

cdef inline int put_words(Words *words, Plan plan, object dialect, object topic) except -1:
    cdef Py_ssize_t i
    words.strings = NULL
    words.words = words.room
    words.dialect, words.topic = <PyObject *>dialect, <PyObject *>topic
    words.size = -1
    if plan is not None:
        words.size = words_in_topic(<PyObject *>plan, words.topic, words.room)
    if words.size <= 0:
        return put_strings(words, dialect, dialect.split_topic(topic))
    words.reserved = begins_reserved(<PyObject *>plan, words.topic)
    for i in range(words.size):
        words.words[i].hash = hash_of_one(i, words.words[i].hash)
    return 0


cdef inline int put_strings(Words *words, object dialect, tuple strings) except -1:
    cdef Py_ssize_t i
    for i in range(len(strings)):
        if not isinstance(strings[i], str):
            raise TypeError("a word is no text")
    words.size = len(strings)
    words.reserved = dialect.is_reserved(strings)
    words.words = words.room
    words.strings = NULL
    if words.size > MOST_WORDS:
        words.words = <word *>PyMem_RawMalloc(words.size * sizeof(word))
        if words.words == NULL:
            raise MemoryError()
    for i in range(words.size):
        words.words[i] = word_for(<PyObject *>strings[i])
        words.words[i].hash = hash_of_one(i, words.words[i].hash)
    words.strings = <PyObject *>strings
    XINCREF(words.strings)
    return 0


cdef inline void release_words(Words *words) noexcept:
    XDECREF(words.strings)
    if words.words != words.room:
        PyMem_RawFree(words.words)


cdef inline Py_ssize_t count_of(const Words *words) noexcept:
    return words.size


cdef inline uint64_t hash_of(const Words *words, Py_ssize_t i) noexcept:
    return words.words[i].hash


cdef inline bint is_word(const Words *words, Py_ssize_t i, Borrowed text) noexcept:
    return word_is_string(&words.words[i], text)


cdef inline tuple strings_of(Words *words):
    cdef tuple strings
    if words.strings == NULL:
        strings = (<object>words.dialect).split_topic(<object>words.topic)
        words.strings = <PyObject *>strings
        XINCREF(words.strings)
    return <tuple>words.strings


cdef inline bint is_reserved(const Words *words) noexcept:
    return words.reserved


cdef inline Py_ssize_t as_number(Borrowed number) noexcept:
    return <Py_ssize_t><object>number
