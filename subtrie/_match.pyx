"""Matching with borrowed pointers: the compiled body of _matching.py, which is the text to read.

What differs: a topic's words are hashed in place, positions are the bits of one machine word (topics of 64 words and
more take the other body, and so do dialects whose separator or wildcards are no ASCII characters), and no reference is
counted before the subscribers are handed out. A pin (ctrie/reclaim.h) keeps alive what is passed; while it is held no
Python code runs and nothing is allocated but by malloc. On GIL builds the same rule keeps a collection, and with it a
finalizer, from changing the trie under a traversal, which therefore needs no second pass there.
"""

import os

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.unicode cimport PyUnicode_CheckExact
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool, PyTypeObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memchr, memcpy

from ctrie._arrays cimport W, flag_at, popcount
from ctrie._cnode cimport CTRIE_BITMAP, CTRIE_CHILD, CNode
from ctrie._native cimport CTRIE_SLOT, SLOT_NEEDS_PIN, Slot, pin, slot_read, unpin
from ctrie._descent cimport help_pending
from ctrie._nodes cimport INode, LNode, Root, SNode, freeze_root, rdcss_read_root
from subtrie._branch cimport Chain
from subtrie._cache cimport MOST_SEEN, STRIPES, WAYS, Cache, Remembered, Table, own_table, remember, wanted_place
from subtrie._groups cimport Shared
from subtrie._matching cimport RETRIES, TRIAL, WORTH, Query, new_query, read_matches
from subtrie._subscribers cimport Entry, SetNode
from subtrie._text_node cimport characters, packed_characters, packed_text
from subtrie._words cimport (
    MANY_WORDS, ONE_WORD, character_at, repeated, word, word_begins, word_end, word_is_part, word_is_word, word_of_string,
    word_rules, word_secret, words_split
)

from subtrie._matching import distinct_among, distinct_subscribers

