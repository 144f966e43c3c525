# C types for buffers.py.
from libc.stdint cimport int32_t

from subtrie._trie.branch cimport Branch

cdef extern from "columns.h":
    ctypedef struct growing:
        char *data
        Py_ssize_t used

cdef struct text_column:
    growing offsets
    growing text

cdef struct bit_column:
    growing bits
    Py_ssize_t count
    Py_ssize_t clear

cdef struct place:
    Py_ssize_t end
    int32_t depth
    int32_t wildcards

cdef struct short_text:
    char data[64]
    Py_ssize_t size


cdef class Options:
    cdef object _texts
    cdef readonly dict kinds
    cdef growing _offsets
    cdef bit_column _validity
    cdef text_column _names
    cdef text_column _values
    cdef bit_column _values_validity

    cpdef int add(self, dict options, bint there) except -1
    cdef int _add_value(self, object name, object value) except -1
    cpdef Py_ssize_t text(self) noexcept


cdef class Rows:
    cdef object _dialect
    cdef object _texts
    cdef bint _ask
    cdef char _busy
    cdef readonly int kinds
    cdef readonly Py_ssize_t rows
    cdef readonly Options options
    cdef short_text _separator
    cdef bytes _one
    cdef bytes _many
    cdef bytes _share
    cdef bint _zero_words
    cdef growing _places
    cdef place _here
    cdef growing _spelled
    cdef growing _ends
    cdef text_column _filters
    cdef growing _word_lists
    cdef text_column _words
    cdef growing _depths
    cdef growing _wildcards
    cdef text_column _subscribers
    cdef text_column _groups
    cdef bit_column _grouped

    cpdef int begin(self) except -1
    cpdef int done(self) except -1
    cdef int push(self) except -1
    cdef int pop(self) except -1
    cdef int spell(self, Branch branch) except -1
    cdef int _add_words(self, Py_ssize_t start) except -1
    cpdef int row(self, object group, bint shared, object subscriber, dict options) except -1
    cdef int _add_subscriber(self, object subscriber) except -1
    cpdef Py_ssize_t text(self) noexcept


cpdef list strings(const unsigned char[::1] offsets, const unsigned char[::1] text)
cpdef Rows new_rows(object dialect, object texts, bint ask)
