# C types for scratch.py, and the bodies of its shortest functions.
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport uint64_t

from ctrie._native cimport PyTuple_GET_ITEM_PTR, PyTuple_GET_SIZE_PTR, is_exactly
from subtrie._trie.groups cimport Shared
from subtrie._trie.match.buffer cimport buffer, buffer_free, buffer_push, buffer_push_pair, buffer_room_for, buffer_start
from subtrie._trie.match.plan cimport Matchable
from subtrie._trie.match.walk cimport Trails, Traversal, prefetch_to_count
from subtrie._trie.keyed cimport hash_in, key_in

cdef extern from *:
    void Py_INCREF_PTR "Py_INCREF" (PyObject *o)
    bint PyObject_GC_IsTracked(PyObject *o)
    void PyObject_GC_UnTrack(PyObject *o)

# Those of a large filter do not all stay in the processor's caches between the steps of a question, and to wait for one
# after the other would take most of its time.
cdef enum:
    AHEAD = 32      # how far ahead, in a buffer, a subscriber is fetched
    MANY = 2048     # in a buffer

cdef enum:
    ENTRIES = 2
    ALL = 3
    OWN = 4
    ANY = 5

cdef struct Question:
    Traversal walk
    int wants
    bint by_lot
    bint keep_seen
    bint seen_taken
    bint shared
    bint weak
    buffer stack
    buffer subscribers      # subscriber (counted), hash


cdef inline bint note_subscriber(buffer *subscribers, PyObject *subscriber, uint64_t hash) noexcept:
    prefetch_to_count(subscriber)
    return buffer_push_pair(subscribers, <uint64_t>subscriber, hash)


cdef inline void forget(buffer *noted) noexcept:
    noted.count = 0


cdef inline PyObject *pop_node(buffer *stack) noexcept:
    stack.count -= 1
    return <PyObject *>stack.items[stack.count]


cdef inline uint64_t *room_for_pairs(buffer *subscribers, Py_ssize_t count) noexcept:
    return buffer_room_for(subscribers, 2 * count)


cdef inline uint64_t *put_entry(uint64_t *pairs, PyObject *entry) noexcept:
    pairs[0] = <uint64_t>entry
    pairs[1] = 0
    return pairs + 2


cdef inline uint64_t *put_subscriber(uint64_t *pairs, PyObject *entry) noexcept:
    prefetch_to_count(key_in(entry))
    pairs[0] = <uint64_t>key_in(entry)
    pairs[1] = hash_in(entry)
    return pairs + 2


cdef inline void end_pairs(buffer *subscribers, uint64_t *pairs) noexcept:
    subscribers.count = pairs - subscribers.items


cdef inline bint push_node(buffer *stack, PyObject *node) noexcept:
    return buffer_push(stack, <uint64_t>node)


cdef inline void take_references(buffer *subscribers) noexcept:
    cdef const uint64_t *noted = subscribers.items
    cdef const uint64_t *end = noted + subscribers.count
    if subscribers.count > MANY:
        while end - noted > AHEAD:
            prefetch_to_count(<PyObject *>noted[AHEAD])
            Py_INCREF_PTR(<PyObject *>noted[0])
            noted += 2
    while noted != end:
        Py_INCREF_PTR(<PyObject *>noted[0])
        noted += 2


cdef inline void fetch_ahead(Question *q, Py_ssize_t at) noexcept:
    if at + AHEAD < q.subscribers.count:
        prefetch_to_count(<PyObject *>q.subscribers.items[at + AHEAD])


cdef inline object subscriber_at(Question *q, Py_ssize_t at):
    return <object><PyObject *>q.subscribers.items[at]


cdef inline uint64_t hash_at(Question *q, Py_ssize_t at) noexcept:
    return q.subscribers.items[at + 1]


cdef inline bint is_shared_at(Question *q, Py_ssize_t at) noexcept:
    return q.subscribers.items[at + 1] == 0 and is_exactly(<PyObject *>q.subscribers.items[at], Shared)


cdef inline PyObject *taken_shared(Question *q, Py_ssize_t at) noexcept:
    return <PyObject *>q.subscribers.items[at]


cdef inline int put_taken(Question *q, PyObject *subscriber, uint64_t hash) except -1:
    if not buffer_push_pair(&q.subscribers, <uint64_t>subscriber, hash):
        raise MemoryError
    Py_INCREF_PTR(subscriber)
    return 0


cdef inline void begin_trails(Question *q, Trails *trails) noexcept:
    q.walk.trails = trails
    buffer_start(&trails.above)
    buffer_start(&trails.levels)
    buffer_start(&trails.records)


cdef inline void end_trails(Trails *trails) noexcept:
    buffer_free(&trails.above)
    buffer_free(&trails.levels)
    buffer_free(&trails.records)


cdef inline tuple new_answer(Py_ssize_t size):
    return PyTuple_New(size)


cdef inline void put_in_answer(tuple answer, Py_ssize_t i, object item) noexcept:
    Py_INCREF(item)     # the tuple's
    PyTuple_SET_ITEM(answer, i, item)


cdef inline tuple answer_made(tuple answer):
    cdef Py_ssize_t i
    for i in range(PyTuple_GET_SIZE_PTR(<PyObject *>answer)):
        if PyObject_GC_IsTracked(PyTuple_GET_ITEM_PTR(<PyObject *>answer, i)):
            return answer
    if PyTuple_GET_SIZE_PTR(<PyObject *>answer):
        PyObject_GC_UnTrack(<PyObject *>answer)     # as in handed_over
    return answer


cdef int begin(Question *q) except -1
cdef bint enter() noexcept
cdef void leave() noexcept
cdef void start(Question *q) noexcept
cdef void release(Question *q) noexcept
cdef void let_go(Question *q) noexcept
cdef void take_seen(Question *q) noexcept
cdef Py_ssize_t coming_again(list topics) except -1
cdef bytes bytes_of(buffer *words)
cdef tuple handed_over(Question *q)
cdef tuple remembered(Question *q, PyObject *topic, PyObject *answer, PyObject *root)
cdef int keep_living(buffer *subscribers) except -1
cdef void drop_shared(Question *q, Py_ssize_t count) noexcept
cdef bint begin_records(Traversal *t) noexcept
cdef Py_ssize_t add_record(Trails *trails, Py_ssize_t above, PyObject *branch, bint marked) noexcept
cdef object trail_of(Traversal *t, Matchable trie, str topic, bint shared)
