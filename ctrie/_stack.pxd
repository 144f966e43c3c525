# The C body of _stack.py.
cdef extern from "stack.h":
    int check_stack() except -1
