# The C bodies of _words.py.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

cdef extern from "words.h" nogil:
    ctypedef struct word:
        const char *data
        Py_ssize_t length
        int kind
        uint64_t hash

    uint64_t word_secret[2]
    uint64_t ONE_WORD "ONE_WORD_GROUP"
    uint64_t MANY_WORDS "MANY_WORDS_GROUP"
    word word_of_string(PyObject *string)
    bint word_is_string(const word *w, PyObject *string)
    Py_ssize_t words_split(const char *text, Py_ssize_t length, char separator, const char *special,
                           Py_ssize_t specials, bint empty_ordinary, word *words, Py_ssize_t most)
