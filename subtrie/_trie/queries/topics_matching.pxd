# C types for topics_matching.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport help_pending, prefetch_child, prefetch_node
from ctrie._machine cimport W, flag_at, popcount
from ctrie._native cimport Borrowed, borrow, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, LNode, Root, entombed_in, entries_of, hash_of, rdcss_read_root, value_of
from subtrie._trie.branch cimport Chain, next_of
from subtrie._trie.match.walk cimport fetch_text_apart, item_of, size_of
from subtrie._trie.queries.store_walk cimport (
    GROUP, OneAim, Walk, Walking, aim_at, begin, end, prefetch_children, followed_in, has_word, is_no_text, is_plain,
    is_reserved, is_word, last_depth, list_of_found, note_pair, set_aims, take_last, take_references, wait,
)
from cpython.exc cimport PyErr_CheckSignals


@cython.locals(i=Py_ssize_t)
cdef bint _go_through(Walk *w, Root root) except -1
cdef void _take_group(Walk *w) noexcept
@cython.locals(i=Py_ssize_t, pending=Py_ssize_t)
cdef int _read_mains(Walk *w, Root root) except -1
@cython.locals(aim=OneAim, lev=int, count=Py_ssize_t, i=Py_ssize_t, main=Borrowed, flag=uint64_t, node=Borrowed)
cdef bint _visit_own(Walk *w, Root root) except -1
@cython.locals(count=Py_ssize_t, i=Py_ssize_t, j=Py_ssize_t, node=Borrowed, main=Borrowed)
cdef bint _visit_all(Walk *w, Root root) except -1
@cython.locals(entries=Borrowed, i=Py_ssize_t, has_memory=bint, last=Borrowed)
cdef bint _visit_others(Walk *w, Borrowed main) noexcept
@cython.locals(aim=OneAim)
cdef bint _meet(Walk *w, Borrowed branch) noexcept
@cython.locals(aim=OneAim, reached=Py_ssize_t, followed=Py_ssize_t, is_no_words=bint)
cdef bint _follow(Walk *w, Borrowed branch) noexcept
@cython.locals(level=Borrowed, pair=Borrowed)
cdef bint _leave(Walk *w, Borrowed branch, Py_ssize_t reached, bint counts) noexcept

@cython.locals(walk=Walk, w=Walking, first=INode)
cpdef list topics_along(
    Root root, tuple words, tuple hashes, str separator, bint open, Py_ssize_t least, object reserved, bint wordless
)
