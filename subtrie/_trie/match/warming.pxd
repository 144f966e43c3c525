# C types for warming.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed
from subtrie._trie.match.steps cimport OneStep, Step, Steps
from subtrie._trie.match.walk cimport Traversal

@cython.locals(first=Borrowed, i=Py_ssize_t)
cdef void warm(Borrowed root, Traversal *topics, Py_ssize_t count, Steps *here, Steps *there) noexcept
@cython.locals(step=OneStep)
cdef inline void _begin(Steps *steps, Borrowed first, int topic) noexcept
cdef inline void _go(Traversal *t, const Step *s, Steps *there) noexcept
@cython.locals(step=OneStep)
cdef inline void _on(const Step *s, Steps *there, Borrowed node, short state) noexcept
@cython.locals(bitmap=uint64_t, left=uint64_t, i=int)
cdef inline void _pass_main(Traversal *t, const Step *s, Steps *there) noexcept
@cython.locals(bitmap=uint64_t, flag=uint64_t, place=int, step=OneStep)
cdef inline void _seek(
    const Step *s, Steps *there, uint64_t hash, uint64_t whole, uint64_t positions, Py_ssize_t end
) noexcept
cdef inline void _pass_child(Traversal *t, const Step *s, Steps *there) noexcept
@cython.locals(below=Borrowed)
cdef inline void _reach(Traversal *t, const Step *s, Steps *there, uint64_t reached) noexcept
@cython.locals(first=Borrowed, size=double)
cdef double estimated_size(Borrowed root, Traversal *t) noexcept
@cython.locals(product=double, node=Borrowed, main=Borrowed, i=Py_ssize_t, hash=uint64_t, bitmap=uint64_t, flag=uint64_t)
cdef double _product(Borrowed first, Traversal *t) noexcept
