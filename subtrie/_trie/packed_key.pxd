# C types for packed_key.py.
from cpython.object cimport PyObject

from ctrie._nodes cimport SNode

cdef extern from "packed_key.h" nogil:
    ctypedef struct packed_text:
        pass
    ctypedef struct characters:
        const char *data
        Py_ssize_t length
        int kind

    characters packed_characters(const packed_text *text)
    bint packed_is_here(const packed_text *text)

cdef extern from "packed_key.h":
    Py_ssize_t packed_followed(const packed_text *text, tuple words, Py_ssize_t start, str separator)

cdef class TextNode(SNode):
    cdef packed_text text

    cdef bint is_for(self, object key, object equal) except -1


cdef inline packed_text *text_of(PyObject *node) noexcept nogil:
    return &(<TextNode>node).text


# The same as words_followed, for a borrowed node.
cdef inline Py_ssize_t words_followed_in(PyObject *node, tuple words, Py_ssize_t start, str separator) noexcept:
    return packed_followed(text_of(node), words, start, separator)


cdef drop_texts(type kind)
cdef int set_key(TextNode node, str key) except -1
cdef int copy_key(TextNode node, TextNode other) except -1
cdef Py_ssize_t words_followed(TextNode node, tuple words, Py_ssize_t start, str separator) noexcept
cdef bint key_begins(TextNode node, str word, str separator) noexcept
