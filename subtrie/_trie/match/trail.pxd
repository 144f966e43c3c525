# The compiled body of trail.py; trail.h says what a trail is.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from subtrie._trie.match.buffer cimport buffer
from subtrie._trie.match.reading cimport words_of
from subtrie._trie.packed_key cimport packed_text

cdef extern from "trail.h":
    Py_ssize_t trail_add(buffer *trail, uint64_t above, const packed_text *text, Py_ssize_t start) nogil
    bint trail_end(
        buffer *trail, PyObject *topic, Py_UCS4 separator, Py_UCS4 one, Py_UCS4 many, int many_min, object share
    )
    object trail_share(bytes trail)
    str trail_text(bytes trail, Py_ssize_t at)
    str trail_marks(bytes trail)
    int trail_many_min(bytes trail)
    Py_ssize_t trail_topic(bytes trail)


cdef inline object characters_of(object trail):
    return (<tuple>trail)[1] if type(trail) is tuple and len(<tuple>trail) == 2 else trail


cdef inline str text_of(object trail, Py_ssize_t at):
    trail = characters_of(trail)
    if type(trail) is bytes:
        return trail_text(<bytes>trail, at)
    dialect, paths, _ = trail
    return (<str>dialect.separator).join(words_of(paths[at]))


cdef inline str group_text_of(object trail, Py_ssize_t at, object group):
    text = text_of(trail, at)
    if type(trail) is not bytes:
        return trail[0].join(trail[0].share(group, (text,)))
    share = trail_share(<bytes>trail)
    return text if share is None else trail_marks(<bytes>trail)[0].join((share, group, text))


cdef inline tuple topic_of(object trail):
    cdef str marks
    trail = characters_of(trail)
    if type(trail) is not bytes:
        dialect, _, topic = trail
        return topic, dialect.separator, dialect.one_word, dialect.many_words, dialect.many_min
    marks = trail_marks(<bytes>trail)
    topic = trail_text(<bytes>trail, trail_topic(<bytes>trail))
    return topic, marks[0], marks[1], marks[2], trail_many_min(<bytes>trail)
