# The C bodies of _signals.py.
cdef extern from "Python.h":
    int check_signals "PyErr_CheckSignals" () except -1

cdef enum:
    EVERY = 1024
