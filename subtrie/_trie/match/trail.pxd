# The compiled body of trail.py; trail.h says what a trail is.
from libc.stdint cimport uint64_t

from subtrie._trie.match.buffer cimport buffer
from subtrie._trie.match.reading cimport words_of
from subtrie._trie.packed_key cimport packed_text

cdef extern from "trail.h":
    Py_ssize_t trail_add(buffer *trail, uint64_t above, const packed_text *text, Py_ssize_t start) nogil
    str trail_text(bytes trail, Py_ssize_t at)


cdef inline str text_of(object trail, Py_ssize_t at):
    if type(trail) is bytes:
        return trail_text(<bytes>trail, at)
    separator, path = trail
    return (<str>separator).join(words_of(path))
