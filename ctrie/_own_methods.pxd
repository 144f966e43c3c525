# The C body of _own_methods.py.
cdef extern from "methods.h":
    int own_methods(object kind) except -1
