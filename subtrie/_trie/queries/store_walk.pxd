# The compiled twin of store_walk.py.
from cpython.list cimport PyList_New
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._cnode cimport bitmap_of
from ctrie._machine cimport popcount
from ctrie._native cimport Borrowed, Py_None, PyTuple_GET_ITEM_PTR
from subtrie._trie.match.buffer cimport buffer, buffer_free, buffer_push, buffer_push_pair, buffer_room_for, buffer_start
from subtrie._trie.match.walk cimport prefetch, prefetch_to_count
from subtrie._trie.match.plan cimport word_for
from subtrie._trie.packed_key cimport characters, packed_characters, packed_text, text_of
from subtrie._trie.words cimport word

cdef extern from *:
    """
    #define child_address(cn, i) (&CTRIE_CHILD(cn, i))
    """
    const void *child_address(PyObject *cn, Py_ssize_t i) nogil
    void Py_INCREF_PTR "Py_INCREF" (PyObject *o)
    void Py_DECREF_PTR "Py_DECREF" (PyObject *o)
    void PyList_SET_ITEM_PTR "PyList_SET_ITEM" (object array, Py_ssize_t i, PyObject *stolen)

cdef extern from "packed_key.h":
    Py_ssize_t followed_by "packed_followed" (
        const packed_text *text, PyObject *words, Py_ssize_t start, PyObject *separator) nogil
    characters characters_of(PyObject *string) nogil
    bint characters_stand_at(const characters *text, Py_ssize_t at, const characters *part) nogil

cdef enum:
    GROUP = 96

cdef struct Aim:
    bint any
    word word

cdef struct Walk:
    buffer waiting          # node, depth
    PyObject *nodes[GROUP]
    PyObject *mains[GROUP]
    Py_ssize_t numbers[GROUP]
    Py_ssize_t count
    Py_ssize_t depth
    PyObject *apart[GROUP]
    Py_ssize_t apart_count
    buffer found
    Py_ssize_t counted
    buffer aims             # Aim
    PyObject *words         # borrowed, like the next two
    PyObject *separator
    Py_UCS4 separator_in_place
    PyObject *reserved
    Py_ssize_t size
    Py_ssize_t least
    bint open
    bint wordless


cdef inline void begin(Walk *w) noexcept nogil:
    w.apart_count = w.counted = 0
    buffer_start(&w.aims)
    buffer_start(&w.waiting)
    buffer_start(&w.found)


cdef inline bint set_aims(Walk *w, tuple words) except -1:
    cdef Py_ssize_t i
    cdef Aim *aim
    w.words = <PyObject *>words
    w.size = len(words)
    aim = <Aim *>buffer_room_for(&w.aims, sizeof(Aim) // sizeof(uint64_t) * (w.size + 2))
    if aim == NULL:
        return False
    for i in range(w.size):
        aim[i].any = words[i] is None
        if not aim[i].any:
            aim[i].word = word_for(PyTuple_GET_ITEM_PTR(w.words, i))
    aim[w.size].any = aim[w.size + 1].any = True
    return True


cdef inline const Aim *aim_at(Walk *w, Py_ssize_t depth) noexcept nogil:
    return <const Aim *>w.aims.items + depth


cdef inline bint wait(Walk *w, Borrowed node, Py_ssize_t depth) noexcept nogil:
    return buffer_push_pair(&w.waiting, <uint64_t>node, <uint64_t>depth)


cdef inline Py_ssize_t last_depth(Walk *w) noexcept nogil:
    return <Py_ssize_t>w.waiting.items[w.waiting.count - 1]


cdef inline Borrowed pop_last(Walk *w) noexcept nogil:
    w.waiting.count -= 2
    return <PyObject *>w.waiting.items[w.waiting.count]


cdef inline bint note_pair(Walk *w, Borrowed pair) noexcept nogil:
    prefetch_to_count(pair)
    return buffer_push(&w.found, <uint64_t>pair)


cdef inline void take_references(Walk *w) noexcept:
    cdef PyObject *pair
    while w.counted < w.found.count:
        pair = <PyObject *>w.found.items[w.counted]
        Py_INCREF_PTR(pair)
        prefetch_to_count(PyTuple_GET_ITEM_PTR(pair, 0))
        prefetch_to_count(PyTuple_GET_ITEM_PTR(pair, 1))
        w.counted += 1


cdef inline list list_of_found(Walk *w):
    cdef list answers = PyList_New(w.found.count)
    cdef Py_ssize_t i
    for i in range(w.found.count):
        PyList_SET_ITEM_PTR(answers, i, <PyObject *>w.found.items[i])
    w.counted = 0
    return answers


cdef inline void end(Walk *w) noexcept:
    while w.counted:
        w.counted -= 1
        Py_DECREF_PTR(<PyObject *>w.found.items[w.counted])
    buffer_free(&w.aims)
    buffer_free(&w.waiting)
    buffer_free(&w.found)


cdef inline void prefetch_children(Borrowed cn) noexcept nogil:
    cdef Py_ssize_t i = 0, count = popcount(bitmap_of(cn))
    while i < count:
        prefetch(child_address(cn, i))
        i += 8              # one cache line
    prefetch(child_address(cn, count - 1))


cdef inline Py_ssize_t followed_in(Walk *w, Borrowed branch, Py_ssize_t depth) noexcept nogil:
    return followed_by(text_of(branch), w.words, depth, w.separator)


cdef inline bint is_reserved(Walk *w, Borrowed branch) noexcept nogil:
    cdef characters text = packed_characters(text_of(branch))
    cdef characters prefix
    if w.reserved == Py_None:
        return False
    prefix = characters_of(w.reserved)
    return characters_stand_at(&text, 0, &prefix)


cdef inline bint is_no_text(Borrowed branch) noexcept nogil:
    return packed_characters(text_of(branch)).length == 0
