"""Bytes, texts and bits that grow, in Arrow's layout.

The compiled body of growing.py, by columns.h: no Python object is made of what is added.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t

from subtrie._trie.branch cimport Branch
from subtrie._trie.packed_key cimport characters, packed_characters, text_of

cdef extern from "columns.h":
    int growing_add_digits(growing *g, long long number) except -1

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int *overflow) except? -1


cdef int add_number(growing *g, object number) except -1:
    """Add an integer's digits. 0: it has more than 64 bits, and nothing is added."""
    cdef int overflow = 0
    cdef long long digits = PyLong_AsLongLongAndOverflow(number, &overflow)
    if overflow != 0:
        return 0
    growing_add_digits(g, digits)
    return 1


cdef bint add_branch(growing *g, Branch branch, bint marked) except -1:
    cdef characters text = packed_characters(text_of(<PyObject *>branch))
    if marked:
        text.data += text.kind      # the separator after the mark
        text.length -= 1
    return add_characters(g, text) == 0


cdef bytes drained(growing *g):
    kept = PyBytes_FromStringAndSize(g.data, g.used)
    g.used = 0
    return kept


cdef tuple drained_bits(bit_column *column):
    cdef Py_ssize_t clear = column.clear
    column.count = column.clear = 0
    bits = drained(&column.bits)
    return (None, 0) if clear == 0 else (bits, clear)


cdef void free_texts(text_column *column) noexcept:
    free_bytes(&column.offsets)
    free_bytes(&column.text)


def strings(offsets, text):
    """Return the texts of a column. ValueError if it is none: offsets out of order, bytes that are not UTF-8."""
    cdef Py_buffer ends, content
    PyObject_GetBuffer(offsets, &ends, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(text, &content, PyBUF_SIMPLE)
        try:
            return strings_between(&ends, &content)
        finally:
            PyBuffer_Release(&content)
    finally:
        PyBuffer_Release(&ends)


cdef list strings_between(Py_buffer *offsets, Py_buffer *text):
    """A typed memoryview would say the same, in more compiled code than this module has."""
    cdef Py_ssize_t rows = offsets.len // <Py_ssize_t>sizeof(int32_t) - 1
    cdef const int32_t *ends = <const int32_t *>offsets.buf
    cdef const char *content = <const char *>text.buf
    cdef int32_t start
    if rows < 0:
        raise ValueError("no text column: it has no offsets")
    start = ends[0]
    found = []
    for at in range(1, rows + 1):
        if start < 0 or ends[at] < start or ends[at] > text.len:
            raise ValueError("no text column: the offsets do not go on within the text")
        found.append(PyUnicode_DecodeUTF8(content + start, ends[at] - start, NULL))
        start = ends[at]
    return found
