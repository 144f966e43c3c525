# C types for filling.py.
cimport cython
from libc.stdint cimport uint64_t

from ctrie._bulk cimport cnode_of, hash_at, in_order, let_go
from ctrie._cnode cimport CNode, Gen
from ctrie._machine cimport EVERY, check_signals, check_stack
from ctrie._nodes cimport INode, Root, gcas_read, new_inode, rdcss_read_root, rdcss_root
from subtrie._trie.branch cimport Branch, new_branch
from subtrie._trie.groups cimport members_of, with_members
from subtrie._trie.keyed cimport find_keyed, with_keyed
from subtrie._trie.match.plan cimport Matchable, word_hash
from subtrie._trie.subscribers cimport Entry, entry_of
from subtrie._trie.words cimport MANY_WORDS, MARKED, ONE_WORD

cdef int NOT_FILLED, DEEP


cdef class Row:
    cdef Py_ssize_t number
    cdef Entry entry
    cdef object group
    cdef str rest
    cdef Py_ssize_t at


cdef class Filling:
    cdef str separator
    cdef str one_word
    cdef str many_words
    cdef bint exact
    cdef list filters
    cdef bint strict
    cdef Gen gen
    cdef Py_ssize_t count

    cdef INode level(self, dict groups, int depth)
    cdef uint64_t _hash(self, str word, int depth) except? 0
    @cython.locals(row=Row)
    cdef Branch _branch(self, str word, object rows, int depth)
    @cython.locals(row=Row, start=Py_ssize_t, end=Py_ssize_t)
    cdef dict by_next_word(self, list rows, list ended)
    @cython.locals(present=Entry)
    cdef object _with_row(self, object audience, Row row)


@cython.locals(row=Row)
cdef Row new_row(Py_ssize_t number, Entry entry, object group, str text, Py_ssize_t at)
@cython.locals(cn=CNode)
cdef bint is_empty(Root root) except -1
@cython.locals(cn=CNode, filling=Filling)
cdef Py_ssize_t fill_empty(Matchable trie, list rows, list filters, bint strict) except -2
