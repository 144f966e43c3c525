# C types for matching.py, and the bodies of what has pointers; what the code means is written there.
cimport cython
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool
from libc.stdint cimport uint64_t
from libc.string cimport memset

from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport help_pending
from ctrie._machine cimport W, flag_at, popcount
from ctrie._native cimport Borrowed, borrow, is_exactly, peek, pin, unpin
from ctrie._nodes cimport (
    INode, LNode, Root, entombed_in, entries_of, freeze_root, hash_of, rdcss_read_root, root_of, value_of,
)
from subtrie._trie.branch cimport Chain, next_of, sole_hash_of
from subtrie._trie.choosing cimport Choice
from subtrie._trie.groups cimport Shared, may_be_excluded_from
from subtrie._trie.match.answer_cache cimport (
    DELIVERIES, MOST_SEEN, SUBSCRIBERS, Table, own_stripe, own_table, recall, remember, wanted_bucket,
)
from subtrie._trie.match.audience cimport put_receivers
from subtrie._trie.match.buffer cimport buffer, buffer_room_for
from subtrie._trie.match.deliveries cimport (
    Told, deliveries_to, new_recipients, new_told, shown_entries,
)
from subtrie._trie.match.plan cimport (
    Matchable, cache_of, plan_of, prepare_whole, put_query, query_of, split_in_place,
)
from subtrie._trie.match.reading cimport Query, read_matches
from subtrie._trie.match.scratch cimport (
    ALL, ANY, ENTRIES, OWN, Question, add_record, answer_made, begin, begin_records, begin_trails,
    end_pairs, end_trails, fetch_ahead, forget, handed_over, hash_at, is_shared_at, keep_living, new_answer,
    note_subscriber, push_node, put_entry, put_in_answer, put_subscriber, release, remembered, room_for_pairs,
    subscriber_at, take_references, take_seen, pop_node, taken_shared, trail_of,
)
from subtrie._trie.match.walk cimport (
    ABOVE, Ends, NOTED, OTHERS_MAY_WRITE, Trails, Traversal, after_many, after_one, as_node, begins_branch, bit,
    buffer_push, character_at, count_notes, ends_of, has_room, is_one_word, is_part, is_readonly, item_of, length_of,
    lowest_bit, make_room, note, note_above, note_both, note_found, noted, prefetch, prefetch_to_count,
    prefetch_wanted, push_branch, rewind, size_of, text_in, word_end,
)
from subtrie._trie.keyed cimport SetNode, hash_in, key_in, set_array_of
from subtrie._trie.subscribers cimport Entry, Sole, entry_alone, subscriber_in
from subtrie._trie.words cimport MANY_WORDS, MARKED, ONE_WORD, word

cdef extern from *:
    void Py_DECREF_PTR "Py_DECREF" (PyObject *o)

cdef enum:
    FEWEST_BUCKETS = 64

cdef enum:              # how a traversal goes on or ends; see matching.py
    THROUGH
    PENDING
    NO_MEMORY
    ENOUGH
    UNSPLIT
    CHANGED

cdef int RETRIES


# ------------------------------------------------------------------------------------------------------ the questions

cpdef tuple match(Matchable trie, topic)
cpdef bint has_match(Matchable trie, topic) except -1
cpdef tuple deliveries(Matchable trie, topic, Choice choice=*)
cpdef tuple raw_entries(Matchable trie, topic)
@cython.locals(question=Question, found=tuple)
cpdef tuple all_entries(Matchable trie, topic, bint delivers)
cpdef tuple deliveries_of(Matchable trie, topic, subscriber, uint64_t hash)
@cython.locals(question=Question)
cdef inline object _asked(Matchable trie, object topic, int wants, Choice choice)
cdef object ask(Question *q, Matchable trie, object topic, Choice choice)
cdef inline object _find(Question *q, Matchable trie, object topic, Table table, Choice choice)
cdef inline Query prepare(Traversal *t, Matchable trie, object topic)
@cython.locals(trails=Trails)
cdef inline object _find_prepared(
    Question *q, Matchable trie, object topic, Query query, Table table, Py_ssize_t bucket, Choice choice
)
cdef inline bint _notes_trails(Question *q) noexcept
cdef list _read_slowly(Question *q, Matchable trie, Query query)

