# C types for draws.pyx.
from libc.stdint cimport uint64_t

cdef uint64_t draw(uint64_t size) noexcept nogil
