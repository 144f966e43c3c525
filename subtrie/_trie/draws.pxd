# The C bodies of draws.py.
from libc.stdint cimport uint64_t

cdef extern from "draws.h":
    uint64_t draw_word() nogil
    uint64_t draw_again(uint64_t size) nogil
    uint64_t draw(uint64_t size) nogil
