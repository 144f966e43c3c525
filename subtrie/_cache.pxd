# C types for _cache.py.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from ctrie._native cimport Slot

cdef extern from *:
    # Views for borrowed traversal; see ctrie/_nodes.pxd.
    """
    #define SUBTRIE_STRIPES(c) (((struct __pyx_obj_7subtrie_6_cache_Cache *)(c))->stripes)
    #define SUBTRIE_PLACES(t) (((struct __pyx_obj_7subtrie_6_cache_Table *)(t))->places)
    #define SUBTRIE_HITS(t) (&((struct __pyx_obj_7subtrie_6_cache_Table *)(t))->hits)
    #define SUBTRIE_MISSES(t) (&((struct __pyx_obj_7subtrie_6_cache_Table *)(t))->misses)
    #define SUBTRIE_REMEMBERED_TOPIC(r) (((struct __pyx_obj_7subtrie_6_cache_Remembered *)(r))->topic)
    #define SUBTRIE_REMEMBERED_HASH(r) (((struct __pyx_obj_7subtrie_6_cache_Remembered *)(r))->hash)
    #define SUBTRIE_REMEMBERED_ANSWER(r) (((struct __pyx_obj_7subtrie_6_cache_Remembered *)(r))->answer)
    #define SUBTRIE_REMEMBERED_SEEN(r) (((struct __pyx_obj_7subtrie_6_cache_Remembered *)(r))->seen)
    """
    PyObject *SUBTRIE_STRIPES(PyObject *cache)
    PyObject *SUBTRIE_PLACES(PyObject *table)
    int64_t *SUBTRIE_HITS(PyObject *table)
    int64_t *SUBTRIE_MISSES(PyObject *table)
    PyObject *SUBTRIE_REMEMBERED_TOPIC(PyObject *remembered)
    Py_hash_t SUBTRIE_REMEMBERED_HASH(PyObject *remembered)
    PyObject *SUBTRIE_REMEMBERED_ANSWER(PyObject *remembered)
    PyObject *SUBTRIE_REMEMBERED_SEEN(PyObject *remembered)

cdef int STRIPES, WAYS, MOST_SEEN
cdef object MOST_PLACES


cdef class Remembered:
    cdef readonly str topic
    cdef readonly Py_hash_t hash
    cdef readonly tuple answer
    cdef readonly tuple seen


cdef class Table:
    cdef tuple places
    cdef int64_t hits
    cdef int64_t misses


cdef class Cache:
    cdef readonly Py_ssize_t size
    cdef readonly tuple stripes


@cython.locals(cache=Cache)
cpdef Cache new_cache(places)
cdef tuple _empty_slots(Py_ssize_t number)
@cython.locals(slot=Slot)
cdef Slot _empty_slot()
@cython.locals(slot=Slot, table=Table)
cdef Table own_table(Cache cache, int stripe)
@cython.locals(first=Py_ssize_t)
cdef Py_ssize_t place_number(Table table, Py_hash_t topic_hash, int64_t i) noexcept
@cython.locals(topic_hash=Py_hash_t, spare=Slot, place=Slot, i=int)
cdef Slot wanted_place(Table table, str topic)
@cython.locals(drawn=int64_t, place=Slot, i=int)
cdef Slot _spare_place(Table table, Py_hash_t topic_hash)
@cython.locals(remembered=Remembered)
cdef object remember(Slot place, str topic, tuple answer, tuple seen)
@cython.locals(slot=Slot)
cpdef object forget(Cache cache)
@cython.locals(slot=Slot, table=Table, hits=int64_t, misses=int64_t)
cpdef tuple counts(Cache cache)