cdef extern from *:
    """
    /* The threads take the stripes of a cache (_cache.py) in turn, each for good. */
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
        return a == b || (PyUnicode_GET_LENGTH(a) == PyUnicode_GET_LENGTH(b) && PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
                          memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), PyUnicode_GET_LENGTH(a) * PyUnicode_KIND(a)) == 0);
    }
    #define SUBTRIE_IS(node, type) (Py_TYPE(node) == (type))
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
    static inline int lowest_bit(uint64_t x) { return __builtin_ctzll(x); }
    static inline void prefetch(const void *node) { __builtin_prefetch(node); }
    """
    int own_stripe(int stripes)
    void count_one(int64_t *counter)
    Py_hash_t text_hash(object text)
    bint same_text(PyObject *a, PyObject *b)
    PyObject *SUBTRIE_STRIPES(PyObject *cache)
    PyObject *SUBTRIE_PLACES(PyObject *table)
    int64_t *SUBTRIE_HITS(PyObject *table)
    int64_t *SUBTRIE_MISSES(PyObject *table)
    PyObject *SUBTRIE_REMEMBERED_TOPIC(PyObject *remembered)
    Py_hash_t SUBTRIE_REMEMBERED_HASH(PyObject *remembered)
    PyObject *SUBTRIE_REMEMBERED_ANSWER(PyObject *remembered)
    PyObject *SUBTRIE_REMEMBERED_SEEN(PyObject *remembered)
    bint SUBTRIE_IS(PyObject *node, PyTypeObject *type) nogil
    bint SUBTRIE_IN_PLACE(object topic)
    int lowest_bit(uint64_t x) nogil
    void prefetch(const void *node) nogil
    const char *ascii_of "(const char *)PyUnicode_1BYTE_DATA" (object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    object ascii_word(const word *w)
    PyObject *Py_None
    PyObject *CTRIE_ENTRIES(PyObject *ln) nogil
    PyObject *CTRIE_TOMB(PyObject *tn) nogil
    uint64_t CTRIE_HASH(PyObject *sn) nogil
    const packed_text *SUBTRIE_TEXT(PyObject *branch) nogil
    PyObject *CTRIE_VALUE(PyObject *sn) nogil
    PyObject *SUBTRIE_NEXT(PyObject *branch) nogil
    uint64_t SUBTRIE_ALONE(PyObject *branch) nogil
    PyObject *SUBTRIE_SUBSCRIBER(PyObject *entry) nogil
    uint64_t SUBTRIE_ENTRY_HASH(PyObject *entry) nogil
    PyObject *SUBTRIE_SET_ARRAY(PyObject *node) nogil
    PyObject *PyTuple_GET_ITEM_PTR "PyTuple_GET_ITEM" (PyObject *array, Py_ssize_t i) nogil
    Py_ssize_t PyTuple_GET_SIZE_PTR "PyTuple_GET_SIZE" (PyObject *array) nogil
    PyObject *PyDict_GetItemWithError(object dictionary, object key) except? NULL
    void Py_INCREF_PTR "Py_INCREF" (PyObject *o)
    void Py_DECREF_PTR "Py_DECREF" (PyObject *o)
    object PyTuple_New(Py_ssize_t size)
    bint may_be_in_cycle(PyObject *o)
    bint enter_match() nogil
    void leave_match() nogil
    void PyObject_GC_UnTrack(PyObject *o)
    void PyTuple_SET_ITEM_PTR "PyTuple_SET_ITEM" (object array, Py_ssize_t i, PyObject *stolen)

cdef PyTypeObject *INODE = <PyTypeObject *>INode
cdef PyTypeObject *CNODE = <PyTypeObject *>CNode
cdef PyTypeObject *LNODE = <PyTypeObject *>LNode
cdef PyTypeObject *CHAIN = <PyTypeObject *>Chain
cdef PyTypeObject *REMEMBERED = <PyTypeObject *>Remembered
cdef PyTypeObject *ENTRY = <PyTypeObject *>Entry
cdef PyTypeObject *SET_NODE = <PyTypeObject *>SetNode
cdef PyTypeObject *SHARED = <PyTypeObject *>Shared

cdef bytes _secret = os.urandom(16)
memcpy(word_secret, <const char *>_secret, 16)


cpdef uint64_t word_hash(str word) except? 0:
    """Return the hash of a word that is no wildcard."""
    return word_of_string(<PyObject *>word).hash


cdef class Plan:
    """What matching needs of a dialect, as C values."""

    def __cinit__(self, dialect):
        special = set(dialect.forbidden)
        if not dialect.wildcards_in_topics:
            special.update(wildcard[0] for wildcard in (dialect.one_word, dialect.many_words) if wildcard)
        prefix = dialect.reserved_prefix
        wild = [dialect.one_word, dialect.many_words or dialect.one_word]
        self.dialect = dialect
        self.separator = dialect.separator
        self.in_place = len(special) <= MOST_SPECIALS and all(
            len(c) == 1 and c.isascii() for c in [dialect.separator, prefix or "$", *wild]
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
    return new_query(words, hashes, dialect)


# ------------------------------------------------------------------------------------------------------------- filters

cpdef tuple filter_path(Plan plan, object filter):
    """Return the words of a filter, never none (_matching.py on the filter of no words), and their hashes."""
    cdef tuple path = _filter_path_in_place(plan, filter)
    if path is not None:
        return path
    dialect = plan.dialect
    words = dialect.split_filter(filter) or ("",)
    return words, tuple([hash_in_filter(dialect, w) for w in words])


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
    cdef Py_ssize_t i, size
    cdef tuple strings, hashes
    if not plan.in_place or not SUBTRIE_IN_PLACE(filter) or not 0 < PyUnicode_GET_LENGTH(filter) <= plan.max_bytes:
        return None
    size = words_split(
        ascii_of(filter), PyUnicode_GET_LENGTH(filter), &plan.in_filters, words, plan.most_in_filter
    )
    for i in range(size):
        if not _settle_wildcards(plan, &words[i], i + 1 == size):
            return None
    if size < 0 or (plan.share is not None and _is(&words[0], <PyObject *>plan.share)):
        return None
    strings = PyTuple_New(size)
    hashes = PyTuple_New(size)
    for i in range(size):
        _set_item(strings, i, ascii_word(&words[i]))
        _set_item(hashes, i, words[i].hash)
    return strings, hashes


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


# ------------------------------------------------------------------------------------------------------- scratch room

cdef enum:
    MOST_WORDS = 63     # positions 0 to 63 are the bits of a machine word
    MOST_SPECIALS = 8
    FEW = 16            # subscribers that are compared each with each
    ROOM = 512          # what a buffer holds before it needs the heap

cdef struct Buffer:     # of pointers, or of pairs of words that fit pointers
    uint64_t *items
    Py_ssize_t count
    Py_ssize_t capacity
    uint64_t room[ROOM]

cdef struct Scratch:
    word words[MOST_WORDS]
    Py_ssize_t size
    uint64_t full           # the positions 0 to size
    int many_min
    Py_UCS4 separator
    Py_UCS4 one
    Py_UCS4 many
    bint reserved
    bint only_first
    bint keep_seen          # take references to what is in `seen` when the answer has been read
    bint seen_taken
    bint shared             # some filter has groups: among the subscribers taken are Shared ones
    PyObject *pending       # the I-node of an undecided GCAS that stopped a traversal
    PyObject *pending_main
    Buffer seen             # I-node, main node, positions: those of a level that begins there, 0 for I-nodes inside
    Buffer found            # branches
    Buffer stack            # of large sets
    Buffer subscribers      # subscriber (counted), hash


cdef inline void _start(Buffer *buffer) noexcept nogil:
    buffer.items = buffer.room
    buffer.count = 0
    buffer.capacity = ROOM


cdef inline void _free(Buffer *buffer) noexcept nogil:
    if buffer.items != buffer.room:
        PyMem_RawFree(buffer.items)


cdef bint _grow(Buffer *buffer) noexcept nogil:
    cdef uint64_t *larger
    cdef size_t size = 2 * buffer.capacity * sizeof(uint64_t)
    if buffer.items == buffer.room:
        larger = <uint64_t *>PyMem_RawMalloc(size)
        if larger != NULL:
            memcpy(larger, buffer.room, sizeof(buffer.room))
    else:
        larger = <uint64_t *>PyMem_RawRealloc(buffer.items, size)
    if larger == NULL:
        return False
    buffer.items = larger
    buffer.capacity *= 2
    return True


cdef inline bint _push(Buffer *buffer, uint64_t item) noexcept nogil:
    if buffer.count == buffer.capacity and not _grow(buffer):
        return False
    buffer.items[buffer.count] = item
    buffer.count += 1
    return True


cdef inline bint _push_pair(Buffer *buffer, uint64_t one, uint64_t two) noexcept nogil:
    return _push(buffer, one) and _push(buffer, two)


cdef inline uint64_t *_room_for(Buffer *buffer, Py_ssize_t more) noexcept nogil:
    """Return where the next items go, so many at most; NULL when there is no memory. Who writes many without a look at
    the buffer for each need not wait for its count, which is in memory, to come back."""
    while buffer.capacity - buffer.count < more:
        if not _grow(buffer):
            return NULL
    return buffer.items + buffer.count


# ---------------------------------------------------------------------------------------------------------- traversal

cdef enum:
    NOTED = 3           # what `seen` holds for an I-node
    MOST_INODES = 12    # on the way to a branch of a level (one for every W bits of a hash), and that of its next level

cdef struct Ends:       # where a traversal's next notes go: kept in registers, unlike the counts of buffers
    uint64_t *seen
    uint64_t *found
    uint64_t *seen_limit        # beyond it there may be too little room for what one level has noted
    uint64_t *found_limit

cdef enum:              # how a traversal goes on or ends
    THROUGH
    PENDING
    NO_MEMORY
    ENOUGH              # one branch is found, and one is all that was wanted


cdef inline PyObject *_note(Ends *ends, PyObject *inode, uint64_t positions) noexcept nogil:
    """Read an I-node's main node and note both."""
    cdef PyObject *main = slot_read(CTRIE_SLOT(inode))
    ends.seen[0] = <uint64_t>inode
    ends.seen[1] = <uint64_t>main
    ends.seen[2] = positions
    ends.seen += NOTED
    return main


cdef inline bint _is_pending(Scratch *s, PyObject *inode, PyObject *main) noexcept nogil:
    if slot_read(CTRIE_SLOT(main)) == Py_None:
        return False
    s.pending = inode
    s.pending_main = main
    return True


cdef int _traverse(Scratch *s, PyObject *first) noexcept nogil:
    """Breadth first: the levels noted are the queue. A level's main node is noted, and fetched into the cache, some
    time before it is looked at."""
    cdef Ends ends
    cdef uint64_t *at
    cdef uint64_t *noted
    cdef Py_ssize_t passed
    cdef int outcome = THROUGH
    s.seen.count = s.found.count = 0
    ends = _ends(s)
    at = ends.seen
    _note(&ends, first, 1)
    while at != ends.seen and outcome == THROUGH:
        if ends.seen > ends.seen_limit or ends.found > ends.found_limit:
            passed = at - s.seen.items
            _settle(s, &ends)
            if not _more_room(s):
                return NO_MEMORY
            ends = _ends(s)
            at = s.seen.items + passed
        noted = at
        at += NOTED
        if noted[2]:
            outcome = _level(s, &ends, <PyObject *>noted[0], <PyObject *>noted[1], noted[2], noted == s.seen.items)
    _settle(s, &ends)
    return outcome


cdef inline Ends _ends(Scratch *s) noexcept nogil:
    cdef Ends ends
    cdef Py_ssize_t branches = _most_branches(s)
    ends.seen = s.seen.items + s.seen.count
    ends.found = s.found.items + s.found.count
    ends.seen_limit = s.seen.items + s.seen.capacity - branches * MOST_INODES * NOTED
    ends.found_limit = s.found.items + s.found.capacity - branches
    return ends


cdef inline Py_ssize_t _most_branches(Scratch *s) noexcept nogil:
    """Return how many branches of one level the topic may reach: the wildcards', and one for each word."""
    return 2 + s.size


cdef inline void _settle(Scratch *s, const Ends *ends) noexcept nogil:
    s.seen.count = ends.seen - s.seen.items
    s.found.count = ends.found - s.found.items


cdef bint _more_room(Scratch *s) noexcept nogil:
    cdef Py_ssize_t branches = _most_branches(s)
    return _room_for(&s.seen, branches * MOST_INODES * NOTED) != NULL and _room_for(&s.found, branches) != NULL


cdef inline int _level(
    Scratch *s, Ends *ends, PyObject *level, PyObject *main, uint64_t positions, bint is_first
) noexcept nogil:
    cdef int outcome
    if _is_pending(s, level, main):
        return PENDING
    if not (is_first and s.reserved):
        outcome = _wildcards(s, ends, main, positions)
        if outcome != THROUGH:
            return outcome
    return _literals(s, ends, level, main, positions & (s.full >> 1))       # positions with a word after them


cdef inline int _wildcards(Scratch *s, Ends *ends, PyObject *main, uint64_t positions) noexcept nogil:
    cdef uint64_t bitmap
    cdef PyObject *child
    cdef int outcome
    if not SUBTRIE_IS(main, CNODE):
        return _entombed_wildcard(s, ends, CTRIE_TOMB(main), positions)
    bitmap = CTRIE_BITMAP(main)
    if bitmap >> MANY_WORDS:
        child = CTRIE_CHILD(main, popcount(bitmap & (flag_at(MANY_WORDS, 0) - 1)))
        outcome = _visit(s, ends, child, 1, _after_many(s, positions))
        if outcome != THROUGH:
            return outcome
    if bitmap >> ONE_WORD & 1:
        child = CTRIE_CHILD(main, popcount(bitmap & (flag_at(ONE_WORD, 0) - 1)))
        return _visit(s, ends, child, 1, _after_one(s, positions))
    return THROUGH


cdef inline int _entombed_wildcard(Scratch *s, Ends *ends, PyObject *last, uint64_t positions) noexcept nogil:
    """The level is tombed: `last` is its only branch, or None."""
    if last != Py_None and CTRIE_HASH(last) == MANY_WORDS:
        return _visit(s, ends, last, 1, _after_many(s, positions))
    if last != Py_None and CTRIE_HASH(last) == ONE_WORD:
        return _visit(s, ends, last, 1, _after_one(s, positions))
    return THROUGH


cdef inline uint64_t _after_one(Scratch *s, uint64_t positions) noexcept nogil:
    return positions << 1 & s.full


cdef inline uint64_t _after_many(Scratch *s, uint64_t positions) noexcept nogil:
    cdef int fewest = lowest_bit(positions) + s.many_min
    return s.full & (~<uint64_t>0 << fewest) if fewest <= s.size else 0


cdef inline int _literals(
    Scratch *s, Ends *ends, PyObject *level, PyObject *main, uint64_t left
) noexcept nogil:
    cdef uint64_t reached, others
    cdef int i, j, outcome
    while left:
        i = lowest_bit(left)
        left &= left - 1
        reached = <uint64_t>2 << i
        others = left
        while others:       # the same word at other positions leads to the same branch
            j = lowest_bit(others)
            others &= others - 1
            if s.words[i].hash == s.words[j].hash and word_is_word(&s.words[i], &s.words[j]):
                reached |= <uint64_t>2 << j
                left ^= <uint64_t>1 << j
        outcome = _literal(s, ends, level, main, &s.words[i], reached)
        if outcome != THROUGH:
            return outcome
    return THROUGH


cdef inline int _visit(
    Scratch *s, Ends *ends, PyObject *branch, Py_ssize_t end, uint64_t reached
) noexcept nogil:
    """Note a branch that the topic reaches, given the positions after its first word, which has so many characters."""
    cdef PyObject *next = SUBTRIE_NEXT(branch)
    if SUBTRIE_IS(branch, CHAIN):
        reached = _along(s, SUBTRIE_TEXT(branch), end, reached)
    if not reached:
        return THROUGH
    if reached >> s.size & 1 and (SUBTRIE_ALONE(branch) or CTRIE_VALUE(branch) != Py_None):
        prefetch(CTRIE_VALUE(branch))
        ends.found[0] = <uint64_t>branch
        ends.found += 1
        if s.only_first:
            return ENOUGH
    # Past the last word only a wildcard for no words can follow.
    if next == Py_None or (s.many_min and reached == <uint64_t>1 << s.size):
        return THROUGH
    prefetch(_note(ends, next, reached))
    return THROUGH


cdef uint64_t _along(Scratch *s, const packed_text *text, Py_ssize_t at, uint64_t reached) noexcept nogil:
    """Return the positions after all words of a chain, given those after the first, which ends at `at`."""
    cdef characters chain = packed_characters(text)
    cdef Py_ssize_t start
    while at < chain.length and reached:
        start = at + 1
        at = word_end(&chain, start, s.separator)
        reached = _after_part(s, &chain, start, at, reached)
    return reached


cdef inline uint64_t _after_part(
    Scratch *s, const characters *chain, Py_ssize_t start, Py_ssize_t end, uint64_t positions
) noexcept nogil:
    cdef uint64_t after = 0, left = positions & (s.full >> 1)
    cdef int i
    if end - start == 1:
        if character_at(chain, start) == s.one:
            return _after_one(s, positions)
        if character_at(chain, start) == s.many:
            return _after_many(s, positions)
    while left:
        i = lowest_bit(left)
        left &= left - 1
        if word_is_part(&s.words[i], chain, start, end):
            after |= <uint64_t>2 << i
    return after


cdef inline int _visit_if(
    Scratch *s, Ends *ends, PyObject *branch, const word *w, uint64_t reached
) noexcept nogil:
    if CTRIE_HASH(branch) != w.hash or not word_begins(w, SUBTRIE_TEXT(branch), s.separator):
        return THROUGH
    return _visit(s, ends, branch, w.length, reached)


cdef inline int _literal(
    Scratch *s, Ends *ends, PyObject *level, PyObject *main, const word *w, uint64_t reached
) noexcept nogil:
    cdef PyObject *node = level
    cdef PyObject *entries
    cdef uint64_t hash = w.hash
    cdef uint64_t bitmap, flag
    cdef Py_ssize_t i
    cdef int outcome
    while SUBTRIE_IS(main, CNODE):
        bitmap = CTRIE_BITMAP(main)
        flag = flag_at(hash, 0)
        if not bitmap & flag:
            return THROUGH
        node = CTRIE_CHILD(main, popcount(bitmap & (flag - 1)))
        if not SUBTRIE_IS(node, INODE):
            return _visit_if(s, ends, node, w, reached)
        hash >>= W
        main = _note(ends, node, 0)
        if _is_pending(s, node, main):
            return PENDING
    if SUBTRIE_IS(main, LNODE):
        entries = CTRIE_ENTRIES(main)
        for i in range(PyTuple_GET_SIZE_PTR(entries)):
            outcome = _visit_if(s, ends, PyTuple_GET_ITEM_PTR(entries, i), w, reached)
            if outcome != THROUGH:
                return outcome
        return THROUGH
    node = CTRIE_TOMB(main)
    return THROUGH if node == Py_None else _visit_if(s, ends, node, w, reached)


cdef bint _still_holds(Scratch *s, PyObject *root, PyObject *first) noexcept:
    """The second pass."""
    cdef uint64_t *noted = s.seen.items
    cdef uint64_t *end = noted + s.seen.count
    while noted != end:
        if slot_read(CTRIE_SLOT(<PyObject *>noted[0])) != <PyObject *>noted[1]:
            return False
        noted += NOTED
    return slot_read(CTRIE_SLOT(root)) == first


# ------------------------------------------------------------------------------------------------------------- answers

cdef inline bint _note_subscriber(Buffer *subscribers, PyObject *subscriber, uint64_t hash) noexcept:
    prefetch(subscriber)
    return _push_pair(subscribers, <uint64_t>subscriber, hash)


cdef bint _take_found(Scratch *s) noexcept:
    """Take a reference to every subscriber of every branch found; False, and none, when there is no memory."""
    cdef const uint64_t *noted
    cdef const uint64_t *end
    if not _note_found(s):
        s.subscribers.count = 0
        return False
    noted = s.subscribers.items
    end = noted + s.subscribers.count
    while noted != end:
        Py_INCREF_PTR(<PyObject *>noted[0])
        noted += 2
    return True


cdef bint _note_found(Scratch *s) noexcept:
    cdef Py_ssize_t i
    cdef PyObject *branch
    cdef PyObject *value
    for i in range(s.found.count):
        branch = <PyObject *>s.found.items[i]
        value = CTRIE_VALUE(branch)
        if SUBTRIE_ALONE(branch):
            if not _note_subscriber(&s.subscribers, value, SUBTRIE_ALONE(branch)):
                return False
        elif SUBTRIE_IS(value, ENTRY):
            if not _note_subscriber(&s.subscribers, SUBTRIE_SUBSCRIBER(value), SUBTRIE_ENTRY_HASH(value)):
                return False
        elif not (_note_shared(s, value) if SUBTRIE_IS(value, SHARED) else _note_all(s, value)):
            return False
    return True


cdef bint _note_shared(Scratch *s, PyObject *shared) noexcept:
    """Note the subscribers of a filter that has groups: whose turn it is, Python code will say."""
    s.shared = True
    return _push_pair(&s.subscribers, <uint64_t>shared, 0)


cdef bint _note_all(Scratch *s, PyObject *several) noexcept:
    """Note every subscriber of a set of several."""
    cdef Py_ssize_t i
    cdef PyObject *array
    cdef PyObject *child
    cdef uint64_t *noted
    s.stack.count = 0
    while True:
        array = SUBTRIE_SET_ARRAY(several) if SUBTRIE_IS(several, SET_NODE) else several
        noted = _room_for(&s.subscribers, 2 * PyTuple_GET_SIZE_PTR(array))
        if noted == NULL:
            return False
        for i in range(PyTuple_GET_SIZE_PTR(array)):
            child = PyTuple_GET_ITEM_PTR(array, i)
            if SUBTRIE_IS(child, ENTRY):
                prefetch(SUBTRIE_SUBSCRIBER(child))
                noted[0] = <uint64_t>SUBTRIE_SUBSCRIBER(child)
                noted[1] = SUBTRIE_ENTRY_HASH(child)
                noted += 2
            elif not _push(&s.stack, <uint64_t>child):
                return False
        s.subscribers.count = noted - s.subscribers.items
        if not s.stack.count:
            return True
        s.stack.count -= 1
        several = <PyObject *>s.stack.items[s.stack.count]


cdef void _take_seen(Scratch *s) noexcept:
    cdef Py_ssize_t at = 0
    while at < s.seen.count:
        Py_INCREF_PTR(<PyObject *>s.seen.items[at])
        Py_INCREF_PTR(<PyObject *>s.seen.items[at + 1])
        at += NOTED
    s.seen_taken = True


cdef tuple _seen(Scratch *s, PyObject *root):
    """Return what an answer was read from, as Remembered wants it, out of the references taken."""
    cdef Py_ssize_t at = 0, place = 2
    seen = PyTuple_New(2 + s.seen.count // NOTED * 2)
    Py_INCREF_PTR(root)
    PyTuple_SET_ITEM_PTR(seen, 0, root)
    Py_INCREF_PTR(<PyObject *>s.seen.items[0])
    PyTuple_SET_ITEM_PTR(seen, 1, <PyObject *>s.seen.items[0])
    while at < s.seen.count:
        PyTuple_SET_ITEM_PTR(seen, place, <PyObject *>s.seen.items[at])
        PyTuple_SET_ITEM_PTR(seen, place + 1, <PyObject *>s.seen.items[at + 1])
        at += NOTED
        place += 2
    s.seen_taken = False        # the references are the tuple's now
    return <tuple>seen


cdef int _read(Scratch *s, PyObject *borrowed) except -1:
    """Traverse until an answer of one instant is in `s.found` and its subscribers are taken. 0: the trie changed.
    The root is borrowed from the trie: to count a use of it would be to write where all threads read."""
    cdef PyObject *first
    cdef int outcome
    cdef bint holds, taken = True
    while True:
        pin()
        first = slot_read(CTRIE_SLOT(borrowed))
        if not SUBTRIE_IS(first, INODE):
            unpin()
            rdcss_read_root(<Root>borrowed)
            continue
        outcome = _traverse(s, first)
        if outcome == PENDING:
            help_pending(<Root>borrowed, s.pending, s.pending_main)
            continue
        holds = not SLOT_NEEDS_PIN or (<Root>borrowed).readonly or outcome == ENOUGH or _still_holds(s, borrowed, first)
        if holds and outcome == THROUGH and not s.only_first:
            taken = _take_found(s)
            if s.keep_seen and s.seen.count <= NOTED * MOST_SEEN:
                _take_seen(s)
        unpin()
        if outcome == NO_MEMORY or not taken:
            raise MemoryError()
        return holds


cdef int _read_at_last(Scratch *s, PyObject *root) except -1:
    """As _read, but end: after some attempts, read a snapshot."""
    for _ in range(RETRIES):
        if _read(s, root):
            return 0
    frozen = freeze_root(<Root>root)
    s.keep_seen = False     # what holds in a snapshot says nothing of the trie
    return _read(s, <PyObject *>frozen)


cdef bint _is_same(Buffer *subscribers, Py_ssize_t i, Py_ssize_t j) except -1:
    """Tell whether those at two places are the same subscriber. The one at `i` is not marked."""
    cdef PyObject *one = <PyObject *>subscribers.items[i]
    cdef PyObject *other = <PyObject *>subscribers.items[j]
    if subscribers.items[i + 1] != subscribers.items[j + 1]:
        return False
    return one == other or PyObject_RichCompareBool(<object>one, <object>other, Py_EQ)


cdef enum:
    REPEATED = 1        # the mark of a subscriber that was named before: the lowest bit, which is 0 in an address


cdef int _drop_repeated(Buffer *subscribers) except -1:
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


cdef bint _mark_repeated_among_many(Buffer *subscribers) except -1:
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


cdef void _drop_marked(Buffer *subscribers) noexcept:
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


cdef bint _hand_over(tuple answer, const uint64_t *items) noexcept:
    """Put the references taken into the answer; tell whether any of these could be part of a cycle."""
    cdef Py_ssize_t i
    cdef bint in_cycles = False
    for i in range(PyTuple_GET_SIZE_PTR(<PyObject *>answer)):
        PyTuple_SET_ITEM_PTR(answer, i, <PyObject *>items[2 * i])
        in_cycles |= may_be_in_cycle(<PyObject *>items[2 * i])
    return in_cycles


cdef tuple _answer(Scratch *s, PyObject *plan, bint take_turns):
    """Return the subscribers taken, each once."""
    cdef Py_ssize_t i
    cdef bint in_cycles
    if s.shared:
        return distinct_among(
            [
                (<object><PyObject *>s.subscribers.items[i], s.subscribers.items[i + 1])
                for i in range(0, s.subscribers.count, 2)
            ],
            (<Plan>plan).dialect,
            take_turns,
        )
    if s.found.count > 1:
        _drop_repeated(&s.subscribers)
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
    while s.seen_taken and i < s.seen.count:
        Py_DECREF_PTR(<PyObject *>s.seen.items[i])
        Py_DECREF_PTR(<PyObject *>s.seen.items[i + 1])
        i += NOTED
    _free(&s.seen)
    _free(&s.found)
    _free(&s.stack)
    _free(&s.subscribers)
    leave_match()


cdef inline bint _split_in_place(Scratch *s, Plan plan, object topic):
    cdef Py_ssize_t length
    cdef const char *text
    if not plan.in_place or not SUBTRIE_IN_PLACE(topic):
        return False
    length = PyUnicode_GET_LENGTH(topic)
    text = ascii_of(topic)
    if length == 0 or length > plan.max_bytes:
        return False
    s.size = words_split(text, length, &plan.in_topics, s.words, plan.most)
    s.reserved = plan.reserved >= 0 and text[0] == <char>plan.reserved
    return s.size > 0


cdef Query _prepare(Scratch *s, Matchable trie, object topic):
    """Put the topic's words into `s`. Returns what must be kept meanwhile: None when they are read in place, else the
    query that holds them, and that has to be answered by the other body if `s.size` is 0."""
    cdef PyObject *plan = <PyObject *>trie._plan     # borrowed from the trie
    cdef Query query = None
    if not _split_in_place(s, <Plan>plan, topic):
        query = query_of(trie._plan, topic)
        s.size = len(query.words) if (<Plan>plan).in_place and len(query.words) <= MOST_WORDS else 0
        for i in range(s.size):
            s.words[i] = word_of_string(<PyObject *>query.words[i])
        s.reserved = query.reserved
    s.full = ~<uint64_t>0 >> (63 - s.size)
    s.many_min = (<Plan>plan).many_min
    s.separator = (<Plan>plan).separator_in_place
    s.one = (<Plan>plan).one
    s.many = (<Plan>plan).many
    return query


cdef int _begin(Scratch *s, bint only_first) except -1:
    if not enter_match():
        raise RecursionError("a match asks the trie again, and that match again, and so on")
    s.only_first = only_first
    s.keep_seen = s.seen_taken = s.shared = False
    _start(&s.seen)
    _start(&s.found)
    _start(&s.stack)
    _start(&s.subscribers)
    return 0


cpdef tuple match(Matchable trie, topic, bint take_turns=True):
    """Return the distinct subscribers of `topic` at one instant."""
    cdef bint by_turns
    return _match(trie, topic, take_turns, &by_turns)


cdef inline tuple _match(Matchable trie, topic, bint take_turns, bint *by_turns):
    """The same, and tell whether the answer depends, or may depend, on whose turn it is."""
    cdef int stripe
    if <PyObject *>trie._cache == Py_None or not PyUnicode_CheckExact(topic):
        return _match_now(trie, topic, None, take_turns, by_turns)
    stripe = own_stripe(STRIPES)
    answer = _recalled(<PyObject *>trie._cache, <PyObject *>topic, text_hash(topic), stripe)
    if answer is not None:
        by_turns[0] = False
        return <tuple>answer
    return _match_now(trie, topic, own_table(trie._cache, stripe), take_turns, by_turns)


cdef tuple _match_now(Matchable trie, topic, Table table, bint take_turns, bint *by_turns):
    """Find the answer, and remember it in `table`, if there is one, when the topic has been asked for before. An answer
    that depends on whose turn it is is not remembered."""
    cdef Scratch s
    cdef Query query = _prepare(&s, trie, topic)
    if s.size == 0:
        by_turns[0] = True
        return distinct_subscribers(read_matches(trie._root, query), take_turns)
    _begin(&s, False)
    s.shared = <PyObject *>trie._home != Py_None    # Python code will say who is alive, too
    try:
        place = None if table is None else wanted_place(table, topic)
        s.keep_seen = place is not None
        _read_at_last(&s, <PyObject *>trie._root)
        answer = _answer(&s, <PyObject *>trie._plan, take_turns)
        by_turns[0] = s.shared
        if s.seen_taken and not s.shared:
            remember(<Slot>place, topic, answer, _seen(&s, <PyObject *>trie._root))
        return answer
    finally:
        _release(&s)


cdef object _recalled(PyObject *cache, PyObject *topic, Py_hash_t hash, int stripe):
    """As `recall` in _cache.py; None also where the stripe has no table yet."""
    cdef PyObject *table
    cdef PyObject *found
    answer = None
    pin()
    table = slot_read(CTRIE_SLOT(PyTuple_GET_ITEM_PTR(SUBTRIE_STRIPES(cache), stripe)))
    if table != Py_None:
        found = _find_remembered(SUBTRIE_PLACES(table), topic, hash)
        if found != NULL and _all_hold(SUBTRIE_REMEMBERED_SEEN(found)):
            answer = <object>SUBTRIE_REMEMBERED_ANSWER(found)
            count_one(SUBTRIE_HITS(table))
        else:
            count_one(SUBTRIE_MISSES(table))
    unpin()
    return answer


cdef inline PyObject *_find_remembered(PyObject *places, PyObject *topic, Py_hash_t hash) noexcept:
    cdef Py_ssize_t i, first = hash & (PyTuple_GET_SIZE_PTR(places) - WAYS)
    cdef PyObject *found
    for i in range(WAYS):
        found = slot_read(CTRIE_SLOT(PyTuple_GET_ITEM_PTR(places, first + ((hash >> 32 ^ i) & (WAYS - 1)))))
        if (
            SUBTRIE_IS(found, REMEMBERED)
            and SUBTRIE_REMEMBERED_HASH(found) == hash
            and same_text(SUBTRIE_REMEMBERED_TOPIC(found), topic)
        ):
            return found
    return NULL


cdef inline bint _all_hold(PyObject *seen) noexcept:
    cdef Py_ssize_t i
    for i in range(0, PyTuple_GET_SIZE_PTR(seen), 2):
        if slot_read(CTRIE_SLOT(PyTuple_GET_ITEM_PTR(seen, i))) != PyTuple_GET_ITEM_PTR(seen, i + 1):
            return False
    return True


cpdef bint has_match(Matchable trie, topic) except -1:
    """Tell whether anybody is subscribed to `topic`; stops at the first."""
    cdef Scratch s
    cdef Query query = _prepare(&s, trie, topic)
    if s.size == 0:
        return bool(read_matches(trie._root, query, True).found)
    _begin(&s, True)
    try:
        _read_at_last(&s, <PyObject *>trie._root)
        return s.found.count > 0
    finally:
        _release(&s)


cpdef list match_many(Matchable trie, topics):
    """Return `match` of each topic; see _match_interpreted.py."""
    cdef bint by_turns
    cdef Py_ssize_t asked = 0, repeated = 0
    cdef PyObject *known
    cdef dict answered = {} if type(topics) is list or type(topics) is tuple else None
    cdef list answers = []
    for topic in topics:
        if answered is None or not PyUnicode_CheckExact(topic):
            answers.append(match(trie, topic))
            continue
        asked += 1
        known = PyDict_GetItemWithError(answered, topic)
        if known != NULL:
            repeated += 1
            answers.append(<object>known)
            continue
        answer = _match(trie, topic, True, &by_turns)
        answers.append(answer)
        if not by_turns:
            answered[topic] = answer
        if asked % TRIAL == 0 and repeated * WORTH < asked:
            answered = None
    return answers


def read_paths(Matchable trie, topic):
    """Return (branch, path) for every branch that `topic` reaches at one instant."""
    return read_matches(trie._root, query_of(trie._plan, topic)).found
