# The compiled body of trail.py; trail.h says what a trail is.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from subtrie._trie.match.buffer cimport buffer
from subtrie._trie.match.reading cimport words_of
from subtrie._trie.packed_key cimport packed_text

cdef extern from "trail.h":
    Py_ssize_t trail_add(buffer *trail, uint64_t above, const packed_text *text, Py_ssize_t start) nogil
    bint trail_end(buffer *trail, PyObject *topic, Py_UCS4 separator, Py_UCS4 one, Py_UCS4 many, int many_min)
    str trail_text(bytes trail, Py_ssize_t at)
    str trail_marks(bytes trail)
    int trail_many_min(bytes trail)
    Py_ssize_t trail_topic(bytes trail)


cdef inline str text_of(object trail, Py_ssize_t at):
    if type(trail) is bytes:
        return trail_text(<bytes>trail, at)
    dialect, path, _ = trail
    return (<str>dialect.separator).join(words_of(path))


cdef inline tuple topic_of(object trail):
    cdef str marks
    if type(trail) is not bytes:
        dialect, _, topic = trail
        return topic, dialect.separator, dialect.one_word, dialect.many_words, dialect.many_min
    marks = trail_marks(<bytes>trail)
    topic = trail_text(<bytes>trail, trail_topic(<bytes>trail))
    return topic, marks[0], marks[1], marks[2], trail_many_min(<bytes>trail)
