# C types for warming.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._bulk cimport Ordered, hash_at
from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport prefetch_child, prefetch_node, prefetch_text
from ctrie._machine cimport W, flag_at, popcount
from ctrie._native cimport Borrowed, borrow, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, hash_of, value_of
from subtrie._trie.branch cimport Branch, Chain, next_of, sole_hash_of
from subtrie._trie.filling cimport FilterRow, fetch_row, row_at
from subtrie._trie.keyed cimport key_in
from subtrie._trie.match.walk cimport fetch_text_apart, item_of, prefetch_wanted, size_of

cdef enum:
    AHEAD = 16

cdef int FEW, MANY


@cython.locals(rows=FilterRow[16], each=bint, flag=uint64_t, count=Py_ssize_t)
cdef void warm_rows(Ordered ordered, CNode cn, int lev, Py_ssize_t start, Py_ssize_t end, Py_ssize_t depth) noexcept
@cython.locals(
    nodes=Borrowed[16], levs=int[16], places=Py_ssize_t[16], depths=Py_ssize_t[16], left=Py_ssize_t, i=Py_ssize_t,
    node=Borrowed, flag=uint64_t
)
cdef void _descend(Borrowed cn, int lev, FilterRow *rows, Py_ssize_t count, Py_ssize_t depth) noexcept
cdef bint _is_branch(Borrowed node) noexcept
@cython.locals(i=Py_ssize_t)
cdef void _fetch_members(Borrowed several, bint keys) noexcept
