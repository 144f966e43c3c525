"""The compiled twin's entry to matching: a topic's words are found and hashed in place, and the answer is put together
out of what the two passes (traversal.py) have found, with one reference counted for each subscriber handed out.

Topics of 64 words and more are matched by reading.py, and so are those of dialects whose separator or wildcards are no
ASCII characters. A pin (ctrie/c/epoch.h) keeps alive what is found until its references are taken; while it is held no
Python code runs and nothing is allocated but by malloc.

Here are the plan of a dialect, the paths of filters and the questions themselves; their steps have files of their own:
the two passes (traversal.py), each subscriber once (dedupe.pyx), answers that are remembered (answer_cache.py).
"""

import os

from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject, PyObject_Hash, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcpy, memmove, memset

cimport cython

from ctrie._cnode cimport MainNode
from ctrie._descent cimport help_pending
from ctrie._native cimport (
    CTRIE_IS, Py_None, PyTuple_GET_ITEM_PTR, PyTuple_GET_SIZE_PTR, pin, unpin
)
from ctrie._nodes cimport Root, freeze_root, hash_of as CTRIE_HASH, rdcss_read_root, value_of as CTRIE_VALUE
from subtrie._trie.branch cimport Branch, Chain, sole_hash_of as SUBTRIE_ALONE
from subtrie._trie.match.buffer cimport buffer, buffer_free, buffer_push, buffer_push_pair, buffer_room_for, buffer_start
from subtrie._trie.match.answer_cache cimport (
    ANSWER, DELIVERIES, FIRST, MOST_SEEN, ROOT, SUBSCRIBERS, TOPIC, Table, own_stripe, own_table, recall, remember,
    wanted_place
)
from subtrie._trie.match.dedupe cimport REPEATED, drop_repeated
from subtrie._trie.frozen cimport main_for_good, root_over
from subtrie._trie.groups cimport Shared
from subtrie._trie.match.reading cimport RETRIES, TRIAL, WORTH, Query, new_query, read_matches
from subtrie._trie.match.deliveries cimport Told, delivered, found_by, held, new_told
from subtrie._trie.subscribers cimport SUBTRIE_ENTRY_HASH, SUBTRIE_SET_ARRAY, SUBTRIE_SUBSCRIBER, Entry, SetNode
from subtrie._trie.match.trail cimport trail_add
from subtrie._trie.match.named cimport find_named, traverse_beside
from subtrie._trie.match.traversal cimport (
    CHANGED, ENOUGH, NO_MEMORY, PENDING, THROUGH, UNSPLIT, read_pinned, traverse
)
from subtrie._trie.match.walk cimport (
    ABOVE, KEPT, MOST_WORDS, NOTED, Passed, Trails, Traversal, prefetch, prefetch_to_count
)
from subtrie._trie.match.steps cimport Steps
from subtrie._trie.match.warming cimport estimated_size, warm
from subtrie._trie.packed_key cimport text_of as SUBTRIE_TEXT
from subtrie._trie.words cimport (
    MANY_WORDS, MARKED, ONE_WORD, repeated, word, word_is_word, word_of_string, word_rules, word_secret, words_split
)

