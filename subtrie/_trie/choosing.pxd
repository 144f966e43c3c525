# C types for choosing.py.
cimport cython
from libc.math cimport log
from libc.stdint cimport uint64_t

from ctrie._native cimport Borrowed, borrow, borrowed, compare_and_set, is_exactly, load
from ctrie._nodes cimport mix
from subtrie._trie.draws cimport draw, draw_again
from subtrie._trie.groups cimport Group, members_in, rounds_in, takes_turn, turn_of, weight_of
from subtrie._trie.keyed cimport SetNode, branches_of, find_keyed, set_array_of, set_size, size_in
from subtrie._trie.match.reading cimport Query, hash_of_topic, is_excluded
from subtrie._trie.match.walk cimport item_of
from subtrie._trie.subscribers cimport Entry, Excepting, living, subscriber_hash

cdef uint64_t LAST
cdef uint64_t ENOUGH
cdef int TRIES


cdef class Choice:
    cdef bint by_key
    cdef uint64_t key_hash
    cdef bint spares
    cdef object sender
    cdef uint64_t sender_hash
    cdef Query query


@cython.locals(choice=Choice)
cpdef Choice new_choice(object key, object sender)
@cython.locals(other=Choice)
cpdef Choice choice_for(Choice choice, Query query)
cdef Choice _with_sender(Choice choice)
@cython.locals(entry=Borrowed, alive=Entry)
cpdef Entry choose(Group group, uint64_t asker, bint take_turn, bint weak, Choice choice)
@cython.locals(
    members=Borrowed, size=uint64_t, key=uint64_t, turn=uint64_t, place=uint64_t, entry=Borrowed, following=uint64_t,
    lots=bint,
)
cdef Borrowed next_member(Borrowed group, uint64_t asker, bint take_turn, bint weak) except NULL
@cython.locals(
    sizes=list, total=uint64_t, key=uint64_t, first=Borrowed, turn=uint64_t, follows=bint, place=uint64_t, entry=Entry,
    at=Py_ssize_t, lots=bint, following=uint64_t,
)
cpdef tuple choose_among(list groups, uint64_t asker, bint take_turn, Choice choice)
cdef bint _is_by_lot(Borrowed group, uint64_t turn, uint64_t key) noexcept
@cython.locals(rounds=uint64_t)
cdef uint64_t _turn_after(uint64_t turn, uint64_t key, bint lots, uint64_t size, uint64_t place) noexcept
cdef uint64_t _key(uint64_t asker) noexcept
@cython.locals(at=Py_ssize_t, group=Group, stamps=uint64_t)
cdef uint64_t _stamps(list groups, Choice choice) except? 0
@cython.locals(at=Py_ssize_t, group=Group)
cdef bint _is_member(list groups, Choice choice) except -1
cdef bint _is_excluded(Entry entry, Choice choice) except -1
@cython.locals(able=Entry)
cdef Entry _is_able(Entry entry, Choice choice)
@cython.locals(_tries=uint64_t, entry=Entry, able=Entry, left=list)
cdef tuple _first_able(list groups, list sizes, uint64_t total, uint64_t place, bint follows, Choice choice)
@cython.locals(at=Py_ssize_t, group=Group, stamps=uint64_t)
cdef bint _are_backwards(list groups) except -1
@cython.locals(at=Py_ssize_t, group=Group, size=uint64_t)
cdef tuple _member_at(list groups, list sizes, uint64_t total, uint64_t place)
cdef Entry _entry_of(Group group, uint64_t place)
@cython.locals(array=Borrowed, at=Py_ssize_t, size=uint64_t)
cdef Borrowed entry_at(Borrowed members, uint64_t place) noexcept


cdef class _Wheel:
    cdef list entries
    cdef list ends
    cdef object size

    cdef Entry entry_at(self, Py_ssize_t place)


cdef _Wheel _wheel_of(Group group)
@cython.locals(at=Py_ssize_t, group=Group)
cdef bint _have_weights(list groups) except -1
@cython.locals(at=Py_ssize_t, group=Group, sizes=list)
cdef list _places_of(list groups)
@cython.locals(stride=uint64_t)
cdef uint64_t _stride(uint64_t total) except 0
@cython.locals(best=_Best, at=Py_ssize_t, group=Group)
cdef tuple _by_key(list groups, Choice choice)


cdef class _Best:
    cdef Choice choice
    cdef bint weighted
    cdef Py_ssize_t number
    cdef Entry entry
    cdef double score
    cdef bint spared

    cdef object look_at(self, object members, Py_ssize_t number)
    @cython.locals(score=double, able=Entry, spared=bint, better=bint)
    cdef object _look_at_one(self, Entry entry, Py_ssize_t number)
    cdef double _score(self, Entry entry) except? 0
