# C types for overlapping.py.
cimport cython

from subtrie._trie.branch cimport Branch, is_wanted
from subtrie._trie.match.reading cimport branch_by, branch_in, extended


cdef class Given:
    cdef str separator
    cdef str one_word
    cdef str many_words
    cdef int many_min
    cdef bint zero_words
    cdef str prefix
    cdef str whole
    cdef bint starts_wild
    cdef object one
    cdef object many
    cdef object reserved
    cdef Py_ssize_t size
    cdef dict literal
    cdef dict keys
    cdef object fresh
    cdef object after

    cdef object _add(self, str word)
    cdef bint is_wild(self, str word) except -1
    cdef bint _reserves(self, str word) except -1
    cdef object _closed(self, object positions)
    cdef bint ends(self) except -1
    cdef bint takes_any_word(self) except -1
    cdef object take(self, str word, bint wild_before)
    cdef object _take_many(self)
    cdef object _any_word(self)
    cdef object _stepped(self, object positions, object fitting)


cdef tuple _reached(Given given)
cdef object _go_to(Given given, object fresh, object after)
@cython.locals(no_words=bint, ends=bint, starts_wild=bint)
cdef bint _goes_on(Given given, Branch branch, object path, bint wild_before, list stack) except -1
@cython.locals(separator=str, word=str)
cdef bint _take_words(Given given, Branch branch, bint wild_before) except -1
@cython.locals(wanted=list, found=list, word=str, key=tuple, branch=Branch)
cdef object _candidates(object root, object level, bint has_texts, Given given)
