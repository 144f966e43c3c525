# Buffers of machine words; buffer.h says what they are.
from libc.stdint cimport uint64_t

cdef extern from "buffer.h" nogil:
    ctypedef struct buffer:
        uint64_t *items
        Py_ssize_t count
        Py_ssize_t capacity

    void buffer_start(buffer *b)
    void buffer_free(buffer *b)
    bint buffer_push(buffer *b, uint64_t item)
    bint buffer_push_pair(buffer *b, uint64_t one, uint64_t two)
    uint64_t *buffer_room_for(buffer *b, Py_ssize_t more)
