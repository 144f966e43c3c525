# C types for topics_matching.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from ctrie._nodes cimport INode, Root
from subtrie._trie.queries.lanes cimport Aim, Lane, Walk, Walking

ctypedef const Aim *OneAim

@cython.locals(rounds=int, outcome=int, i=Py_ssize_t)
cdef int _go_through(Walk *w, Root root) except -1
@cython.locals(i=Py_ssize_t, outcome=int)
cdef int _round(Walk *w) noexcept
cdef void _call(Walk *w, Lane *lane) noexcept
cdef int _fetch(Lane *lane, Borrowed node) noexcept
cdef int _step(Walk *w, Lane *lane) noexcept
@cython.locals(main=Borrowed, bitmap=uint64_t, flag=uint64_t, aim=OneAim)
cdef int _look(Walk *w, Lane *lane) noexcept
@cython.locals(last=Py_ssize_t, i=Py_ssize_t)
cdef int _visit_all(Walk *w, Lane *lane) noexcept
@cython.locals(entries=Borrowed, i=Py_ssize_t, last=Borrowed)
cdef int _visit_others(Walk *w, Lane *lane) noexcept
@cython.locals(branch=Borrowed, aim=OneAim)
cdef int _meet(Walk *w, Lane *lane) noexcept
@cython.locals(branch=Borrowed, depth=Py_ssize_t, reached=Py_ssize_t, followed=Py_ssize_t, is_no_words=bint)
cdef int _follow(Walk *w, Lane *lane) noexcept
@cython.locals(pair=Borrowed, level=Borrowed, is_answer=bint)
cdef int _leave(Walk *w, Lane *lane, Py_ssize_t reached, bint counts) noexcept
cdef int _enter(Lane *lane, Borrowed level, Py_ssize_t depth) noexcept

@cython.locals(walk=Walk, w=Walking, first=INode)
cpdef list topics_along(
    Root root, tuple words, tuple hashes, str separator, bint open, Py_ssize_t least, object reserved, bint wordless
)
