# C types for needs.py, and the bodies of its smallest functions.
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from ctrie._nodes cimport mix
from subtrie.fields.boxes cimport Box
from subtrie.fields.criteria cimport Criterion, Key, PIECES
from subtrie.fields.texts cimport LONGEST_PIECE, Wildcard
from subtrie.fields.topics cimport Topic

cdef object Equals      # a global of the module would be counted, as one that all threads have


cdef inline uint64_t bit_of_field(uint64_t name_hash) noexcept nogil:
    return <uint64_t>1 << (name_hash & 63)


cdef inline uint64_t bit_of_value(uint64_t name_hash, uint64_t value_hash) noexcept nogil:
    return <uint64_t>1 << ((name_hash ^ value_hash) >> 58)


cdef inline uint32_t bit_of_piece(uint64_t piece_hash) noexcept nogil:
    return <uint32_t>1 << (piece_hash >> 59)


@cython.locals(bits=uint32_t, i=Py_ssize_t, pattern=Wildcard, part=str)
cpdef uint32_t pieces_needed(object access, object rest) except? 0xFFFFFFFF
@cython.locals(needs=uint64_t)
cpdef uint64_t needs_of(object rest) except? 1
@cython.locals(name_hash=uint64_t, topic=Topic)
cdef uint64_t _bits_of(Criterion criterion) except? 1
