"""The compiled body of packed_key.py, which is the text to read; packed_key.h says how a text is kept."""

from cpython.object cimport PyObject, PyTypeObject, destructor

from ctrie._native cimport SLOT_NEEDS_PIN
from ctrie._nodes cimport SNode

cdef extern from "untracked.h":
    void plain_drop(PyObject *node) noexcept

cdef extern from "packed_key.h":
    int packed_set(packed_text *text, str string) except -1
    int packed_copy(packed_text *text, const packed_text *other) except -1
    void packed_free(packed_text *text)
    str packed_string(const packed_text *text)
    Py_ssize_t packed_followed(const packed_text *text, tuple words, Py_ssize_t start, str separator)
    bint packed_begins(const packed_text *text, str word, str separator)


cdef class TextNode(SNode):
    """An S-node whose key is a text: words, joined by a separator."""

    def __dealloc__(self):
        packed_free(&self.text)

    @property
    def key(self):
        return packed_string(&self.text)

    cdef bint is_for(self, object key, object equal) except -1:
        text = packed_string(&self.text)
        return text == key if equal is None else equal(text, key)


cdef void _drop(PyObject *node) noexcept:
    packed_free(SUBTRIE_TEXT(node))
    plain_drop(node)


cdef drop_texts(type kind):
    if SLOT_NEEDS_PIN:
        (<PyTypeObject *>kind).tp_dealloc = _drop


cdef int set_key(TextNode node, str key) except -1:
    return packed_set(&node.text, key)


cdef int copy_key(TextNode node, TextNode other) except -1:
    return packed_copy(&node.text, &other.text)


cdef Py_ssize_t words_followed(TextNode node, tuple words, Py_ssize_t start, str separator) noexcept:
    return packed_followed(&node.text, words, start, separator)


cdef bint key_begins(TextNode node, str word, str separator) noexcept:
    return packed_begins(&node.text, word, separator)
