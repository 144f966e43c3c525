"""Of the subscribers that a match has found, the first of each: the compiled body of `distinct_subscribers` in
reading.py for sets without groups."""

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool
from libc.stdint cimport uint32_t, uint64_t

from ctrie._arrays cimport flag_at
from subtrie._trie.match.buffer cimport buffer

cdef extern from *:
    void Py_DECREF_PTR "Py_DECREF" (PyObject *o)

cdef enum:
    FEW = 16            # subscribers that are compared each with each


cdef bint _is_same(buffer *subscribers, Py_ssize_t i, Py_ssize_t j) except -1:
    """Tell whether those at two places are the same subscriber. The one at `i` is not marked."""
    cdef PyObject *one = <PyObject *>subscribers.items[i]
    cdef PyObject *other = <PyObject *>subscribers.items[j]
    if subscribers.items[i + 1] != subscribers.items[j + 1]:
        return False
    return one == other or PyObject_RichCompareBool(<object>one, <object>other, Py_EQ)


cdef int drop_repeated(buffer *subscribers) except -1:
    """Keep the first of each subscriber. Users' code runs only to compare two objects whose hashes agree."""
    cdef Py_ssize_t i, j
    cdef bint some = False
    if _are_distinct(subscribers.items, subscribers.count):
        return 0
    if subscribers.count > 2 * FEW:
        some = _mark_repeated_among_many(subscribers)
    else:
        for i in range(2, subscribers.count, 2):
            for j in range(0, i, 2):
                if not subscribers.items[j] & REPEATED and _is_same(subscribers, j, i):
                    subscribers.items[i] |= REPEATED
                    some = True
                    break
    if some:
        _drop_marked(subscribers)
    return 0


cdef inline bint _are_distinct(const uint64_t *items, Py_ssize_t count) noexcept nogil:
    """Tell whether no two hashes have the last six bits in common: the shortest proof for a few subscribers."""
    cdef uint64_t flag, taken = 0
    cdef Py_ssize_t i
    for i in range(1, count, 2):
        flag = flag_at(items[i], 0)
        if taken & flag:
            return False
        taken |= flag
    return True


cdef bint _mark_repeated_among_many(buffer *subscribers) except -1:
    """Mark those that were named before, and tell whether there are any; by a hash table of places, at most a quarter
    full: a branch that is mispredicted costs more than the room."""
    cdef Py_ssize_t i = 0, size = 4 * FEW
    cdef uint64_t at
    cdef bint some = False
    while size < 2 * subscribers.count:
        size *= 2
    cdef uint32_t *places = <uint32_t *>PyMem_RawCalloc(size, sizeof(uint32_t))     # 0: none
    if places == NULL:
        raise MemoryError()
    try:
        while True:
            i = _place_until_taken(subscribers.items, i, subscribers.count, places, size - 1)
            if i == subscribers.count:
                return some
            at = subscribers.items[i + 1] & (size - 1)
            while places[at] and not _is_same(subscribers, places[at] - 1, i):
                at = (at + 1) & (size - 1)
            if places[at]:
                subscribers.items[i] |= REPEATED
                some = True
            else:
                places[at] = i + 1
            i += 2
    finally:
        PyMem_RawFree(places)


cdef Py_ssize_t _place_until_taken(
    const uint64_t *items, Py_ssize_t i, Py_ssize_t count, uint32_t *places, uint64_t mask
) noexcept nogil:
    """Give subscribers the places that their hashes name, from the one at `i` on; return where one's place is taken.
    Apart from the rest because nothing here can fail: all that the loop needs stays in registers."""
    cdef uint32_t *place
    while i < count:
        place = places + (items[i + 1] & mask)
        if place[0]:
            return i
        place[0] = i + 1
        i += 2
    return count


cdef void _drop_marked(buffer *subscribers) noexcept:
    cdef Py_ssize_t i, kept = 0, count = subscribers.count
    cdef uint64_t *items = subscribers.items
    for i in range(0, count, 2):
        if items[i] & REPEATED:
            Py_DECREF_PTR(<PyObject *>(items[i] & ~<uint64_t>REPEATED))
            continue
        items[kept] = items[i]
        items[kept + 1] = items[i + 1]
        kept += 2
    subscribers.count = kept
