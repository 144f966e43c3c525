# The C bodies of _signals.py.
cdef extern from "signals.h":
    int check_signals() except -1
    void let_others_run() noexcept  # the same without signals: for what must not raise

cdef enum:
    EVERY = 128
