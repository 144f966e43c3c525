# C types for exact_first.py.
cimport cython

from ctrie._cnode cimport MainNode
from ctrie._native cimport Borrowed
from ctrie._nodes cimport Root
from subtrie._trie.match.plan cimport Matchable
from subtrie._trie.match.scratch cimport Later, Scratch, Scratched
from subtrie._trie.match.walk cimport Passed, Traversal


@cython.final
cdef class ExactFirst(Later):
    pass


@cython.locals(scratch=Scratch, s=Scratched, passed=Passed, main=MainNode, named=Borrowed)
cpdef object exact_first(Matchable trie, topic)
@cython.locals(root=Root, outcome=int, taken=bint, named=Borrowed)
cdef Borrowed _take_named(Scratch *s, MainNode main, Passed *passed) except? NULL
cdef inline bint _take_few(Scratch *s, Passed *passed, Borrowed named) noexcept
cdef Root _help_below(Root root, MainNode main, Traversal *t)
@cython.locals(root=Root, outcome=int, taken=bint)
cdef int _read_below(Scratch *s, MainNode main, const Passed *passed, Borrowed named) except -1
@cython.locals(rest=ExactFirst)
cdef ExactFirst _search_later(
    Scratch *s, Matchable trie, object topic, MainNode main, Borrowed named, const Passed *passed
)
@cython.locals(scratch=Scratch, s=Scratched, main=MainNode)
cdef int _search(ExactFirst rest) except -1
