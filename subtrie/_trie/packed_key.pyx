"""The compiled twin of packed_key.py, which explains the code; packed_key.h describes how a text is stored."""

from cpython.object cimport PyObject, PyTypeObject, destructor

from ctrie._nodes cimport SNode

cdef extern from "packed_key.h":
    int packed_set(packed_text *text, str string) except -1
    int packed_copy(packed_text *text, const packed_text *other) except -1
    void packed_free(packed_text *text)
    str packed_string(const packed_text *text)
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


cdef destructor _drop_leaf = NULL      # the same for all types of leaves, since one module makes them


cdef void _drop(PyObject *node) noexcept:
    packed_free(text_of(node))
    _drop_leaf(node)


cdef drop_texts(type kind):
    global _drop_leaf
    _drop_leaf = (<PyTypeObject *>kind).tp_dealloc
    (<PyTypeObject *>kind).tp_dealloc = <destructor>_drop


cdef int set_key(TextNode node, str key) except -1:
    return packed_set(&node.text, key)


cdef int copy_key(TextNode node, TextNode other) except -1:
    return packed_copy(&node.text, &other.text)


cdef Py_ssize_t words_followed(TextNode node, tuple words, Py_ssize_t start, str separator) noexcept:
    return packed_followed(&node.text, words, start, separator)


cdef bint key_begins(TextNode node, str word, str separator) noexcept:
    return packed_begins(&node.text, word, separator)
