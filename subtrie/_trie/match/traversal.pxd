# C types for traversal.py; what the code means is written there.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, bitmap_of, child_at
from ctrie._descent cimport help_pending
from ctrie._machine cimport W, flag_at, popcount
from ctrie._native cimport Borrowed, borrow, is_exactly, peek, pin, unpin
from ctrie._nodes cimport INode, LNode, Root, entombed_in, entries_of, hash_of, rdcss_read_root, value_of
from subtrie._trie.branch cimport Chain, next_of, sole_hash_of
from subtrie._trie.match.walk cimport (
    Ends, NOTED, OTHERS_MAY_WRITE, Traversal, after_many, after_one, as_node, begins_branch, bit, buffer_push,
    character_at, ends_of, has_room, is_one_word, is_part, is_readonly, item_of, length_of, lowest_bit, make_room,
    note, note_above, note_both, note_found, noted, prefetch, prefetch_wanted, rewind, count_notes, size_of, text_in,
    whole_of, word_at, word_end,
)
from subtrie._trie.packed_key cimport characters
from subtrie._trie.words cimport MANY_WORDS, MARKED, ONE_WORD, word

ctypedef uint64_t *words_noted

cdef enum:              # how a traversal goes on or ends; see traversal.py
    THROUGH
    PENDING
    NO_MEMORY
    ENOUGH
    UNSPLIT
    CHANGED

@cython.locals(first=Borrowed, outcome=int)
cdef int read_pinned(Traversal *t, Borrowed root) except -1
@cython.locals(seen=words_noted, at=Py_ssize_t)
cdef bint still_holds(Traversal *t, Borrowed root, Borrowed first) noexcept
@cython.locals(ends=Ends, seen=words_noted, at=Py_ssize_t, outcome=int)
cdef int traverse(Traversal *t, Borrowed first, Borrowed main) noexcept
@cython.locals(outcome=int)
cdef inline int _level(
    Traversal *t, Ends *ends, Borrowed level, Borrowed main, uint64_t positions, bint is_first
) noexcept
cdef inline bint _is_pending(Traversal *t, Borrowed inode, Borrowed main) noexcept
@cython.locals(before=words_noted, outcome=int)
cdef int _whole(Traversal *t, Ends *ends, Borrowed level, Borrowed main) noexcept
@cython.locals(bitmap=uint64_t, outcome=int)
cdef int _first_of_exact(Traversal *t, Ends *ends, Borrowed level, Borrowed main) noexcept
@cython.locals(bitmap=uint64_t, outcome=int)
cdef inline int _wildcards(Traversal *t, Ends *ends, Borrowed main, uint64_t positions) noexcept
cdef inline Borrowed _wild(Borrowed cn, uint64_t bitmap, uint64_t group) noexcept
cdef inline int _entombed_wildcard(Traversal *t, Ends *ends, Borrowed last, uint64_t positions) noexcept
@cython.locals(i=int, j=int, reached=uint64_t, others=uint64_t, outcome=int)
cdef inline int _literals(Traversal *t, Ends *ends, Borrowed level, Borrowed main, uint64_t left) noexcept
@cython.locals(node=Borrowed, hash=uint64_t, bitmap=uint64_t, flag=uint64_t, entries=Borrowed, i=Py_ssize_t, outcome=int)
cdef inline int _literal(
    Traversal *t, Ends *ends, Borrowed level, Borrowed main, const word *word, uint64_t reached
) noexcept
cdef inline int _visit_if(Traversal *t, Ends *ends, Borrowed branch, const word *word, uint64_t reached) noexcept
@cython.locals(next=Borrowed)
cdef inline int _visit(Traversal *t, Ends *ends, Borrowed branch, Py_ssize_t end, uint64_t reached) noexcept
@cython.locals(chain=characters, length=Py_ssize_t, start=Py_ssize_t, after=uint64_t, left=uint64_t, i=int)
cdef uint64_t along(Traversal *t, Borrowed branch, Py_ssize_t at, uint64_t reached) noexcept
