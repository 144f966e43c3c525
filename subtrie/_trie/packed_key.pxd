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

cdef extern from *:
    # For borrowed traversal; see ctrie/_nodes.pxd.
    """
    #define SUBTRIE_TEXT(node) (&((struct __pyx_obj_7subtrie_5_trie_10packed_key_TextNode *)(node))->text)
    """
    packed_text *SUBTRIE_TEXT(PyObject *node) nogil


cdef class TextNode(SNode):
    cdef packed_text text

    cdef bint is_for(self, object key, object equal) except -1


cdef drop_texts(type kind)
cdef int set_key(TextNode node, str key) except -1
cdef int copy_key(TextNode node, TextNode other) except -1
cdef Py_ssize_t words_followed(TextNode node, tuple words, Py_ssize_t start, str separator) noexcept
cdef bint key_begins(TextNode node, str word, str separator) noexcept
