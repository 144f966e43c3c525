# C types for answer_cache.py.
cimport cython
from libc.stdint cimport int64_t

from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode
from ctrie._row cimport Row, compare_and_set_at, load_at, new_row, peek_at, row_size
from subtrie._trie.match.walk cimport item_of, size_of

cdef extern from "bytes.h":
    pass

cdef extern from "interpreter.h":
    Py_hash_t hash_of_text "hash_of_string" (Borrowed text)

cdef extern from *:
    """
    /* The threads take the stripes of a cache (answer_cache.py) in turn, each for good. */
    static int stripe_of_thread(int stripes)
    {
        static unsigned threads;
    #ifdef __GLIBC__
        __attribute__((tls_model("initial-exec")))
    #endif
        static _Thread_local unsigned number;
        if (number == 0) {
            number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
        }
        return (int)(number % (unsigned)stripes);
    }
    /* A statistic: two threads of one stripe may count as one. */
    static inline void count_one(int64_t *counter)
    {
        __atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    }
    static inline int same_text(PyObject *a, PyObject *b)
    {
        Py_ssize_t length = PyUnicode_GET_LENGTH(a);
        int kind = PyUnicode_KIND(a);
        return a == b || (length == PyUnicode_GET_LENGTH(b) && kind == (int)PyUnicode_KIND(b) &&
                          same_bytes(PyUnicode_DATA(a), PyUnicode_DATA(b), length * kind));
    }
    """
    int stripe_of_thread(int stripes)
    void count_one(int64_t *counter)
    bint is_same_text "same_text" (Borrowed text, Borrowed other)

cdef enum:
    STRIPES = 16
    SUBSCRIBERS = 0
    DELIVERIES = 1
    KINDS = 2
    WAYS = 4
    MOST_SEEN = 64

cdef enum:
    TOPIC = 0
    ANSWER = 1
    ROOT = 2
    FIRST = 3
    FIRST_MAIN = 5

cdef object MOST_BUCKETS


cdef class Table:
    cdef Row buckets
    cdef int64_t hits
    cdef int64_t misses


cdef class Cache:
    cdef readonly Py_ssize_t size
    cdef Row stripes


# Views of what is borrowed, and what needs no Python code.
cdef inline int own_stripe(int kind) noexcept:
    return kind * STRIPES + stripe_of_thread(STRIPES)


cdef inline Borrowed stripes_of(Borrowed cache) noexcept:
    return <Borrowed>(<Cache>cache).stripes


cdef inline Borrowed buckets_of(Borrowed table) noexcept:
    return <Borrowed>(<Table>table).buckets


cdef inline void count_hit(Borrowed table) noexcept:
    count_one(&(<Table>table).hits)


cdef inline void count_miss(Borrowed table) noexcept:
    count_one(&(<Table>table).misses)


cdef object recall(Borrowed cache, Borrowed topic, int stripe)
cdef Borrowed _remembered_in(Borrowed buckets, Borrowed topic, Py_hash_t topic_hash) noexcept
cdef bint _still_hold(Borrowed remembered) noexcept
@cython.locals(cache=Cache)
cpdef Cache new_cache(buckets)
@cython.locals(table=Table)
cdef Table own_table(Cache cache, int stripe)
cdef Py_ssize_t bucket_number(Table table, Py_hash_t topic_hash, int64_t i) noexcept
cdef Py_ssize_t wanted_bucket(Table table, str topic) except? -2
cdef Py_ssize_t _spare_bucket(Table table, Py_hash_t topic_hash) except -1
cdef object remember(Table table, Py_ssize_t bucket, tuple remembered)
cpdef object forget(Cache cache)
@cython.locals(table=Table)
cpdef tuple counts(Cache cache)
