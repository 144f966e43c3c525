# C types for interleaved.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.match.steps cimport Member, OneStep, OneTopic, Step, Steps
from subtrie._trie.match.walk cimport Traversal

@cython.locals(first=Borrowed, i=Py_ssize_t, t=OneTopic)
cdef void take_group(Borrowed root, Member *group, Py_ssize_t count, Steps *steps) noexcept
@cython.locals(i=Py_ssize_t, t=OneTopic)
cdef inline void _go_through(Borrowed first, Borrowed main, Member *group, Py_ssize_t count, Steps *steps) noexcept
@cython.locals(i=Py_ssize_t, s=OneStep, t=OneTopic)
cdef inline void _look_at(Steps *steps, int kind) noexcept
cdef inline void _at_main(Traversal *t, const Step *s, Steps *steps) noexcept
cdef inline bint _is_usual(Traversal *t, Borrowed main) noexcept
@cython.locals(bitmap=uint64_t)
cdef inline void _to_wildcards(Traversal *t, Steps *steps, Borrowed cn, uint64_t positions) noexcept
@cython.locals(i=int, j=int, reached=uint64_t, others=uint64_t)
cdef inline void _to_literals(Traversal *t, Steps *steps, Borrowed cn, uint64_t left) noexcept
@cython.locals(bitmap=uint64_t, flag=uint64_t, s=OneStep)
cdef inline void _seek(
    Traversal *t, Steps *steps, Borrowed cn, uint64_t hash, int word, uint64_t positions
) noexcept
@cython.locals(bitmap=uint64_t, flag=uint64_t, further=OneStep)
cdef inline void _at_inner(Traversal *t, const Step *s, Steps *steps) noexcept
@cython.locals(further=OneStep)
cdef inline void _at_child(Traversal *t, Step *s, Steps *steps) noexcept
@cython.locals(branch=Borrowed, below=Borrowed, reached=uint64_t, further=OneStep)
cdef inline void _reach(Traversal *t, const Step *s, Steps *steps) noexcept
@cython.locals(i=Py_ssize_t, s=OneStep)
cdef inline void _take_mains(Steps *steps) noexcept
@cython.locals(main=Borrowed)
cdef inline void _to_main(Traversal *t, Step *s) noexcept
cdef inline void _fetch_place(Step *s, Borrowed cn, int place) noexcept
@cython.locals(i=Py_ssize_t, s=OneStep)
cdef inline void _take_children(Steps *steps) noexcept
@cython.locals(first=Borrowed, size=double)
cdef double estimated_size(Borrowed root, Traversal *t) noexcept
@cython.locals(product=double, node=Borrowed, main=Borrowed, i=Py_ssize_t, hash=uint64_t, bitmap=uint64_t, flag=uint64_t)
cdef double _product(Borrowed first, Traversal *t) noexcept
