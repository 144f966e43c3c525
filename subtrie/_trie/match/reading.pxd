# C types for reading.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._cnode cimport CNode, branch_at
from ctrie._machine cimport W, flag_at, popcount
from ctrie._nodes cimport INode, Root, Rooted, branches, gcas_read, rdcss_read_root
from subtrie._trie.branch cimport Branch, Chain, is_wanted, words_in
from subtrie._trie.frozen cimport frozen_root
from subtrie._trie.packed_key cimport key_begins
from subtrie._trie.subscribers cimport Excepting
from subtrie._trie.words cimport MANY_WORDS, MARKED, ONE_WORD
from cpython.exc cimport PyErr_CheckSignals

cdef enum:
    TRIAL = 256
cdef int WORTH, WORTH_IN_ONE_BLOCK
cdef object _BIT


cdef class Query:
    cdef tuple words
    cdef tuple hashes
    cdef object dialect
    cdef int many_min
    cdef bint reserved
    cdef str whole
    cdef uint64_t whole_hash
    cdef dict positions


cdef class Reading:
    cdef Root root
    cdef Query query
    cdef list found

    @cython.locals(level=INode, branch=Branch)
    cdef object traverse(self, INode first, bint only_first)
    cdef list _reached(self, INode level, object positions, bint first_level)
    @cython.locals(branch=Branch)
    cdef object _reach(self, list reached, INode level, str word, uint64_t hash, object positions)
    cdef dict _words_at(self, object positions)


@cython.locals(words=tuple, one_word=str, many_words=str)
cpdef bint is_excluded(Excepting entry, Query query) except -1
@cython.locals(word=str)
cdef bint _is_matched(Query query, tuple words, str one_word, str many_words) except -1
cdef object _after_words(Query query, tuple words, object positions)
cdef object _after_one(Query query, object positions)
cdef object _after_many(Query query, object positions)
cpdef dict positions_of_words(tuple words)
@cython.locals(query=Query)
cdef Query new_query(tuple words, tuple hashes, object dialect, str whole, uint64_t whole_hash)
@cython.locals(reading=Reading)
cdef list read_matches(Rooted trie, Query query, bint only_first)
cpdef tuple words_of(object path)
cpdef object extended(object path, Branch branch)
@cython.locals(inode=INode, cn=CNode, sn=Branch, found=Branch)
cpdef Branch branch_in(Root root, INode level, str word, uint64_t hash, str separator)
