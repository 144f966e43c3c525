# C types for exact_first.py.
cimport cython

from ctrie._cnode cimport MainNode
from ctrie._descent cimport help_pending
from ctrie._native cimport Borrowed, borrow, borrowed, pin, unpin
from ctrie._nodes cimport Root
from subtrie._trie.frozen cimport main_for_good, root_over
from subtrie._trie.match.named cimport begin_again, few_beside, find_named, traverse_beside
from subtrie._trie.match.plan cimport Matchable, has_wild_word, holds_weakly, lay_out, plan_of, split_in_place
from subtrie._trie.match.questions cimport answer_of, take_different, take_found
from subtrie._trie.match.scratch cimport (
    Later, Scratch, Scratched, begin, handed_over, keep_named, put_named, release, subscriber_at,
)
from subtrie._trie.match.traversal cimport ENOUGH, PENDING, THROUGH, traverse
from subtrie._trie.match.walk cimport KEPT, Passed, Traversal, as_node


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
