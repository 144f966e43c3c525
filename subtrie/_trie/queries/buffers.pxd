# C types for buffers.py.
cimport cython

from subtrie._trie.branch cimport Branch
from subtrie._trie.queries.growing cimport (
    add, add_bit, add_branch, add_int, add_number, add_part, add_text, bit_column, cut, clear_flag, set_flag, free_bytes,
    free_texts, growing, is_empty, reads_as_integer, pop_int, drained as bytes_drained, drained_bits, text_column,
)
from subtrie._trie.words cimport MARKED
from libc.stdint cimport INT32_MAX, int32_t


cdef enum:
    _STRINGS = 1
    _INTEGER_TEXTS = 2
    _INTEGERS = 4
    _OTHERS = 8


cdef class GrowingOptions:
    cdef object _texts
    cdef readonly dict kinds
    cdef growing _offsets
    cdef text_column _names
    cdef text_column _values
    cdef bit_column _validity

    cdef int add(self, dict options) except -1
    @cython.locals(known=int, there=bint)
    cdef int _add_value(self, object name, object value) except -1
    cpdef Py_ssize_t text(self) noexcept


cdef class GrowingRows:
    cdef object _texts
    cdef bint _ask
    cdef char _busy
    cdef readonly int kinds
    cdef readonly Py_ssize_t rows
    cdef readonly GrowingOptions options
    cdef bytes _separator
    cdef bytes _share
    cdef growing _lengths
    cdef int32_t _here
    cdef growing _spelled
    cdef text_column _filters
    cdef text_column _subscribers
    cdef text_column _groups
    cdef bit_column _grouped

    cdef int begin(self) except -1
    cdef int done(self) except -1
    cdef int push(self) except -1
    cdef int pop(self) except -1
    @cython.locals(marked=bint)
    cdef int spell(self, Branch branch) except -1
    @cython.locals(name=bytes)
    cdef int row(self, object group, object subscriber, dict options) except -1
    cdef int _add_subscriber(self, object subscriber) except -1
    cpdef Py_ssize_t text(self) noexcept


cdef inline int _begin_texts(text_column *column) except -1
cdef inline int _end_text(text_column *column) except -1
cdef bytes _offsets_drained(growing *offsets)
cdef object _texts_drained(text_column *column)
cdef GrowingRows new_rows(object dialect, object texts, bint ask)
