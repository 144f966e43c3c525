# C types for interleaved.py.
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport prefetch_child
from ctrie._machine cimport W, flag_at, popcount
from ctrie._native cimport Borrowed, borrow, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, hash_of, root_of, value_of
from subtrie._trie.branch cimport Chain, next_of, sole_hash_of
from subtrie._trie.match.plan cimport Matchable, plan_of, split_in_place
from subtrie._trie.match.scratch cimport Question, begin_trails, end_trails, enter, leave, let_go, start
from subtrie._trie.match.steps cimport (
    AT_CHILD, AT_INNER, AT_MAIN, AT_TEXT, Batch, FEWEST, GROUP, Member, PREFETCHES, ROOM, Step, Steps, WILD, clear,
    fetch_branch, fetch_characters, fetch_level, fetch_main, forget, has_room, keep, moved, next_step, queued,
    question_at, step_at, text_at, topic_at, trails_at,
)
from subtrie._trie.match.answer_cache cimport DELIVERIES, SUBSCRIBERS
from subtrie._trie.match.matching cimport along, still_holds, take_found
from subtrie._trie.match.walk cimport (
    MOST_WORDS, OTHERS_MAY_WRITE, Trails, Traversal, after_many, after_one, begins_branch, bit, buffer_push,
    fetch_text_apart, is_one_word, is_readonly, levels_noted, lowest_bit, note_above, note_read, prefetch,
    prefetch_to_count, push_branch, rewind,
)
from subtrie._trie.words cimport MANY_WORDS, ONE_WORD


cdef bint traverse_next(Batch *b, Matchable trie, list block, Py_ssize_t at, int wants) noexcept
cdef inline void _start(Question *q, Trails *trails, Matchable trie, int wants) noexcept
cdef void end_group(Batch *b) noexcept
cdef inline void traverse_group(Borrowed root, Member *group, Py_ssize_t count, Steps *steps) noexcept
cdef inline void _go_through(Borrowed first, Borrowed main, Member *group, Py_ssize_t count, Steps *steps) noexcept
cdef inline void _look_at(Steps *steps, int kind) noexcept
cdef inline void _at_main(Traversal *t, const Step *s, Steps *steps) noexcept
cdef inline bint _is_usual(Traversal *t, Borrowed main) noexcept
cdef inline void _to_wildcards(Traversal *t, Steps *steps, Borrowed cn, uint64_t positions) noexcept
cdef inline void _to_literals(Traversal *t, Steps *steps, Borrowed cn, uint64_t left) noexcept
cdef inline void _seek(
    Traversal *t, Steps *steps, Borrowed cn, uint64_t hash, int word, uint64_t positions
) noexcept
cdef inline void _at_inner(Traversal *t, const Step *s, Steps *steps) noexcept
cdef inline void _at_child(Traversal *t, Step *s, Steps *steps) noexcept
cdef inline void _reach(Traversal *t, const Step *s, Steps *steps) noexcept
cdef inline void _go_to_mains(Steps *steps) noexcept
cdef inline void _to_main(Traversal *t, Step *s) noexcept
cdef inline void _fetch_child(Step *s, Borrowed cn, int child) noexcept
cdef inline void _go_to_children(Steps *steps) noexcept