from subtrie._trie.match.reading import distinct_among, distinct_subscribers
from subtrie.dialects import Dialect
from subtrie._trie.weak_subscribers import Held, HeldMethod

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030c0000
    #define SUBTRIE_IN_PLACE(topic) (PyUnicode_CheckExact(topic) && PyUnicode_IS_ASCII(topic))
    #else
    #define SUBTRIE_IN_PLACE(topic) (PyUnicode_CheckExact(topic) && PyUnicode_IS_COMPACT_ASCII(topic))
    #endif
    static inline PyObject *ascii_word(const word *w)
    {
        if (w->length == 1) {
            return PyUnicode_FromOrdinal(w->data[0]);   /* which has one object for each */
        }
        PyObject *string = PyUnicode_New(w->length, 127);
        if (string != NULL && w->length > 0) {
            memcpy(PyUnicode_1BYTE_DATA(string), w->data, (size_t)w->length);
        }
        return string;
    }
    /* What a weak reference refers to, counted; NULL if that is gone. */
    static inline PyObject *referred_to(PyObject *reference)
    {
    #if PY_VERSION_HEX >= 0x030d0000
        PyObject *object;
        return PyWeakref_GetRef(reference, &object) == 1 ? object : NULL;
    #else
        PyObject *object = PyWeakref_GET_OBJECT(reference);
        return object == Py_None ? NULL : Py_NewRef(object);
    #endif
    }
    /* What `mix` (ctrie/_nodes.py) has made this of: its steps, undone. */
    static inline uint64_t unmixed(uint64_t h)
    {
        h = (h ^ h >> 31 ^ h >> 62) * 0x319642b2d24d8ec3u;
        h = (h ^ h >> 27 ^ h >> 54) * 0x96de1b173f119089u;
        return h ^ h >> 30 ^ h >> 60;
    }
    static inline int may_be_in_cycle(PyObject *o) { return PyType_IS_GC(Py_TYPE(o)); }
    #include <time.h>
    static inline uint64_t nanoseconds(void)
    {
        struct timespec now;
        timespec_get(&now, TIME_UTC);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    }
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
    bint SUBTRIE_IN_PLACE(object topic)
    const char *ascii_of "(const char *)PyUnicode_1BYTE_DATA" (object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    object ascii_word(const word *w)
    PyObject *PyDict_GetItemWithError(object dictionary, object key) except? NULL
    PyObject *PyList_GET_ITEM_PTR "PyList_GET_ITEM" (object array, Py_ssize_t i)
    void Py_INCREF_PTR "Py_INCREF" (PyObject *o)
    void Py_DECREF_PTR "Py_DECREF" (PyObject *o)
    PyObject *referred_to(PyObject *reference)
    object PyTuple_New(Py_ssize_t size)
    object PyMethod_New(object function, object owner)
    bytes PyBytes_FromStringAndSize(const char *data, Py_ssize_t size)
    uint64_t unmixed(uint64_t h)
    bint may_be_in_cycle(PyObject *o)
    uint64_t nanoseconds()
    bint enter_match() nogil
    void leave_match() nogil
    void PyObject_GC_UnTrack(PyObject *o)
    void PyTuple_SET_ITEM_PTR "PyTuple_SET_ITEM" (object array, Py_ssize_t i, PyObject *stolen)

cdef PyTypeObject *CHAIN = <PyTypeObject *>Chain
cdef PyTypeObject *ENTRY = <PyTypeObject *>Entry
cdef PyTypeObject *SET_NODE = <PyTypeObject *>SetNode
cdef PyTypeObject *SHARED = <PyTypeObject *>Shared
cdef PyTypeObject *HELD = <PyTypeObject *>Held
cdef PyTypeObject *HELD_METHOD = <PyTypeObject *>HeldMethod

cdef enum:
    MOST_SPECIALS = 8

cdef bytes _secret = os.urandom(16)
memcpy(word_secret, <const char *>_secret, 16)


cpdef uint64_t word_hash(str word) except? 0:
    """Return the hash of a word that is no wildcard."""
    if word is None:
        raise TypeError("a word must be a str, not NoneType")
    return word_of_string(<PyObject *>word).hash


cdef class Plan:
    """What matching needs of a dialect, as C values, and whether the trie is one with `exact=True` (exact_layout.py)."""

    def __cinit__(self, dialect, bint exact):
        special = set(dialect.forbidden)
        if not dialect.wildcards_in_topics:
            special.update(wildcard[0] for wildcard in (dialect.one_word, dialect.many_words) if wildcard)
        prefix = dialect.reserved_prefix
        wild = [dialect.one_word, dialect.many_words or dialect.one_word]
        self.dialect = dialect
        self.exact = exact
        self.separator = dialect.separator
        self.in_place = len(special) <= MOST_SPECIALS and all(
            len(c) == 1 and c.isascii() for c in [dialect.separator, prefix or "$", *wild]
        )
        self.splits = self.in_place and all(
            getattr(type(dialect), name) is getattr(Dialect, name) for name in ("split_filter", "split_topic")
        )
        self.reserved = ord(prefix) if self.in_place and prefix is not None else -1
        self.in_topics = _rules(dialect, special)
        self.in_filters = _rules(dialect, set(dialect.forbidden))
        self.separator_in_place = ord(dialect.separator)
        self.one, self.many = [ord(c) for c in wild] if self.in_place else (0, 0)
        self.many_last = dialect.many_last
        self.wildcards_in_words = dialect.wildcards_in_words
        self.share = dialect.share_prefix
        self.many_min = dialect.many_min
        self.max_bytes = dialect.max_bytes
        self.most = min(MOST_WORDS, dialect.max_words)
        self.most_in_filter = min(self.most, dialect.max_wildcards)

    def hash_in_filter(self, str w):
        """Return the hash of a word where it stands in a filter."""
        return hash_in_filter(self.dialect, w)


cdef word_rules _rules(dialect, special) except *:
    cdef word_rules rules
    rules.separators = repeated(ord(dialect.separator[0]))
    rules.empty_ordinary = dialect.empty_words
    rules.special_count = 0
    for c in special:
        if c.isascii() and rules.special_count < MOST_SPECIALS:
            rules.specials[rules.special_count] = repeated(ord(c))
            rules.special_count += 1
    return rules


cdef class Matchable:
    """What a topic is matched against: a trie's root, the plan of its dialect, and what is remembered of it."""


cdef Query query_of(Plan plan, object topic):
    """Split and validate a topic by its dialect's own methods, and hash its words."""
    dialect = plan.dialect
    words = dialect.split_topic(topic)
    hashes = tuple([word_hash(w) for w in (words or ("",))])
    whole = dialect.join(words) if plan.exact else None
    return new_query(words, hashes, dialect, whole, 0 if whole is None else word_hash(whole))


# ------------------------------------------------------------------------------------------------------------- filters

cpdef tuple filter_path(Matchable trie, object filter):
    """Return the words of a filter, never none (reading.py on the filter of no words), and their hashes; for a trie
    with `exact=True` the whole text as one word, where no more is to be seen to."""
    cdef PyObject *plan = <PyObject *>trie._plan     # borrowed from the trie
    return path_by(<Plan>plan, filter)


cpdef tuple path_by(Plan plan, object filter):
    """The same, by a plan."""
    cdef tuple path = _filter_path_in_place(plan, filter)
    if path is not None:
        return path
    words = plan.dialect.split_filter(filter) or ("",)
    return words, tuple([hash_in_filter(plan.dialect, w) for w in words])


def hash_in_filter(dialect, str w):
    """Return the hash of a word where it stands in a filter."""
    if w == dialect.one_word:
        return ONE_WORD
    if w == dialect.many_words:
        return MANY_WORDS
    return word_hash(w)


cdef tuple _filter_path_in_place(Plan plan, object filter):
    """For the filters that need no second look; None for all others, valid or not."""
    cdef word words[MOST_WORDS]
    cdef bint wild = False
    cdef Py_ssize_t i, size = words_in_filter(plan, filter, words)
    cdef tuple strings, hashes
    if size < 0:
        return None
    for i in range(size):
        wild |= words[i].hash == ONE_WORD or words[i].hash == MANY_WORDS
    if plan.exact and not wild:
        return (filter,), (word_hash(filter),)
    strings = PyTuple_New(size)
    hashes = PyTuple_New(size)
    for i in range(size):
        _set_item(strings, i, ascii_word(&words[i]))
        _set_item(hashes, i, words[i].hash)
    return strings, hashes


cdef Py_ssize_t words_in_filter(Plan plan, object filter, word *words) noexcept:
    """Split a filter that needs no second look, into up to MOST_WORDS words; -1 for all others, valid or not."""
    cdef Py_ssize_t i, size
    if not plan.splits or not SUBTRIE_IN_PLACE(filter) or not 0 < PyUnicode_GET_LENGTH(filter) <= plan.max_bytes:
        return -1
    size = words_split(
        ascii_of(filter), PyUnicode_GET_LENGTH(filter), &plan.in_filters, words, plan.most_in_filter
    )
    for i in range(size):
        if not _settle_wildcards(plan, &words[i], i + 1 == size):
            return -1
    return -1 if size > 0 and plan.share is not None and _is(&words[0], <PyObject *>plan.share) else size


cdef inline void _set_item(tuple array, Py_ssize_t i, object item) noexcept:
    Py_INCREF(item)     # the array's
    PyTuple_SET_ITEM_PTR(array, i, <PyObject *>item)


cdef bint _is(const word *w, PyObject *string) noexcept:
    cdef word other = word_of_string(string)
    return w.hash == other.hash and word_is_word(w, &other)


cdef bint _settle_wildcards(Plan plan, word *w, bint last) noexcept:
    """Give a wildcard its own hash; False where the dialect's own methods have to look at the word."""
    if w.length == 1 and w.data[0] == plan.one:
        w.hash = ONE_WORD
        return True
    if w.length == 1 and w.data[0] == plan.many:
        w.hash = MANY_WORDS
        return last or not plan.many_last
    return plan.wildcards_in_words or not (
        memchr(w.data, plan.one, w.length) or memchr(w.data, plan.many, w.length)
    )


# ------------------------------------------------------------------------------------------------------------- answers

cdef struct Scratch:
    Traversal walk
    bint keep_seen          # take references to what is in `seen` when the answer has been read
    bint seen_taken
    bint shared             # some filter has groups: among the subscribers taken are Shared ones
    bint weak               # references to subscribers are in their places
    bint only_hashes        # subscribers are noted for their hashes, and not taken
    buffer stack            # of large sets
    buffer subscribers      # subscriber (counted), hash; where trails are wanted, an Entry may stand for one, with 0


cdef inline bint _note_subscriber(buffer *subscribers, PyObject *subscriber, uint64_t hash) noexcept:
    prefetch_to_count(subscriber)
    return buffer_push_pair(subscribers, <uint64_t>subscriber, hash)


cdef inline bint _take_found(Scratch *s) noexcept:
    """Take a reference to every subscriber of every branch found; False, and none, when there is no memory."""
    cdef const uint64_t *noted
    cdef const uint64_t *end
    if not (_note_found(s) if s.walk.trails == NULL else _note_entries_found(s)):
        s.subscribers.count = 0
        return False
    if s.only_hashes:
        return True
    noted = s.subscribers.items
    end = noted + s.subscribers.count
    while noted != end:
        Py_INCREF_PTR(<PyObject *>noted[0])
        noted += 2
    return True


cdef inline bint _note_found(Scratch *s) noexcept:
    cdef Py_ssize_t i
    cdef PyObject *branch
    cdef PyObject *value
    for i in range(s.walk.found.count):
        branch = <PyObject *>s.walk.found.items[i]
        value = CTRIE_VALUE(branch)
        if SUBTRIE_ALONE(branch):
            if not _note_subscriber(&s.subscribers, value, SUBTRIE_ALONE(branch)):
                return False
        elif CTRIE_IS(value, ENTRY):
            if not _note_subscriber(&s.subscribers, SUBTRIE_SUBSCRIBER(value), SUBTRIE_ENTRY_HASH(value)):
                return False
        elif not (_note_shared(s, value) if CTRIE_IS(value, SHARED) else _note_all(s, value, False)):
            return False
    return True


cdef bint _note_entries_found(Scratch *s) noexcept:
    """As `_note_found`, with entries in the place of their subscribers, and the trails. In `found`, how many have been
    noted then stands in the place of each branch, and in `levels` the place of its record."""
    cdef Py_ssize_t i
    cdef PyObject *branch
    cdef PyObject *value
    cdef bint room
    if not _note_trails(&s.walk):
        return False
    for i in range(s.walk.found.count):
        branch = <PyObject *>s.walk.found.items[i]
        value = CTRIE_VALUE(branch)
        if SUBTRIE_ALONE(branch):
            room = _note_subscriber(&s.subscribers, value, SUBTRIE_ALONE(branch))
        elif CTRIE_IS(value, ENTRY):
            room = _note_subscriber(&s.subscribers, value, 0)
        else:
            room = _note_shared(s, value) if CTRIE_IS(value, SHARED) else _note_all(s, value, True)
        if not room:
            return False
        s.walk.found.items[i] = s.subscribers.count
    return True


cdef bint _note_trails(Traversal *t) noexcept:
    """Write records of the branches found and of those above them, these first."""
    cdef Trails *trails = t.trails
    cdef uint64_t *above = trails.above.items
    cdef uint64_t *levels = trails.levels.items
    cdef uint64_t level
    cdef Py_ssize_t i, place
    for i in range(t.found.count):      # mark the levels that lead to something
        level = levels[i]
        while level and not above[(level - 1) * ABOVE + 2]:
            above[(level - 1) * ABOVE + 2] = 1
            level = above[(level - 1) * ABOVE + 1]
    trails.records.count = 0
    if not buffer_push(&trails.records, t.separator):
        return False
    i = 0
    while i < trails.above.count:
        if above[i + 2]:
            place = _record(trails, <PyObject *>above[i], above[i + 1])
            if place < 0:
                return False
            above[i + 2] = place
        i += ABOVE
    for i in range(t.found.count):
        place = _record(trails, <PyObject *>t.found.items[i], levels[i])
        if place < 0:
            return False
        levels[i] = place
    return True


cdef inline Py_ssize_t _record(Trails *trails, PyObject *branch, uint64_t level) noexcept:
    """Write the record of a branch of a level. Returns its place; 0 if it adds nothing at all; -1: there is no memory."""
    cdef Py_ssize_t place = trails.above.items[(level - 1) * ABOVE + 2] if level else 0
    cdef bint marked = CTRIE_HASH(branch) == MARKED
    if marked and not CTRIE_IS(branch, CHAIN):
        return place
    place = trail_add(&trails.records, place, SUBTRIE_TEXT(branch), 1 if marked else 0)    # not the mark's separator
    return place if place else -1


cdef bint _note_shared(Scratch *s, PyObject *shared) noexcept:
    """Note the subscribers of a filter that has groups: whose turn it is, Python code will say."""
    s.shared = True
    return buffer_push_pair(&s.subscribers, <uint64_t>shared, 0)


cdef inline bint _note_all(Scratch *s, PyObject *several, bint entries) noexcept:
    """Note every subscriber of a set of several, or its entry."""
    cdef Py_ssize_t i
    cdef PyObject *array
    cdef PyObject *child
    cdef uint64_t *noted
    s.stack.count = 0
    while True:
        array = SUBTRIE_SET_ARRAY(several) if CTRIE_IS(several, SET_NODE) else several
        noted = buffer_room_for(&s.subscribers, 2 * PyTuple_GET_SIZE_PTR(array))
        if noted == NULL:
            return False
        for i in range(PyTuple_GET_SIZE_PTR(array)):
            child = PyTuple_GET_ITEM_PTR(array, i)
            if CTRIE_IS(child, ENTRY):
                if entries:
                    noted[0] = <uint64_t>child
                    noted[1] = 0
                else:
                    prefetch_to_count(SUBTRIE_SUBSCRIBER(child))
                    noted[0] = <uint64_t>SUBTRIE_SUBSCRIBER(child)
                    noted[1] = SUBTRIE_ENTRY_HASH(child)
                noted += 2
            elif not buffer_push(&s.stack, <uint64_t>child):
                return False
        s.subscribers.count = noted - s.subscribers.items
        if not s.stack.count:
            return True
        s.stack.count -= 1
        several = <PyObject *>s.stack.items[s.stack.count]


cdef void _take_seen(Scratch *s) noexcept:
    cdef Py_ssize_t at = 0
    while at < s.walk.seen.count:
        Py_INCREF_PTR(<PyObject *>s.walk.seen.items[at])
        Py_INCREF_PTR(<PyObject *>s.walk.seen.items[at + 1])
        at += NOTED
    s.seen_taken = True


cdef tuple _remembered(Scratch *s, PyObject *topic, PyObject *answer, PyObject *root):
    """Return what answer_cache.py remembers of an answer, out of the references taken."""
    cdef Py_ssize_t at = 0, place = FIRST + 1
    remembered = PyTuple_New(place + s.walk.seen.count // NOTED * 2)
    _set_item(remembered, TOPIC, <object>topic)
    _set_item(remembered, ANSWER, <object>answer)
    _set_item(remembered, ROOT, <object>root)
    _set_item(remembered, FIRST, <object><PyObject *>s.walk.seen.items[0])
    while at < s.walk.seen.count:
        PyTuple_SET_ITEM_PTR(remembered, place, <PyObject *>s.walk.seen.items[at])
        PyTuple_SET_ITEM_PTR(remembered, place + 1, <PyObject *>s.walk.seen.items[at + 1])
        at += NOTED
        place += 2
    s.seen_taken = False        # the references are the tuple's now
    return <tuple>remembered


cdef int _read(Scratch *s, PyObject *borrowed) except -1:
    """Traverse until an answer of one instant is found and its subscribers are taken. 0: the trie changed; UNSPLIT:
    there is none without the topic's words. The root is borrowed from the trie: to count a use of it would be to write
    where all threads read."""
    cdef bint taken = True
    cdef int outcome = read_pinned(&s.walk, borrowed)
    if outcome == THROUGH and not s.walk.only_first:
        taken = _take_found(s)
        if s.keep_seen and s.walk.seen.count <= NOTED * MOST_SEEN:
            _take_seen(s)
    unpin()
    if outcome == NO_MEMORY or not taken:
        raise MemoryError()
    return UNSPLIT if outcome == UNSPLIT else outcome != CHANGED


cdef int _read_at_last(Scratch *s, PyObject *root) except -1:
    """As _read, but end: after some attempts, read a snapshot."""
    cdef int outcome
    for _ in range(RETRIES):
        outcome = _read(s, root)
        if outcome:
            return outcome
    frozen = freeze_root(<Root>root)
    s.keep_seen = False     # what holds in a snapshot says nothing of the trie
    return _read(s, <PyObject *>frozen)


cdef bint _hand_over(tuple answer, const uint64_t *items) noexcept:
    """Put the references taken into the answer; tell whether any of these could be part of a cycle."""
    cdef Py_ssize_t i
    cdef bint in_cycles = False
    for i in range(PyTuple_GET_SIZE_PTR(<PyObject *>answer)):
        PyTuple_SET_ITEM_PTR(answer, i, <PyObject *>items[2 * i])
        in_cycles |= may_be_in_cycle(<PyObject *>items[2 * i])
    return in_cycles


cdef object _living_method(PyObject *reference):
    """As `HeldMethod.__call__`."""
    cdef PyObject *owner = referred_to(reference)
    cdef PyObject *function
    if owner == NULL:
        return None
    one = <object>owner
    Py_DECREF_PTR(owner)
    held = (<object>reference).function
    if type(held) is str:
        return getattr(one, held)
    function = referred_to(<PyObject *>held)
    if function == NULL:
        return None
    method = PyMethod_New(<object>function, one)
    Py_DECREF_PTR(function)
    return method


cdef int _keep_living(buffer *subscribers) except -1:
    """Put subscribers in the places of references to them, and drop those who are gone: before repeated ones are dropped,
    lest of two equal ones the one is dropped that lives."""
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
        else:       # Shared
            alive = reference
            Py_INCREF_PTR(alive)
        if alive != NULL:
            items[kept] = <uint64_t>alive
            items[kept + 1] = items[i + 1]
            kept += 2
        Py_DECREF_PTR(reference)
    subscribers.count = kept
    return 0


cdef inline tuple _answer(Scratch *s, PyObject *plan, bint take_turns):
    """Return the subscribers taken, each once."""
    cdef Py_ssize_t i
    cdef bint in_cycles
    if s.weak:
        _keep_living(&s.subscribers)
    if s.shared:
        return distinct_among(
            [
                (<object><PyObject *>s.subscribers.items[i], s.subscribers.items[i + 1])
                for i in range(0, s.subscribers.count, 2)
            ],
            (<Plan>plan).dialect,
            take_turns,
        )
    if s.walk.found.count > 1:
        drop_repeated(&s.subscribers)
    answer = PyTuple_New(s.subscribers.count // 2)
    in_cycles = _hand_over(answer, s.subscribers.items)
    s.subscribers.count = 0     # the references are the tuple's now
    if not in_cycles and PyTuple_GET_SIZE_PTR(<PyObject *>answer):
        PyObject_GC_UnTrack(<PyObject *>answer)     # what a collection finds out, too, but only by a visit to each
    return <tuple>answer


cdef void _release(Scratch *s) noexcept:
    cdef Py_ssize_t i
    for i in range(0, s.subscribers.count, 2):
        Py_DECREF_PTR(<PyObject *>(s.subscribers.items[i] & ~<uint64_t>REPEATED))
    i = 0
    while s.seen_taken and i < s.walk.seen.count:
        Py_DECREF_PTR(<PyObject *>s.walk.seen.items[i])
        Py_DECREF_PTR(<PyObject *>s.walk.seen.items[i + 1])
        i += NOTED
    buffer_free(&s.walk.seen)
    buffer_free(&s.walk.found)
    buffer_free(&s.stack)
    buffer_free(&s.subscribers)
    leave_match()


# ----------------------------------------------------------------------------------------------------------- questions

cdef inline bint _split_in_place(Scratch *s, Plan plan, object topic):
    cdef Py_ssize_t length
    cdef const char *text
    if not plan.splits or not SUBTRIE_IN_PLACE(topic):
        return False
    length = PyUnicode_GET_LENGTH(topic)
    text = ascii_of(topic)
    if length == 0 or length > plan.max_bytes:
        return False
    s.walk.size = words_split(text, length, &plan.in_topics, s.walk.words, plan.most)
    s.walk.reserved = plan.reserved >= 0 and text[0] == <char>plan.reserved
    return s.walk.size > 0


cdef inline bint _prepare_whole(Scratch *s, PyObject *plan, object topic) noexcept:
    """Put the topic into `s` to look for it without its words. False: that is not to be tried with this one."""
    if not (<Plan>plan).exact or not PyUnicode_CheckExact(topic):
        return False
    s.walk.exact = True
    s.walk.size = 0
    s.walk.whole = word_of_string(<PyObject *>topic)
    s.walk.full = 1
    s.walk.separator = (<Plan>plan).separator_in_place
    return True


cdef Query _prepare(Scratch *s, Matchable trie, object topic):
    """Put the topic's words into `s`. Returns what must be kept meanwhile: None when they are read in place, else the
    query that holds them, and that has to be answered by the other body if `s.walk.size` is 0."""
    cdef PyObject *plan = <PyObject *>trie._plan     # borrowed from the trie
    cdef Query query = None
    if not _split_in_place(s, <Plan>plan, topic):
        query = query_of(trie._plan, topic)
        s.walk.size = len(query.words) if (<Plan>plan).in_place and len(query.words) <= MOST_WORDS else 0
        for i in range(s.walk.size):
            s.walk.words[i] = word_of_string(<PyObject *>query.words[i])
        s.walk.reserved = query.reserved
    _lay_out(s, plan, topic if query is None else query.whole)
    return query


cdef inline void _lay_out(Scratch *s, PyObject *plan, whole) noexcept:
    """Put into `s` what a traversal has to know besides the topic's words."""
    s.walk.exact = (<Plan>plan).exact
    if s.walk.exact:
        s.walk.whole = word_of_string(<PyObject *>whole)
    s.walk.full = ~<uint64_t>0 >> (63 - s.walk.size)
    s.walk.many_min = (<Plan>plan).many_min
    s.walk.separator = (<Plan>plan).separator_in_place
    s.walk.one = (<Plan>plan).one
    s.walk.many = (<Plan>plan).many


cdef int _begin(Scratch *s, bint only_first) except -1:
    if not enter_match():
        raise RecursionError("a match asks the trie again, and that match again, and so on")
    s.walk.only_first = only_first
    s.walk.trails = NULL
    s.keep_seen = s.seen_taken = s.shared = s.weak = s.only_hashes = False
    buffer_start(&s.walk.seen)
    buffer_start(&s.walk.found)
    buffer_start(&s.stack)
    buffer_start(&s.subscribers)
    return 0


cpdef tuple match(Matchable trie, topic, bint take_turns=True):
    """Return the distinct subscribers of `topic` at one instant."""
    cdef bint by_turns
    return _match(trie, topic, take_turns, &by_turns)


cdef inline tuple _match(Matchable trie, topic, bint take_turns, bint *by_turns):
    """The same, and tell whether the answer depends, or may depend, on whose turn it is."""
    cdef int stripe = own_stripe(SUBSCRIBERS)
    cdef Table table
    if <PyObject *>trie._cache == Py_None or not PyUnicode_CheckExact(topic):
        return _match_now(trie, topic, None, take_turns, by_turns)
    answer = recall(<PyObject *>trie._cache, <PyObject *>topic, stripe)
    if answer is not None:
        by_turns[0] = False
        return <tuple>answer
    table = own_table(trie._cache, stripe)
    if table.misses == 0:
        table.misses = 1    # there was no table yet to count it in
    return _match_now(trie, topic, table, take_turns, by_turns)


cdef tuple _match_now(Matchable trie, topic, Table table, bint take_turns, bint *by_turns):
    """Find the answer, and remember it in `table`, if there is one, when the topic has been asked for before. An answer
    that depends on whose turn it is is not remembered."""
    cdef Scratch s
    cdef Py_ssize_t place
    cdef Query query
    cdef tuple answer
    if table is None and _prepare_whole(&s, <PyObject *>trie._plan, topic):
        answer = _match_in_place(&s, trie, topic, None, -1, take_turns, by_turns)
        if answer is not None:
            return answer
    query = _prepare(&s, trie, topic)
    if s.walk.size == 0:
        by_turns[0] = True
        return distinct_subscribers(read_matches(trie._root, query), take_turns)
    place = -1 if table is None else wanted_place(table, topic)
    return _match_in_place(&s, trie, topic, table, place, take_turns, by_turns)


cdef inline tuple _match_in_place(
    Scratch *s, Matchable trie, topic, Table table, Py_ssize_t place, bint take_turns, bint *by_turns
):
    """The same, of what was prepared, to be remembered at `place` unless that is -1. None: the words are needed."""
    _begin(s, False)
    s.weak = <PyObject *>trie._home != Py_None
    try:
        s.keep_seen = place >= 0
        if _read_at_last(s, <PyObject *>trie._root) == UNSPLIT:
            return None
        answer = _answer(s, <PyObject *>trie._plan, take_turns)
        by_turns[0] = s.shared
        if s.seen_taken and not s.shared:
            remember(
                table, place, _remembered(s, <PyObject *>topic, <PyObject *>answer, <PyObject *>trie._root)
            )
        return answer
    finally:
        _release(s)


cpdef bint has_match(Matchable trie, topic) except -1:
    """Tell whether anybody is subscribed to `topic`; stops at the first."""
    cdef Scratch s
    cdef Query query
    if _prepare_whole(&s, <PyObject *>trie._plan, topic) and _has_match_in_place(&s, trie):
        return True
    query = _prepare(&s, trie, topic)
    if s.walk.size == 0:
        return bool(read_matches(trie._root, query, True).found)
    return _has_match_in_place(&s, trie)


cdef inline bint _has_match_in_place(Scratch *s, Matchable trie) except -1:
    _begin(s, True)
    try:
        _read_at_last(s, <PyObject *>trie._root)
        return s.walk.found.count > 0
    finally:
        _release(s)


# ------------------------------------------------------------------------------------------------- exact matches first

cpdef object exact_first(Matchable trie, topic):
    """Return an iterator of what `match` returns, those first who asked for this very topic, all of the instant of the
    call; None where that is left to literal_first.py, the text to read."""
    cdef Scratch s
    cdef Passed passed
    cdef MainNode main
    cdef PyObject *exact = NULL
    if <PyObject *>trie._home != Py_None or not _split_in_place(&s, <Plan><PyObject *>trie._plan, topic):
        return None
    if s.walk.size > KEPT:
        return None
    _lay_out(&s, <PyObject *>trie._plan, topic)
    main = main_for_good(trie)
    _begin(&s, False)
    try:
        if not _has_wild_word(&s.walk):
            exact = _take_named(&s, main, &passed)
        if s.shared:
            return None
        if exact != NULL:
            return _search_later(&s, trie, topic, main, exact, &passed)
        _read_below(&s, main, &passed, NULL)
        return iter(_answer(&s, <PyObject *>trie._plan, True))
    finally:
        _release(&s)


cdef bint _has_wild_word(Traversal *t) noexcept:
    """Tell whether a word of the topic would be a wildcard in a filter."""
    cdef Py_ssize_t i
    for i in range(t.size):
        if t.words[i].length == 1 and (t.words[i].data[0] == <char>t.one or t.words[i].data[0] == <char>t.many):
            return True
    return False


cdef PyObject *_take_named(Scratch *s, MainNode main, Passed *passed) except? NULL:
    """Take the subscribers of the filter that is the topic itself. Returns its branch, or NULL."""
    cdef int outcome
    cdef bint taken = True
    cdef object root = None
    while True:
        pin()
        outcome = find_named(&s.walk, <PyObject *>main, passed)
        if outcome == PENDING:
            root = _help_below(root, main, &s.walk)
            continue
        if outcome == ENOUGH:
            taken = _take_found(s)
        unpin()
        if outcome == NO_MEMORY or not taken:
            raise MemoryError()
        return <PyObject *>s.walk.found.items[0] if outcome == ENOUGH else NULL    # what `main` leads to stays


cdef object _help_below(root, MainNode main, Traversal *t):
    """Decide what is pending below a main node for good, for which it takes a root: made, unpinned, at the first try."""
    if root is None:
        unpin()
        return root_over(main)
    help_pending(<Root>root, t.pending, t.pending_main)
    return root


cdef int _read_below(Scratch *s, MainNode main, const Passed *passed, PyObject *named) except -1:
    """As `_read`, below a main node for good: no second pass is needed. The branch `named`, if any, comes first."""
    cdef int outcome
    cdef bint taken
    cdef object root = None
    while True:
        pin()
        if named == NULL:
            outcome = traverse(&s.walk, NULL, <PyObject *>main)
        else:
            outcome = traverse_beside(&s.walk, passed, named)
        if outcome == PENDING:
            root = _help_below(root, main, &s.walk)
            continue
        taken = outcome == THROUGH and _take_found(s)
        unpin()
        if not taken:
            raise MemoryError()
        return 0


cdef ExactFirst _search_later(
    Scratch *s, Matchable trie, topic, MainNode main, PyObject *exact, const Passed *passed
):
    """Hand the subscribers taken over to an iterator which searches when it has named them."""
    cdef ExactFirst rest = ExactFirst.__new__(ExactFirst)
    rest.trie = trie
    rest.topic = topic
    rest.main = main
    rest.exact = <Branch>exact
    rest.size = s.walk.size
    rest.reserved = s.walk.reserved
    rest.passed = passed[0]
    memcpy(rest.words, s.walk.words, rest.size * sizeof(word))
    if s.subscribers.count == 2:
        rest.sole = <object><PyObject *>s.subscribers.items[0]
        rest.found = ()
        rest.named = -1
        return rest
    rest.found = PyTuple_New(s.subscribers.count // 2)
    _hand_over(rest.found, s.subscribers.items)
    s.subscribers.count = 0     # the references are the tuple's now
    return rest


@cython.freelist(4)
@cython.final
cdef class ExactFirst:
    """Names the subscribers of a filter that is the topic itself, and then looks for the others, in what the trie was
    when it was asked."""

    cdef Matchable trie
    cdef object topic
    cdef MainNode main      # None: all are found
    cdef Branch exact
    cdef object sole        # who is named first, where only one asked for the topic and `named` is -1
    cdef tuple found        # who is named, the first `named` of them having been
    cdef Py_ssize_t named
    # What is kept of the first look is borrowed from `topic`, and from what `main` leads to.
    cdef Py_ssize_t size
    cdef bint reserved
    cdef word words[KEPT]
    cdef Passed passed

    def __iter__(self):
        return self

    def __next__(self):
        with cython.critical_section(self):
            if self.named < 0:
                self.named = 1
                return self.sole
            if self.main is not None and self.named >= PyTuple_GET_SIZE_PTR(<PyObject *>self.found):
                self.search()
            if self.named < PyTuple_GET_SIZE_PTR(<PyObject *>self.found):
                self.named += 1
                return <object>PyTuple_GET_ITEM_PTR(<PyObject *>self.found, self.named - 1)
        raise StopIteration

    cdef int search(self) except -1:
        """Find the others."""
        cdef Scratch s
        cdef MainNode main = self.main
        self.main = None
        s.walk.size = self.size
        s.walk.reserved = self.reserved
        memcpy(s.walk.words, self.words, self.size * sizeof(word))
        _lay_out(&s, <PyObject *>self.trie._plan, self.topic)
        _begin(&s, False)
        try:
            _read_below(&s, main, &self.passed, <PyObject *>self.exact)
            self.found = _answer(&s, <PyObject *>self.trie._plan, True)
        finally:
            _release(&s)
        return 0


cpdef list match_many(Matchable trie, topics):
    """Return `match` of each topic; see questions_interpreted.py."""
    cdef Py_ssize_t at = 0
    cdef dict answered = None
    cdef list block, answers = []
    cdef Warming w
    if type(topics) is not list and type(topics) is not tuple:
        return [match(trie, topic) for topic in topics]
    _begin_warming(&w)
    try:
        while True:
            block = _block_of(topics, at)
            if not block:
                return answers
            if at == 0 and _come_again(block):
                answered = {}
            if answered is None:
                _match_block(&w, trie, block, answers)
            elif not _match_or_repeat(trie, block, answered, answers):
                answered = None
            at += TRIAL
    finally:
        _end_warming(&w)


cdef inline list _block_of(topics, Py_ssize_t at):
    """Return the next TRIAL topics of a list or tuple: in a list of our own, since a subscriber's __eq__ may change
    theirs; and no more, since these are still in the processor's cache when their turn comes."""
    cdef object block = topics[at:at + TRIAL]
    return <list>block if type(block) is list else list(block)


cdef bint _come_again(list topics) except -1:
    """Tell whether so many of these come several times that it is WORTH keeping answers."""
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
    return again * WORTH >= len(topics)


cdef int _match_block(Warming *w, Matchable trie, list block, list answers) except -1:
    cdef Py_ssize_t i, at
    for at in range(0, len(block), GROUP):
        _warm_next(w, trie, block, at)
        for i in range(at, min(at + GROUP, <Py_ssize_t>len(block))):
            answers.append(match(trie, block[i]))
    return 0


cdef bint _match_or_repeat(Matchable trie, list block, dict answered, list answers) except -1:
    """Match those that have not been `answered`, and tell whether there were enough others."""
    cdef bint by_turns, is_text
    cdef Py_ssize_t repeated = 0
    cdef PyObject *known
    for topic in block:
        is_text = PyUnicode_CheckExact(topic)
        known = PyDict_GetItemWithError(answered, topic) if is_text else NULL
        if known != NULL:
            repeated += 1
            answers.append(<object>known)
            continue
        answer = _match(trie, topic, True, &by_turns)
        answers.append(answer)
        if is_text and not by_turns:
            answered[topic] = answer
    return repeated * WORTH >= len(block)


cpdef tuple match_numbers(Matchable trie, list topics):
    """Return the answers to many topics, of a trie whose subscribers are integers, none below zero and each on one filter
    outside of all groups: where each answer begins, and the end, and the subscribers, as columns of 64-bit integers. An
    integer is read from its mixed hash, since to look at the object itself would be to wait for memory."""
    cdef Py_ssize_t at, i, known, repeated
    cdef dict answered = None
    cdef list block
    cdef buffer offsets, numbers
    cdef Scratch s
    cdef Warming w
    buffer_start(&offsets)
    buffer_start(&numbers)
    _begin(&s, False)
    _begin_warming(&w)
    try:
        _push(&offsets, 0)
        for at in range(0, len(topics), TRIAL):
            block = topics[at:at + TRIAL]
            if at == 0 and _come_again(block):
                answered = {}
            repeated = 0
            for i in range(len(block)):
                if answered is not None:
                    known = answered.setdefault(block[i], at + i)
                    if known < at + i:
                        repeated += 1
                        _repeat(&offsets, &numbers, known)
                        continue
                elif i % GROUP == 0:
                    _warm_next(&w, trie, block, i)
                _add_numbers(&s, trie, block[i], &numbers)
                _push(&offsets, numbers.count)
            if repeated * WORTH < len(block):
                answered = None
        return _bytes_of(&offsets), _bytes_of(&numbers)
    finally:
        _end_warming(&w)
        _release(&s)
        buffer_free(&offsets)
        buffer_free(&numbers)


cdef int _add_numbers(Scratch *s, Matchable trie, topic, buffer *numbers) except -1:
    """Add the numbers that the subscribers of one topic are."""
    cdef Py_ssize_t i, count
    cdef uint64_t *room
    cdef Query query = _prepare(s, trie, topic)
    if s.walk.size == 0:
        for number in distinct_subscribers(read_matches(trie._root, query), False):
            _push(numbers, number)
        return 0
    s.only_hashes = True
    _read_at_last(s, <PyObject *>trie._root)
    count = s.subscribers.count // 2
    s.subscribers.count = 0
    if s.shared:
        raise ValueError("a group among the subscribers, which has no number")
    room = buffer_room_for(numbers, count)
    if room == NULL:
        raise MemoryError()
    for i in range(count):
        room[i] = unmixed(s.subscribers.items[2 * i + 1])
    numbers.count += count
    return 0


cdef int _repeat(buffer *offsets, buffer *numbers, Py_ssize_t answer) except -1:
    """Add an answer again."""
    cdef Py_ssize_t start = offsets.items[answer], count = offsets.items[answer + 1] - start
    cdef uint64_t *room = buffer_room_for(numbers, count)
    if room == NULL:
        raise MemoryError()
    memcpy(room, numbers.items + start, count * sizeof(uint64_t))
    numbers.count += count
    return _push(offsets, numbers.count)


cdef inline int _push(buffer *b, uint64_t item) except -1:
    if not buffer_push(b, item):
        raise MemoryError()
    return 0


cdef inline bytes _bytes_of(buffer *b):
    return PyBytes_FromStringAndSize(<const char *>b.items, b.count * sizeof(uint64_t))


cpdef list deliveries_many(Matchable trie, topics):
    """Return `deliveries` of each topic; see questions_interpreted.py."""
    cdef Py_ssize_t start = 0
    cdef list block, answers = []
    cdef Warming w
    if type(topics) is not list and type(topics) is not tuple:
        return [deliveries(trie, topic) for topic in topics]
    _begin_warming(&w)
    try:
        while True:
            block = _block_of(topics, start)
            if not block:
                return answers
            _deliver_block(&w, trie, block, answers)
            start += TRIAL
    finally:
        _end_warming(&w)


cdef int _deliver_block(Warming *w, Matchable trie, list block, list answers) except -1:
    cdef Py_ssize_t i, at
    for at in range(0, len(block), GROUP):
        _warm_next(w, trie, block, at)
        for i in range(at, min(at + GROUP, <Py_ssize_t>len(block))):
            answers.append(deliveries(trie, block[i]))
    return 0


# ------------------------------------------------------------------------------------------------------------- warming
#
# Whether a warming pass (warming.pyx) pays is found out as the topics go by. In a small trie it never does, and the
# first topic of each block tells whether the trie is small. Where it is not, the first TRIED groups are matched with and
# without a pass by turns, and timed, without the slowest of either kind, which something else may have been the cause
# of; the way that is clearly the cheaper one serves for the next groups. Then there is another trial: after twice as
# many groups each time, as long as it says the same. In a large trie the first groups are warmed before any trial.

cdef enum:
    GROUP = 16
    TRIED = 8
    ROUNDS = 128            # groups from one trial to the next, at least
    MOST_ROUNDS = 2_048
    SMALL = 12_000          # branches
    LARGE = 200_000

cdef struct Warming:
    Traversal *topics       # NULL: no memory was needed yet
    Steps *steps            # two, as the pass wants them
    bint pays               # it may, as the last look told
    bint better             # it does, as the last trial told
    Py_ssize_t round        # groups since the last trial began
    Py_ssize_t rounds       # groups from there to the next one; 0: there was none yet
    uint64_t since          # when the present group began
    uint64_t spent[2]       # nanoseconds of the groups tried, without and with a pass
    uint64_t longest[2]


cdef inline void _begin_warming(Warming *w) noexcept:
    w.topics = NULL
    w.steps = NULL
    w.pays = w.better = False
    w.rounds = 0


cdef inline void _end_warming(Warming *w) noexcept:
    PyMem_RawFree(w.topics)
    PyMem_RawFree(w.steps)


cdef int _warm_next(Warming *w, Matchable trie, list block, Py_ssize_t at) noexcept:
    """Fetch what the matches of the next GROUP topics of a block will read, if that pays."""
    cdef PyObject *plan = <PyObject *>trie._plan
    cdef Py_ssize_t i, size = min(PyList_GET_SIZE(block) - at, <Py_ssize_t>GROUP)
    if at == 0:
        _look(w, trie, block)
    if not w.pays or size < GROUP or not _is_turn_to_warm(w) or not _has_room(w):
        return 0
    for i in range(size):
        prefetch(<const char *>PyList_GET_ITEM_PTR(block, at + i) + 56)
    for i in range(size):
        _split_to_warm(&w.topics[i], <Plan>plan, PyList_GET_ITEM_PTR(block, at + i))
    warm(<PyObject *>trie._root, w.topics, size, w.steps, w.steps + 1)
    return 0


cdef bint _is_turn_to_warm(Warming *w) noexcept:
    cdef uint64_t now = nanoseconds() if w.round <= TRIED else 0
    cdef int kind
    if 0 < w.round <= TRIED:
        kind = w.round & 1
        w.spent[kind] += now - w.since
        w.longest[kind] = max(w.longest[kind], now - w.since)
    if w.round == TRIED:
        _decide(w)
    w.round += 1
    if w.round > w.rounds:
        _begin_trial(w)
        now = nanoseconds()
        w.round = 1
    w.since = now
    return w.better if w.round > TRIED else w.round & 1


cdef inline void _decide(Warming *w) noexcept:
    cdef uint64_t without = w.spent[0] - w.longest[0]
    cdef bint better = w.spent[1] - w.longest[1] < without - without // 8
    w.rounds = min(2 * w.rounds, <Py_ssize_t>MOST_ROUNDS) if better == w.better else ROUNDS
    w.better = better


cdef inline void _begin_trial(Warming *w) noexcept:
    w.round = 0
    w.spent[0] = w.spent[1] = w.longest[0] = w.longest[1] = 0


cdef int _look(Warming *w, Matchable trie, list block) noexcept:
    """Tell whether a pass may pay."""
    cdef bint paid = w.pays
    cdef double about
    w.pays = False
    if PyList_GET_SIZE(block) < GROUP:
        return 0
    about = _size_seen_by(trie, PyList_GET_ITEM_PTR(block, 0))
    w.pays = about >= SMALL
    if w.pays and w.rounds == 0:
        w.rounds = ROUNDS
        w.better = about >= LARGE
        _begin_trial(w)
        w.round = ROUNDS - 2 * TRIED if w.better else 0
    elif w.pays and not paid and w.round <= TRIED:
        _begin_trial(w)     # the last one has been interrupted
    return 0


cdef double _size_seen_by(Matchable trie, PyObject *topic) noexcept:
    """Return about how many branches there are, as the way of one topic shows."""
    cdef Traversal walk
    cdef PyObject *plan = <PyObject *>trie._plan
    if not (<Plan>plan).splits or (<Plan>plan).exact:
        return 0
    _split_to_warm(&walk, <Plan>plan, topic)
    return estimated_size(<PyObject *>trie._root, &walk) if walk.size else 0


cdef bint _has_room(Warming *w) noexcept:
    if w.topics == NULL:
        w.topics = <Traversal *>PyMem_RawMalloc(GROUP * sizeof(Traversal))
    if w.steps == NULL:
        w.steps = <Steps *>PyMem_RawMalloc(2 * sizeof(Steps))
    return w.topics != NULL and w.steps != NULL


cdef void _split_to_warm(Traversal *t, Plan plan, PyObject *topic) noexcept:
    """Put a topic's words into `t`; its size is 0 where that takes another look."""
    cdef Py_ssize_t length
    cdef const char *text
    t.size = 0
    if not PyUnicode_CheckExact(<object>topic) or not SUBTRIE_IN_PLACE(<object>topic):
        return
    length = PyUnicode_GET_LENGTH(<object>topic)
    text = ascii_of(<object>topic)
    if length == 0 or length > plan.max_bytes:
        return
    t.size = max(words_split(text, length, &plan.in_topics, t.words, plan.most), <Py_ssize_t>0)
    t.full = ~<uint64_t>0 >> (63 - t.size)
    t.many_min = plan.many_min
    t.separator = plan.separator_in_place
    t.one = plan.one
    t.many = plan.many


# ---------------------------------------------------------------------------------------------------------- deliveries

cpdef tuple deliveries(Matchable trie, topic):
    """Return who gets a message on `topic`, at one instant."""
    cdef int stripe = own_stripe(DELIVERIES)
    cdef bint shared
    cdef Table table = None
    if <PyObject *>trie._cache != Py_None and PyUnicode_CheckExact(topic):
        answer = recall(<PyObject *>trie._cache, <PyObject *>topic, stripe)
        if answer is not None:
            return <tuple>answer
        table = own_table(trie._cache, stripe)
        if table.misses == 0:
            table.misses = 1    # there was no table yet to count it in
    found = _found_now(trie, topic, table, True, &shared)
    return delivered(found, (<Plan><PyObject *>trie._plan).dialect, True) if shared else found


cpdef tuple all_held(Matchable trie, topic):
    """Return all who are subscribed to what `topic` reaches, at one instant."""
    cdef bint shared
    found = _found_now(trie, topic, None, False, &shared)
    return held(found, (<Plan><PyObject *>trie._plan).dialect) if shared else found


cpdef tuple all_found(Matchable trie, topic):
    """As `all_held`, with what `held` has to look at."""
    cdef bint shared
    return _found_now(trie, topic, None, False, &shared)


cdef tuple _found_now(Matchable trie, topic, Table table, bint delivers, bint *shared):
    """Find what the topic reaches, as deliveries or subscriptions, and remember it in `table`, if there is one, when the
    topic has been asked for before. `shared` tells whether it is not to be shown yet (deliveries.py)."""
    cdef Scratch s
    cdef Py_ssize_t place
    cdef Query query
    if table is None and _prepare_whole(&s, <PyObject *>trie._plan, topic):
        found = _found_in_place(&s, trie, topic, None, -1, delivers, shared)
        if found is not None:
            return <tuple>found
    query = _prepare(&s, trie, topic)
    if s.walk.size == 0:
        shared[0] = True
        return found_by(read_matches(trie._root, query).found, (<Plan>trie._plan).dialect, delivers)
    place = -1 if table is None else wanted_place(table, topic)
    return _found_in_place(&s, trie, topic, table, place, delivers, shared)


cdef tuple _found_in_place(
    Scratch *s, Matchable trie, topic, Table table, Py_ssize_t place, bint delivers, bint *shared
):
    """As `_match_in_place`."""
    cdef Trails trails
    _begin(s, False)
    s.walk.trails = &trails
    s.shared = <PyObject *>trie._home != Py_None    # Python code will say who is alive
    buffer_start(&trails.above)
    buffer_start(&trails.levels)
    buffer_start(&trails.records)
    try:
        s.keep_seen = place >= 0
        if _read_at_last(s, <PyObject *>trie._root) == UNSPLIT:
            return None
        found = _found(s, delivers)
        shared[0] = s.shared
        if s.seen_taken and not s.shared:
            remember(
                table, place, _remembered(s, <PyObject *>topic, <PyObject *>found, <PyObject *>trie._root)
            )
        return found
    finally:
        buffer_free(&trails.above)
        buffer_free(&trails.levels)
        buffer_free(&trails.records)
        _release(s)


cdef tuple _found(Scratch *s, bint delivers):
    """Return what stands for the entries taken, as `found_by` in deliveries.py does."""
    cdef Trails *trails = s.walk.trails
    cdef Py_ssize_t i, at = 0
    cdef Told one
    trail = PyBytes_FromStringAndSize(
        <const char *>trails.records.items, trails.records.count * <Py_ssize_t>sizeof(uint64_t)
    )
    found = PyTuple_New(s.subscribers.count // 2)
    for i in range(s.walk.found.count):
        while at < <Py_ssize_t>s.walk.found.items[i]:
            one = new_told(
                delivers, <object><PyObject *>s.subscribers.items[at], s.subscribers.items[at + 1], None,
                trail, trails.levels.items[i]
            )
            _set_item(found, at // 2, one)
            at += 2
    return <tuple>found
