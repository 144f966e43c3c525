# C types for warming_gate.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.match.gate_state cimport Gate
from subtrie._trie.match.plan cimport Matchable
from subtrie._trie.match.walk cimport Traversal


@cython.locals(i=Py_ssize_t, size=Py_ssize_t)
cdef void warm_next(Gate *w, Matchable trie, list block, Py_ssize_t at) noexcept
@cython.locals(now=uint64_t, kind=int)
cdef bint _is_turn_to_warm(Gate *w) noexcept
@cython.locals(without=uint64_t, better=bint)
cdef inline void _decide(Gate *w) noexcept
@cython.locals(kind=int)
cdef inline void _begin_trial(Gate *w) noexcept
@cython.locals(paid=bint, about=double)
cdef void _look(Gate *w, Matchable trie, list block) noexcept
@cython.locals(walk=Traversal)
cdef double _size_seen_by(Matchable trie, Borrowed topic) noexcept
