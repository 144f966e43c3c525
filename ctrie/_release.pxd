# The C body of _release.py.
cdef extern from "release.h":
    void release(list dropped, tuple kinds)
    void release_items(list items)
