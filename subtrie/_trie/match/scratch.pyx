# distutils: extra_compile_args = FAST
"""The working memory of a question: the references that it takes while it is pinned, and hands on.

The compiled body of scratch.py. A reference is counted when all have been noted, by pointers in buffers (buffer.h), and
is then its question's own until it is handed to the answer. Nothing here is read from a slot.
"""

cimport cython
from cpython.object cimport PyObject, PyObject_Hash, PyTypeObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport uint64_t
from libc.string cimport memmove, memset

from ctrie._machine cimport check_stack
from ctrie._native cimport CTRIE_IS
from subtrie._trie.match.answer_cache cimport ANSWER, FIRST, ROOT, TOPIC
from subtrie._trie.match.buffer cimport buffer, buffer_free, buffer_push, buffer_start
from subtrie._trie.match.reading cimport TRIAL
from subtrie._trie.match.plan cimport Matchable
from subtrie._trie.match.trail cimport trail_add, trail_end
from subtrie._trie.match.walk cimport NOTED, Trails, Traversal
from subtrie._trie.packed_key cimport text_of

from subtrie._trie.weak_subscribers import Held, HeldMethod

cdef extern from "interpreter.h":
    PyObject *referred_to(PyObject *reference)
    Py_ssize_t place_of_slot(object member)
    PyObject *kept_at(PyObject *object, Py_ssize_t place) nogil

cdef extern from *:
    """
    static inline int may_be_in_cycle(PyObject *o) { return PyType_IS_GC(Py_TYPE(o)); }
    /* How deep a thread is in matches that its subscribers' __eq__ or finalizers have asked for. Each takes some twenty
       kilobytes of the C stack, which no interpreter counts. */
    #define MOST_NESTED 32
    #ifdef __GLIBC__
    __attribute__((tls_model("initial-exec")))
    #endif
    static _Thread_local int nested;
    static inline int enter_match(void) { return nested < MOST_NESTED && ++nested; }
    static inline void leave_match(void) { nested--; }
    """
    object PyMethod_New(object function, object owner)
    bytes PyBytes_FromStringAndSize(const char *data, Py_ssize_t size)
    bint may_be_in_cycle(PyObject *o)
    bint enter_match() nogil
    void leave_match() nogil
    void Py_DECREF_PTR "Py_DECREF" (PyObject *o)
    void PyTuple_SET_ITEM_PTR "PyTuple_SET_ITEM" (object array, Py_ssize_t i, PyObject *stolen)

cdef PyTypeObject *HELD = <PyTypeObject *>Held
cdef PyTypeObject *HELD_METHOD = <PyTypeObject *>HeldMethod
cdef Py_ssize_t FUNCTION = place_of_slot(HeldMethod.function)    # to look the attribute up takes longer than all the rest


cdef int begin(Question *q) except -1:
    check_stack()
    if not enter():
        raise RecursionError("a match asks the trie again, and that match again, and so on")
    start(q)
    return 0


cdef bint enter() noexcept:
    return enter_match()


cdef void leave() noexcept:
    leave_match()


cdef void start(Question *q) noexcept:
    q.walk.only_first = q.wants == ANY
    q.walk.trails = NULL
    q.keep_seen = q.seen_taken = q.shared = q.weak = False
    buffer_start(&q.walk.seen)
    buffer_start(&q.walk.found)
    buffer_start(&q.stack)
    buffer_start(&q.subscribers)


cdef void release(Question *q) noexcept:
    let_go(q)
    leave()


cdef void let_go(Question *q) noexcept:
    cdef Py_ssize_t i
    for i in range(0, q.subscribers.count, 2):
        Py_DECREF_PTR(<PyObject *>q.subscribers.items[i])
    i = 0
    while q.seen_taken and i < q.walk.seen.count:
        Py_DECREF_PTR(<PyObject *>q.walk.seen.items[i])
        Py_DECREF_PTR(<PyObject *>q.walk.seen.items[i + 1])
        i += NOTED
    buffer_free(&q.walk.seen)
    buffer_free(&q.walk.found)
    buffer_free(&q.stack)
    buffer_free(&q.subscribers)


cdef void take_seen(Question *q) noexcept:
    cdef Py_ssize_t at = 0
    while at < q.walk.seen.count:
        Py_INCREF_PTR(<PyObject *>q.walk.seen.items[at])
        Py_INCREF_PTR(<PyObject *>q.walk.seen.items[at + 1])
        at += NOTED
    q.seen_taken = True


