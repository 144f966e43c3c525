# The C bodies of _signals.py.
cdef extern from "signals.h":
    int check_signals() except -1

cdef enum:
    EVERY = 128
