# C types for overlapping.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, branch_at
from ctrie._machine cimport check_signals, flag_at, popcount
from ctrie._nodes cimport INode, Root, branches, gcas_read, rdcss_read_root
from subtrie._trie.branch cimport Branch, Chain, is_wanted
from subtrie._trie.match.plan cimport word_hash
from subtrie._trie.match.reading cimport branch_in, extended
from subtrie._trie.words cimport MANY_WORDS, MARKED, ONE_WORD

cdef enum:
    MOST = 62


cdef class Given:
    cdef str separator
    cdef str one_word
    cdef str many_words
    cdef int many_min
    cdef bint zero_words
    cdef str prefix
    cdef bint starts_wild
    cdef uint64_t one
    cdef uint64_t many
    cdef uint64_t reserved
    cdef int size
    cdef list names
    cdef uint64_t hashes[MOST]
    cdef uint64_t bits[MOST]
    cdef str whole
    cdef uint64_t whole_hash
    cdef bint is_wide
    cdef uint64_t fresh
    cdef uint64_t after

    cdef object begin(self, object dialect, tuple words, tuple hashes)
    cdef object _add(self, str word, uint64_t hash)
    cdef object _add_name(self, str word, uint64_t hash)
    @cython.locals(name=str)
    cdef int _number_of(self, str word) except -2
    cdef bint is_wild(self, str word) except -1
    cdef bint _reserves(self, str word) except -1
    cdef uint64_t _closed(self, uint64_t positions) noexcept
    cdef bint ends(self) noexcept
    cdef bint fits_any_word(self) noexcept
    cdef object go_on(self, str word, bint wild_before)
    cdef void _go_on_by_one(self) noexcept
    cdef void _go_on_by_many(self) noexcept
    cdef uint64_t _any_word(self) noexcept
    cdef uint64_t _stepped(self, uint64_t positions, uint64_t fitting) noexcept


@cython.freelist(8)
cdef class OverlapStep:
    cdef INode inode
    cdef bint is_part
    cdef object path
    cdef uint64_t fresh
    cdef uint64_t after
    cdef bint wild_before
    cdef OverlapStep rest


cdef class Overlaps:
    cdef Root root
    cdef bint exact
    cdef Given given
    cdef OverlapStep step
    cdef OverlapStep here
    cdef object nodes
    cdef Py_ssize_t count
    cdef Py_ssize_t steps
    cdef Py_ssize_t at

    @cython.locals(step=OverlapStep)
    cdef object put(self, INode inode, bint is_part, object path, uint64_t fresh, uint64_t after, bint wild_before)
    @cython.locals(has_texts=bint)
    cdef bint _begin_step(self) except -1
    @cython.locals(text=str, no_words=bint, below=INode)
    cdef object _goes_on(self, Branch branch)
    @cython.locals(words=list, word=str)
    cdef bint _go_on_by_words(self, Branch branch, str text) except -1
    @cython.locals(cn=CNode)
    cdef object _candidates(self, INode level, bint has_texts)
    cdef object _find(self, list found, INode level, str word, uint64_t hash)


@cython.locals(given=Given, found=Overlaps)
cpdef object overlapping(object root, object dialect, bint exact, tuple words, tuple hashes)
cpdef bint has_wildcard(tuple hashes) except -1
