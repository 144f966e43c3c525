# C types for interleaving_gate.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from ctrie._nodes cimport root_of
from subtrie._trie.match.gate_state cimport (
    FEWEST, GROUP, Gate, LARGE, MOST_ROUNDS, PREFETCHES, ROUNDS, SMALL, TRIED, fetch_characters, has_room,
    nanoseconds, text_at,
)
from subtrie._trie.match.interleaved cimport estimated_size, take_group
from subtrie._trie.match.plan cimport Matchable, holds_weakly, is_exact, plan_of, remembers, split_in_place
from subtrie._trie.match.scratch cimport Scratch, begin_trails, end_trails, enter, leave, let_go, start
from subtrie._trie.match.steps cimport scratch_at, topic_at, trails_at
from subtrie._trie.match.walk cimport Trails, Traversal

cdef enum:
    SUBSCRIBERS
    DELIVERIES
    NUMBERS


@cython.locals(i=Py_ssize_t, count=Py_ssize_t)
cdef bint take_next(Gate *w, Matchable trie, list block, Py_ssize_t at, int asked) noexcept
cdef inline void _start(Scratch *s, Trails *trails, Matchable trie, int asked) noexcept
@cython.locals(i=Py_ssize_t)
cdef void end_group(Gate *w) noexcept
@cython.locals(now=uint64_t, kind=int)
cdef bint _is_turn(Gate *w, Py_ssize_t count) noexcept
@cython.locals(without=uint64_t, better=bint)
cdef inline void _decide(Gate *w) noexcept
@cython.locals(kind=int)
cdef inline void _begin_trial(Gate *w) noexcept
@cython.locals(paid=bint, about=double)
cdef void _look(Gate *w, Matchable trie, list block) noexcept
@cython.locals(walk=Traversal)
cdef double _size_seen_by(Matchable trie, Borrowed topic) noexcept