cdef tuple handed_over(Question *q):
    """Return the references taken."""
    cdef Py_ssize_t i
    cdef const uint64_t *items = q.subscribers.items
    cdef bint in_cycles = False
    answer = PyTuple_New(q.subscribers.count // 2)
    for i in range(PyTuple_GET_SIZE_PTR(<PyObject *>answer)):
        PyTuple_SET_ITEM_PTR(answer, i, <PyObject *>items[2 * i])
        in_cycles |= may_be_in_cycle(<PyObject *>items[2 * i])
    q.subscribers.count = 0     # the references are the tuple's now
    if not in_cycles and PyTuple_GET_SIZE_PTR(<PyObject *>answer):
        PyObject_GC_UnTrack(<PyObject *>answer)     # what a collection finds out, too, but only by a visit to each
    return <tuple>answer


cdef tuple remembered(Question *q, PyObject *topic, PyObject *answer, PyObject *root):
    """Return what answer_cache.py remembers of an answer, out of the references taken."""
    cdef Py_ssize_t at = 0, put = FIRST + 1
    kept = PyTuple_New(put + q.walk.seen.count // NOTED * 2)
    put_in_answer(kept, TOPIC, <object>topic)
    put_in_answer(kept, ANSWER, <object>answer)
    put_in_answer(kept, ROOT, <object>root)
    put_in_answer(kept, FIRST, <object><PyObject *>q.walk.seen.items[0])
    while at < q.walk.seen.count:
        PyTuple_SET_ITEM_PTR(kept, put, <PyObject *>q.walk.seen.items[at])
        PyTuple_SET_ITEM_PTR(kept, put + 1, <PyObject *>q.walk.seen.items[at + 1])
        at += NOTED
        put += 2
    q.seen_taken = False        # the references are the tuple's now
    return <tuple>kept


cdef void drop_shared(Question *q, Py_ssize_t count) noexcept:
    """Drop each Shared among the first `count` items."""
    cdef uint64_t *items = q.subscribers.items
    cdef Py_ssize_t i, kept = 0, end = q.subscribers.count
    for i in range(0, end, 2):
        if i < count and is_shared_at(q, i):
            Py_DECREF_PTR(<PyObject *>items[i])
        else:
            items[kept] = items[i]
            items[kept + 1] = items[i + 1]
            kept += 2
    q.subscribers.count = kept


cdef object _living_method(PyObject *reference):
    """As `HeldMethod.__call__`."""
    cdef PyObject *owner = referred_to(reference)
    cdef PyObject *function
    if owner == NULL:
        return None
    one = <object>owner
    Py_DECREF_PTR(owner)
    held = <object>kept_at(reference, FUNCTION)      # it was set before the reference was shared, and never again
    if type(held) is str:
        return getattr(one, held)
    function = referred_to(<PyObject *>held)
    if function == NULL:
        return None
    method = PyMethod_New(<object>function, one)
    Py_DECREF_PTR(function)
    return method


cdef int keep_living(buffer *subscribers) except -1:
    """Put subscribers in the places of references to them, and drop those that are dead. This comes before repeated ones
    are dropped: otherwise, of two equal ones, the living one might be dropped."""
    cdef Py_ssize_t i, kept = 0, count = subscribers.count
    cdef uint64_t *items = subscribers.items
    cdef PyObject *reference
    cdef PyObject *alive
    subscribers.count = 0
    for i in range(0, count, 2):
        reference = <PyObject *>items[i]
        if CTRIE_IS(reference, HELD):
            alive = referred_to(reference)
        elif CTRIE_IS(reference, HELD_METHOD):
            try:
                method = _living_method(reference)
            except BaseException:       # what was not looked at is still to be let go
                memmove(items + kept, items + i, (count - i) * sizeof(uint64_t))
                subscribers.count = kept + count - i
                raise
            alive = NULL if method is None else <PyObject *>method
            if method is not None:
                Py_INCREF(method)
        else:       # a member of a group
            alive = reference
            Py_INCREF_PTR(alive)
        if alive != NULL:
            items[kept] = <uint64_t>alive
            items[kept + 1] = items[i + 1]
            kept += 2
        Py_DECREF_PTR(reference)
    subscribers.count = kept
    return 0


# ------------------------------------------------------------------------------------------------------- many topics

cdef Py_ssize_t coming_again(list topics) except -1:
    """Return how many of up to TRIAL topics are texts that have come before; two of one hash count as one."""
    cdef uint64_t seen[2 * TRIAL]       # hashes; 0: none
    cdef Py_ssize_t again = 0
    cdef uint64_t hash, at
    memset(seen, 0, sizeof(seen))
    for topic in topics:
        if not PyUnicode_CheckExact(topic):
            continue
        hash = <uint64_t>PyObject_Hash(topic)
        at = hash & (2 * TRIAL - 1)
        while seen[at] and seen[at] != hash:
            at = (at + 1) & (2 * TRIAL - 1)
        again += seen[at] == hash
        seen[at] = hash
    return again


cdef bytes bytes_of(buffer *words):
    return PyBytes_FromStringAndSize(<const char *>words.items, words.count * sizeof(uint64_t))


# -------------------------------------------------------------------------------------------------------------- trails

cdef bint begin_records(Traversal *t) noexcept:
    t.trails.records.count = 0
    return buffer_push(&t.trails.records, t.separator)


cdef Py_ssize_t add_record(Trails *trails, Py_ssize_t above, PyObject *branch, bint marked) noexcept:
    return trail_add(&trails.records, above, text_of(branch), 1 if marked else 0)    # not the mark's separator


cdef object trail_of(Traversal *t, Matchable trie, str topic, bint shared):
    cdef object share = trie._plan.share if shared and trie._plan.shares else None
    if not trail_end(&t.trails.records, <PyObject *>topic, t.separator, t.one, t.many, t.many_min, share):
        raise MemoryError
    trail = bytes_of(&t.trails.records)
    return (trie._plan.dialect, trail) if shared and not trie._plan.shares else trail
