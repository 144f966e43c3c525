# C types for answer_cache.py.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from ctrie._row cimport Row

cdef extern from *:
    # Views for borrowed traversal; see ctrie/_nodes.pxd.
    """
    #define SUBTRIE_STRIPES(c) ((PyObject *)((struct __pyx_obj_7subtrie_5_trie_5match_12answer_cache_Cache *)(c))->stripes)
    #define SUBTRIE_PLACES(t) ((PyObject *)((struct __pyx_obj_7subtrie_5_trie_5match_12answer_cache_Table *)(t))->places)
    #define SUBTRIE_HITS(t) (&((struct __pyx_obj_7subtrie_5_trie_5match_12answer_cache_Table *)(t))->hits)
    #define SUBTRIE_MISSES(t) (&((struct __pyx_obj_7subtrie_5_trie_5match_12answer_cache_Table *)(t))->misses)
    """
    PyObject *SUBTRIE_STRIPES(PyObject *cache)
    PyObject *SUBTRIE_PLACES(PyObject *table)
    int64_t *SUBTRIE_HITS(PyObject *table)
    int64_t *SUBTRIE_MISSES(PyObject *table)

cdef int STRIPES, SUBSCRIBERS, DELIVERIES, KINDS, WAYS, MOST_SEEN, TOPIC, ANSWER, ROOT, FIRST, FIRST_MAIN
cdef object MOST_PLACES


cdef class Table:
    cdef Row places
    cdef int64_t hits
    cdef int64_t misses


cdef class Cache:
    cdef readonly Py_ssize_t size
    cdef Row stripes


@cython.locals(cache=Cache)
cpdef Cache new_cache(places)
@cython.locals(table=Table)
cdef Table own_table(Cache cache, int stripe)
@cython.locals(first=Py_ssize_t)
cdef Py_ssize_t place_number(Table table, Py_hash_t topic_hash, int64_t i) noexcept
@cython.locals(topic_hash=Py_hash_t, spare=Py_ssize_t, place=Py_ssize_t, i=int)
cdef Py_ssize_t wanted_place(Table table, str topic) except? -2
@cython.locals(drawn=int64_t, place=Py_ssize_t, i=int)
cdef Py_ssize_t _spare_place(Table table, Py_hash_t topic_hash) except -1
cdef object remember(Table table, Py_ssize_t place, tuple remembered)
@cython.locals(stripe=int)
cpdef object forget(Cache cache)
@cython.locals(stripe=int, table=Table, hits=int64_t, misses=int64_t)
cpdef tuple counts(Cache cache)