# -------------------------------------------------------------------------------------------------------- one instant

cdef inline int _read(Question *q, Borrowed root) except -1
cdef int read_at_last(Question *q, Borrowed root) except -1
cdef inline int read_pinned(Traversal *t, Borrowed root) except -1
cdef bint still_holds(Traversal *t, Borrowed root, Borrowed first) noexcept
cdef int traverse(Traversal *t, Borrowed first, Borrowed main) noexcept
cdef inline int _level(
    Traversal *t, Ends *ends, Borrowed level, Borrowed main, uint64_t positions, bint is_first
) noexcept
cdef inline bint _is_pending(Traversal *t, Borrowed inode, Borrowed main) noexcept
cdef inline int _whole(Traversal *t, Ends *ends, Borrowed level, Borrowed main) noexcept
cdef inline int _first_of_exact(Traversal *t, Ends *ends, Borrowed level, Borrowed main) noexcept
cdef inline int _wildcards(Traversal *t, Ends *ends, Borrowed main, uint64_t positions) noexcept
cdef inline Borrowed _wild(Borrowed cn, uint64_t bitmap, uint64_t group) noexcept
cdef inline int _entombed_wildcard(Traversal *t, Ends *ends, Borrowed last, uint64_t positions) noexcept
cdef inline int _literals(Traversal *t, Ends *ends, Borrowed level, Borrowed main, uint64_t left) noexcept
cdef inline int _literal(
    Traversal *t, Ends *ends, Borrowed level, Borrowed main, const word *word, uint64_t reached
) noexcept
cdef inline int _visit_if(Traversal *t, Ends *ends, Borrowed branch, const word *word, uint64_t reached) noexcept
cdef inline int _visit(Traversal *t, Ends *ends, Borrowed branch, Py_ssize_t end, uint64_t reached) noexcept
cdef uint64_t along(Traversal *t, Borrowed branch, Py_ssize_t at, uint64_t reached) noexcept

# ------------------------------------------------------------------------------------------------------- what is taken

cdef bint take_found(Question *q) noexcept
cdef inline bint take_branches(Question *q) noexcept
cdef inline bint _note_found(Question *q) noexcept
cdef bint _note_entries_found(Question *q) noexcept
cdef bint _note_shared(Question *q, Borrowed shared) noexcept
cdef inline bint _note_all(Question *q, Borrowed several, bint entries) noexcept
cdef bint _note_trails(Traversal *t) noexcept
@cython.locals(number=Py_ssize_t, marked=bint)
cdef inline Py_ssize_t _record(Trails *trails, Borrowed branch, uint64_t level) noexcept

# ------------------------------------------------------------------------------------------------------- the answers

cdef tuple subscribers_of(Question *q, Matchable trie, object topic)
cdef tuple told_of(Question *q, Matchable trie, object topic, str plain, list paths, Choice choice)
@cython.locals(end=Py_ssize_t, record=Py_ssize_t)
cdef tuple _told(Question *q, object trail)
@cython.locals(end=Py_ssize_t, record=Py_ssize_t, entry=Entry)
cdef tuple _delivered(Question *q, Matchable trie, object topic, object trail, Choice choice)


# ----------------------------------------------------------------------------------------------- each subscriber once

cdef inline bint is_one(uint64_t one, uint64_t other) except -1:
    return one == other or PyObject_RichCompareBool(<object><PyObject *>one, <object><PyObject *>other, Py_EQ)


cdef inline void drop_at(buffer *subscribers, Py_ssize_t i) noexcept:
    cdef PyObject *dropped = <PyObject *>subscribers.items[i]
    subscribers.count -= 2
    subscribers.items[i] = subscribers.items[subscribers.count]
    subscribers.items[i + 1] = subscribers.items[subscribers.count + 1]
    Py_DECREF_PTR(dropped)      # which may run code: the buffer is in order again


cdef inline uint64_t *empty_buckets(buffer *stack, Py_ssize_t size) noexcept nogil:
    cdef uint64_t *buckets
    stack.count = 0
    buckets = buffer_room_for(stack, size)
    if buckets != NULL:
        memset(buckets, 0, size * sizeof(uint64_t))
    return buckets


cdef int drop_repeated(buffer *subscribers, buffer *stack) except -1
cdef inline bint _have_distinct_hashes(buffer *subscribers) noexcept
