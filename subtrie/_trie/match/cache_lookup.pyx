"""Answers that are remembered, read with borrowed pointers: the compiled body of `recall` in answer_cache.py, which is the
text to read. A pin (ctrie/c/epoch.h) keeps alive what is passed; nothing is counted but the answer."""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t

from ctrie._native cimport (
    CTRIE_IS, CTRIE_SLOT, Py_None, PyTuple_GET_ITEM_PTR, PyTuple_GET_SIZE_PTR, pin, slot_read, unpin
)
from ctrie._nodes cimport INode
from ctrie._row cimport CTRIE_ROW_SIZE, CTRIE_SLOT_AT
from subtrie._trie.match.answer_cache cimport (
    ANSWER, FIRST, FIRST_MAIN, ROOT, STRIPES, SUBTRIE_HITS, SUBTRIE_MISSES, SUBTRIE_PLACES, SUBTRIE_STRIPES, TOPIC, WAYS
)

cdef extern from "bytes.h":
    pass

cdef extern from *:
    """
    /* The threads take the stripes of a cache (answer_cache.py) in turn, each for good. */
    static int own_stripe(int stripes)
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
    static inline Py_hash_t text_hash(PyObject *text)
    {
        Py_hash_t known = __atomic_load_n(&((PyASCIIObject *)text)->hash, __ATOMIC_RELAXED);
        return known != -1 ? known : PyObject_Hash(text);
    }
    static inline int same_text(PyObject *a, PyObject *b)
    {
        Py_ssize_t length = PyUnicode_GET_LENGTH(a);
        int kind = PyUnicode_KIND(a);
        return a == b || (length == PyUnicode_GET_LENGTH(b) && kind == (int)PyUnicode_KIND(b) &&
                          same_bytes(PyUnicode_DATA(a), PyUnicode_DATA(b), length * kind));
    }
    """
    int own_stripe(int stripes)
    void count_one(int64_t *counter)
    Py_hash_t text_hash(PyObject *text)
    bint same_text(PyObject *a, PyObject *b)

cdef PyTypeObject *INODE = <PyTypeObject *>INode
cdef PyTypeObject *TUPLE = <PyTypeObject *>tuple


cdef object recalled(PyObject *cache, PyObject *topic, int kind, int *stripe):
    """As `recall` in answer_cache.py; None also where the thread's stripe, whose number is told, has no table yet. `topic` is
    an exact string."""
    cdef Py_hash_t hash = text_hash(topic)
    cdef PyObject *table
    cdef PyObject *found
    answer = None
    stripe[0] = kind * STRIPES + own_stripe(STRIPES)
    pin()
    table = slot_read(CTRIE_SLOT_AT(SUBTRIE_STRIPES(cache), stripe[0]))
    if table != Py_None:
        found = _find_remembered(SUBTRIE_PLACES(table), topic, hash)
        if found != NULL and _all_hold(found):
            answer = <object>PyTuple_GET_ITEM_PTR(found, ANSWER)
            count_one(SUBTRIE_HITS(table))
        else:
            count_one(SUBTRIE_MISSES(table))
    unpin()
    return answer


cdef inline PyObject *_find_remembered(PyObject *places, PyObject *topic, Py_hash_t hash) noexcept:
    cdef Py_ssize_t i, first = hash & (CTRIE_ROW_SIZE(places) - WAYS)
    cdef PyObject *found
    for i in range(WAYS):
        found = slot_read(CTRIE_SLOT_AT(places, first + ((hash >> 32 ^ i) & (WAYS - 1))))
        if CTRIE_IS(found, TUPLE) and same_text(PyTuple_GET_ITEM_PTR(found, TOPIC), topic):
            return found
    return NULL


cdef inline bint _all_hold(PyObject *remembered) noexcept:
    cdef Py_ssize_t i
    cdef PyObject *first = slot_read(CTRIE_SLOT(PyTuple_GET_ITEM_PTR(remembered, ROOT)))
    if first != PyTuple_GET_ITEM_PTR(remembered, FIRST) and not (
        CTRIE_IS(first, INODE) and slot_read(CTRIE_SLOT(first)) == PyTuple_GET_ITEM_PTR(remembered, FIRST_MAIN)
    ):
        return False
    for i in range(FIRST + 1, PyTuple_GET_SIZE_PTR(remembered), 2):
        if slot_read(CTRIE_SLOT(PyTuple_GET_ITEM_PTR(remembered, i))) != PyTuple_GET_ITEM_PTR(remembered, i + 1):
            return False
    return True
