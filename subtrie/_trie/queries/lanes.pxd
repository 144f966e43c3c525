# The C bodies of lanes.py.
from cpython.list cimport PyList_New
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed, Py_None, PyTuple_GET_ITEM_PTR
from subtrie._trie.match.buffer cimport buffer, buffer_free, buffer_push, buffer_push_pair, buffer_start
from subtrie._trie.match.walk cimport prefetch, prefetch_to_count
from subtrie._trie.packed_key cimport characters, packed_characters, packed_is_here, packed_text, text_of

cdef extern from *:
    """
    #define child_place(cn, place) (&CTRIE_CHILD(cn, place))
    /* Both prefetches of `prefetch_node` (prefetch.h) asked for this line. */
    #define came_with_head(cn, place) \
        ((uintptr_t)child_place(cn, place) >> 6 <= ((uintptr_t)(cn) + 40) >> 6)
    """
    const void *child_place(PyObject *cn, Py_ssize_t place) nogil
    bint came_with_head(PyObject *cn, Py_ssize_t place) nogil
    void Py_INCREF_PTR "Py_INCREF" (PyObject *o)
    void Py_DECREF_PTR "Py_DECREF" (PyObject *o)
    void PyList_SET_ITEM_PTR "PyList_SET_ITEM" (object array, Py_ssize_t i, PyObject *stolen)

cdef extern from "packed_key.h":
    Py_ssize_t followed_by "packed_followed" (
        const packed_text *text, PyObject *words, Py_ssize_t start, PyObject *separator) nogil
    bint begun_by "packed_begins" (const packed_text *text, PyObject *word, PyObject *separator) nogil
    characters characters_of(PyObject *string) nogil
    bint characters_stand_at(const characters *text, Py_ssize_t at, const characters *part) nogil

cdef enum:
    LANES = 24
    ROUNDS = 4096

cdef enum:                  # what is on its way in a lane
    NODE
    MAIN
    SLOT
    CHILDREN
    TEXT
    PAIR

cdef enum:                  # how a step leaves its lane, and a round the walk
    GONE
    BUSY
    PENDING
    NO_MEMORY

cdef struct Lane:
    PyObject *node
    PyObject *main
    Py_ssize_t place
    Py_ssize_t depth
    int lev
    int state

cdef struct Walk:
    Lane lanes[LANES]
    Py_ssize_t count
    Py_ssize_t held_up
    PyObject *words         # all borrowed
    PyObject *separator
    PyObject *reserved
    Py_ssize_t size
    Py_ssize_t least
    bint open
    bint wordless
    buffer hashes
    buffer waiting
    buffer found            # pairs, with a reference each

ctypedef Walk *Walking


cdef inline void begin(Walk *w) noexcept nogil:
    w.count = 0
    buffer_start(&w.hashes)
    buffer_start(&w.waiting)
    buffer_start(&w.found)


cdef inline bint wait(Walk *w, Borrowed node, Py_ssize_t depth) noexcept nogil:
    return buffer_push_pair(&w.waiting, <uint64_t>node, <uint64_t>depth)


cdef inline void next_waiting(Walk *w, Lane *lane) noexcept nogil:
    w.waiting.count -= 2
    lane.node = <PyObject *>w.waiting.items[w.waiting.count]
    lane.depth = <Py_ssize_t>w.waiting.items[w.waiting.count + 1]
    lane.lev = 0


cdef inline void last_lane_to(Walk *w, Py_ssize_t i) noexcept nogil:
    w.count -= 1
    w.lanes[i] = w.lanes[w.count]


cdef inline bint keep(buffer *found, Borrowed pair) noexcept:
    if not buffer_push(found, <uint64_t>pair):
        return False
    Py_INCREF_PTR(pair)
    return True


cdef inline list list_of(buffer *found):
    cdef list answers = PyList_New(found.count)
    cdef Py_ssize_t i
    for i in range(found.count):
        PyList_SET_ITEM_PTR(answers, i, <PyObject *>found.items[i])
    found.count = 0
    return answers


cdef inline void drop_answers(Walk *w) noexcept:
    while w.found.count:
        w.found.count -= 1
        Py_DECREF_PTR(<PyObject *>w.found.items[w.found.count])
    buffer_free(&w.hashes)
    buffer_free(&w.waiting)
    buffer_free(&w.found)


cdef inline bint is_near(Borrowed main, Py_ssize_t place) noexcept nogil:
    return came_with_head(main, place)


cdef inline void fetch_children(Borrowed main, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i = 0
    while i < count:
        prefetch(child_place(main, i))
        i += 8              # a line's
    prefetch(child_place(main, count - 1))


cdef inline void fetch_pair(Borrowed pair) noexcept nogil:
    prefetch_to_count(PyTuple_GET_ITEM_PTR(pair, 0))
    prefetch_to_count(PyTuple_GET_ITEM_PTR(pair, 1))


cdef inline bint fetch_text_apart(Borrowed branch) noexcept nogil:
    if packed_is_here(text_of(branch)):
        return False
    prefetch((<const void **>text_of(branch))[0])
    return True


cdef inline bint has_word(Walk *w, Borrowed branch, Py_ssize_t depth) noexcept nogil:
    return begun_by(text_of(branch), PyTuple_GET_ITEM_PTR(w.words, depth), w.separator)


cdef inline Py_ssize_t followed_in(Walk *w, Borrowed branch, Py_ssize_t depth) noexcept nogil:
    return followed_by(text_of(branch), w.words, depth, w.separator)


cdef inline bint is_reserved(Walk *w, Borrowed branch) noexcept nogil:
    cdef characters text
    cdef characters prefix
    if w.reserved == Py_None:
        return False
    text = packed_characters(text_of(branch))
    prefix = characters_of(w.reserved)
    return characters_stand_at(&text, 0, &prefix)


cdef inline bint is_no_text(Borrowed branch) noexcept nogil:
    return packed_characters(text_of(branch)).length == 0
