# C types for questions.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed, borrow, is_exactly, unpin
from ctrie._nodes cimport Root, freeze_root, hash_of, root_of, value_of
from subtrie._trie.branch cimport Chain, sole_hash_of
from subtrie._trie.choosing cimport Choice
from subtrie._trie.groups cimport Shared, may_be_excluded, may_be_excluded_from
from subtrie._trie.match.answer_cache cimport (
    DELIVERIES, MOST_SEEN, SUBSCRIBERS, Table, own_stripe, own_table, recall, remember, wanted_place,
)
from subtrie._trie.match.audience cimport distinct_subscribers, put_receivers
from subtrie._trie.match.dedupe cimport drop_repeated
from subtrie._trie.match.deliveries cimport (
    Recipients, Told, delivered_by, found_by, held, held_by_one, new_recipients, new_told,
)
from subtrie._trie.match.plan cimport (
    Matchable, cache_of, holds_weakly, is_exact, plan_of, prepare_whole, put_query, query_of, remembers,
    split_in_place,
)
from subtrie._trie.match.reading cimport Query, RETRIES, read_matches
from subtrie._trie.match.scratch cimport (
    Asked, Scratch, Scratched, add_record, answer_made, begin, begin_records, begin_trails, end_pairs, end_trails,
    fetch_ahead, forget, handed_over, hash_at, is_shared_at, keep_living, new_answer, note, push_node, put_entry,
    put_in_answer, put_subscriber, release, remembered, room_for_pairs, subscriber_at, take_references, take_seen,
    taken_from, taken_shared, trail_of,
)
from subtrie._trie.match.traversal cimport CHANGED, NO_MEMORY, THROUGH, UNSPLIT, read_pinned
from subtrie._trie.match.walk cimport ABOVE, NOTED, Trails, Traversal, as_node, item_of, prefetch_to_count, size_of
from subtrie._trie.keyed cimport SetNode, hash_in, key_in, set_array_of
from subtrie._trie.subscribers cimport Entry, Sole, entry_alone, subscriber_in
from subtrie._trie.words cimport MARKED

ctypedef Trails *Trailing
ctypedef uint64_t *words_noted


cdef bint take_found(Scratch *s) noexcept
cdef inline bint _take_found(Scratch *s) noexcept
@cython.locals(i=Py_ssize_t, branch=Borrowed, value=Borrowed)
cdef inline bint _note_found(Scratch *s) noexcept
@cython.locals(i=Py_ssize_t, branch=Borrowed, value=Borrowed, room=bint)
cdef bint _note_entries_found(Scratch *s) noexcept
cdef bint _note_shared(Scratch *s, Borrowed shared) noexcept
@cython.locals(array=Borrowed, child=Borrowed, pairs=words_noted, i=Py_ssize_t)
cdef inline bint _note_all(Scratch *s, Borrowed several, bint entries) noexcept
@cython.locals(trails=Trailing, above=words_noted, levels=words_noted, i=Py_ssize_t, level=uint64_t, place=Py_ssize_t)
cdef bint _note_trails(Traversal *t) noexcept
@cython.locals(place=Py_ssize_t, marked=bint)
cdef inline Py_ssize_t _record(Trails *trails, Borrowed branch, uint64_t level) noexcept
@cython.locals(taken=bint, outcome=int)
cdef int _read(Scratch *s, Borrowed root) except -1
@cython.locals(outcome=int)
cdef int read_at_last(Scratch *s, Borrowed root) except -1
cdef Query prepare(Traversal *t, Matchable trie, object topic)
@cython.locals(query=Query)
cdef inline Query _prepare(Traversal *t, Matchable trie, object topic)
@cython.locals(asked=Asked)
cpdef tuple match(Matchable trie, topic)
@cython.locals(stripe=int, table=Table, answer=object)
cdef tuple match_asked(Matchable trie, object topic, Asked *asked)
@cython.locals(scratch=Scratch, s=Scratched, answer=tuple, query=Query, place=Py_ssize_t)
cdef tuple _match_now(Matchable trie, object topic, Table table, Asked *asked)
@cython.locals(answer=tuple)
cdef inline tuple _match_in_place(
    Scratch *s, Matchable trie, object topic, Table table, Py_ssize_t place, Asked *asked
)
cdef tuple answer_of(Scratch *s, Matchable trie, object topic)
@cython.locals(scratch=Scratch, s=Scratched, i=Py_ssize_t)
cpdef list taken_at(Matchable trie, Root root, object topic)
cdef inline tuple _answer_of(Scratch *s, Matchable trie, object topic)
@cython.locals(scratch=Scratch, s=Scratched, query=Query, whole=bint, found=list, doubtful=bint)
cpdef bint has_match(Matchable trie, topic) except -1
cdef inline bint _finds(Scratch *s, Matchable trie) except -1
@cython.locals(asked=Asked, stripe=int, table=Table, answer=object)
cpdef tuple deliveries(Matchable trie, topic, Choice choice=*)
cdef tuple deliveries_of(Scratch *s, Matchable trie, object topic)
@cython.locals(asked=Asked, found=tuple)
cpdef tuple all_held(Matchable trie, topic, bint delivers)
@cython.locals(asked=Asked, found=tuple)
cpdef tuple held_by(Matchable trie, topic, subscriber, uint64_t hash)
@cython.locals(asked=Asked)
cpdef tuple all_found(Matchable trie, topic)
@cython.locals(scratch=Scratch, s=Scratched, query=Query, place=Py_ssize_t)
cdef tuple _found_now(
    Matchable trie, object topic, Table table, bint delivers, bint whole, bint chooses, Choice choice, Asked *asked
)
cdef str _plain(Matchable trie, Query query)
@cython.locals(trails=Trails, found=tuple, plain=str)
cdef tuple _found_in_place(
    Scratch *s, Matchable trie, object topic, Query query, Table table, Py_ssize_t place, bint delivers, bint whole,
    bint chooses, Choice choice, Asked *asked
)
@cython.locals(trails=Trailing, i=Py_ssize_t, at=Py_ssize_t, end=Py_ssize_t, place=Py_ssize_t, found=tuple)
cdef tuple _told(Scratch *s, Matchable trie, bint delivers, str topic)
@cython.locals(
    trails=Trailing, i=Py_ssize_t, at=Py_ssize_t, end=Py_ssize_t, place=Py_ssize_t, hash=uint64_t,
    recipients=Recipients, entry=Entry,
)
cdef tuple _delivered(Scratch *s, Matchable trie, object topic, str plain, Choice choice)
