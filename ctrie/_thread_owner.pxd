# C types for _thread_owner.py.
cdef class Doer:
    cdef object _process
    cdef object _thread

    cpdef bint is_left_behind(self) except -1
