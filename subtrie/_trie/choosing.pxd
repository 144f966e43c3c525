# C types for choosing.py.
cimport cython
from libc.math cimport log
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed, borrow, borrowed, is_exactly
from ctrie._nodes cimport mix
from subtrie._trie.draws cimport draw
from subtrie._trie.groups cimport Group, members_in, weight_of
from subtrie._trie.keyed cimport SetNode, find_keyed, set_array_of, set_size, size_in
from subtrie._trie.match.reading cimport Query, is_excluded
from subtrie._trie.match.walk cimport item_of
from subtrie._trie.subscribers cimport Entry, Excepting, living, subscriber_hash

cdef enum:
    TRIES = 32


cdef class Choice:
    cdef bint by_key
    cdef uint64_t key_hash
    cdef bint spares
    cdef object sender
    cdef uint64_t sender_hash
    cdef Query query
    cdef frozenset without


@cython.locals(choice=Choice)
cpdef Choice new_choice(object key, object sender, object without)
@cython.locals(members=Borrowed, size=uint64_t)
cdef Borrowed any_member(Borrowed group) noexcept
cdef tuple choose_among(list groups, Choice choice)
@cython.locals(heaviest=Py_ssize_t, total=Py_ssize_t, at=Py_ssize_t, group=Group, entry=Entry, able=Entry, lot=Py_ssize_t)
cdef tuple _chosen(list groups, Choice choice, bint spares)
@cython.locals(listed=list, ends=list, end=Py_ssize_t, at=Py_ssize_t, group=Group, entry=Entry, able=Entry)
cdef tuple _among_listed(list groups, Choice choice, bint spares)
@cython.locals(able=Entry)
cdef Entry _able(Entry entry, Choice choice, bint spares)
@cython.locals(at=Py_ssize_t, group=Group, size=uint64_t)
cdef tuple _member_at(list groups, uint64_t number)
@cython.locals(array=Borrowed, at=Py_ssize_t, size=uint64_t)
cdef Borrowed entry_at(Borrowed members, uint64_t number) noexcept
@cython.locals(at=Py_ssize_t, number=Py_ssize_t, group=Group, entry=Entry, able=Entry, best=Entry, score=double, greatest=double)
cdef tuple _by_key(list groups, Choice choice, bint spares, bint weighted)
cdef double _score(Entry entry, Choice choice, bint weighted) except? 0
