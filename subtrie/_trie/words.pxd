# The compiled twin of words.py.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from subtrie._trie.packed_key cimport characters, packed_text

cdef extern from "words.h" nogil:
    ctypedef struct word:
        const char *data
        Py_ssize_t length
        int kind
        uint64_t hash

    uint64_t word_secret[2]
    uint64_t MARKED "MARKED_GROUP"
    uint64_t ONE_WORD "ONE_WORD_GROUP"
    uint64_t MANY_WORDS "MANY_WORDS_GROUP"
    word word_of_string(PyObject *string)
    bint word_is_string(const word *w, PyObject *string)
    Py_UCS4 character_at(const characters *text, Py_ssize_t at)
    Py_ssize_t word_end(const characters *text, Py_ssize_t at, Py_UCS4 separator)
    bint word_is_part(const word *w, const characters *text, Py_ssize_t start, Py_ssize_t end)
    bint word_begins(const word *w, const packed_text *text, Py_UCS4 separator)
    ctypedef struct word_rules:
        uint64_t separators
        uint64_t specials[8]
        int special_count
        bint empty_ordinary

    uint64_t repeated(unsigned char byte)
    bint word_is_word(const word *a, const word *b)
    Py_ssize_t words_split(const char *data, Py_ssize_t length, const word_rules *rules, word *words, Py_ssize_t most)
