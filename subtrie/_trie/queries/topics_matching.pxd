# C types for topics_matching.py.
cimport cython

from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport help_pending, prefetch_child, prefetch_node
from ctrie._machine cimport W, check_signals, flag_at, popcount
from ctrie._native cimport Borrowed, borrow, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, LNode, Root, entombed_in, entries_of, hash_of, rdcss_read_root, value_of
from subtrie._trie.branch cimport Chain, next_of
from subtrie._trie.match.walk cimport begins_branch, fetch_text_apart, item_of, size_of
from subtrie._trie.queries.store_walk cimport (
    GROUP, Walk, aim_at, begin, end, followed_in, is_no_text, is_reserved, last_depth, list_of_found,
    note_pair, prefetch_children, set_aims, pop_last, take_references, wait,
)
from cpython.exc cimport PyErr_CheckSignals


cdef bint _go_through(Walk *w, Root root) except -1
cdef void _gather_group(Walk *w) noexcept
cdef int _read_mains(Walk *w, Root root) except -1
cdef bint _visit_own(Walk *w, Root root) except -1
cdef bint _visit_all(Walk *w, Root root) except -1
cdef bint _visit_others(Walk *w, Borrowed main) noexcept
cdef bint _meet(Walk *w, Borrowed branch) noexcept
@cython.locals(is_no_words=bint)
cdef bint _follow(Walk *w, Borrowed branch) noexcept
cdef bint _leave(Walk *w, Borrowed branch, Py_ssize_t reached, bint counts) noexcept

@cython.locals(walk=Walk)
cpdef list topics_along(
    Root root, tuple words, str separator, bint open, Py_ssize_t least, object reserved, bint wordless
)
