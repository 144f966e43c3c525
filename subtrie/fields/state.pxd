# C types for state.py.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from ctrie._machine cimport check_signals, popcount, untrack_constant
from ctrie._native cimport Borrowed
from ctrie._nodes cimport mix
from subtrie._trie.keyed cimport Keyed, SetNode, find_keyed, set_size, with_keyed, without_keyed
from subtrie._trie.subscribers cimport is_held
from subtrie.fields.boxes cimport Box, box_among
from subtrie.fields.combined cimport AnyOf
from subtrie.fields.criteria cimport Criterion, Key, LEADS, NONE
from subtrie.fields.delivery cimport completed, living
from subtrie.fields.equals cimport one_of_equals
from subtrie.fields.index cimport Filed, Index, crowd_under, kind_of_cost, new_index, refiled
from subtrie.fields.maps cimport untrack_entry
from subtrie.fields.names cimport may_meet_in_a_list, with_names
from subtrie.fields.needs cimport needs_of, pieces_needed
from subtrie.fields.topics cimport Topic

cdef int _BITS
cdef uint32_t _MASK
cdef Py_ssize_t _ANY_NUMBER, _KIND


cdef class Subscribed(Filed):
    cdef readonly tuple asked
    cdef readonly object delivery


cdef class Owner(Keyed):
    cdef readonly object value


cdef class CriterionRow(Keyed):
    cdef readonly Filed clue
    cdef readonly object value


cdef class State:
    cdef readonly object owners
    cdef readonly Index index
    cdef readonly Py_ssize_t count
    cdef readonly object names
    cdef readonly object rows
    cdef readonly Index clues


cdef State NOTHING, NO_ROWS


cdef inline Borrowed index_of(State state) noexcept:
    return <PyObject *>state.index


cdef inline Borrowed clues_of(State state) noexcept:
    return <PyObject *>state.clues


cdef inline Borrowed names_of(State state) noexcept:
    return <PyObject *>state.names


cdef inline Borrowed owners_of(State state) noexcept:
    return <PyObject *>state.owners


cdef bint has_owners_of_several(State state) except -1

@cython.locals(state=State)
cdef State _new_state(object owners, Index index, Py_ssize_t count, object names, object rows, Index clues)
@cython.locals(owner=Owner, hash_=uint64_t, old=Subscribed, new=Subscribed)
cpdef tuple with_subscription(State state, frozenset criteria, object delivery, uint64_t owner_hash)
@cython.locals(owner=Owner, old=Subscribed)
cpdef tuple without_subscription(State state, frozenset criteria, object subscriber, uint64_t owner_hash)
@cython.locals(owner=Owner, changed=State, subscribed=Subscribed)
cpdef tuple without_owner(State state, object subscriber, uint64_t owner_hash)
@cython.locals(there=Owner, wanted=Owner, before=object, after=object)
cdef State _with_owner_of(State state, State other, object subscriber, uint64_t owner_hash)
@cython.locals(known=Subscribed)
cpdef tuple with_replacement(State state, frozenset old, frozenset new, object subscriber, uint64_t owner_hash)
cpdef tuple with_nothing(State state)
@cython.locals(one=Subscribed, index=Index, added=Py_ssize_t, clues=Index)
cdef State _refiled(State state, object owners, Subscribed old, Subscribed new)
@cython.locals(lead=Criterion)
cdef Index _refiled_under(Index index, object access, Filed old, Filed new)
@cython.locals(one=Subscribed, hash_=uint64_t, row=CriterionRow, clue=Filed, criterion=Criterion)
cdef tuple _with_rows(object rows, Index clues, Subscribed old, Subscribed new)
@cython.locals(owner=Owner)
cdef Owner _new_owner(object subscriber, uint64_t hash, object subscriptions)
@cython.locals(row=CriterionRow)
cdef CriterionRow _new_row(Criterion criterion, uint64_t hash, object among, Filed clue)
@cython.locals(clue=Filed)
cdef Filed _new_clue(Criterion criterion, uint64_t hash)
@cython.locals(old=Subscribed, new=Subscribed)
cpdef State with_rows(State state, State known)
cdef uint64_t _hash_of(frozenset criteria, uint64_t owner_hash) except? 0
@cython.locals(criterion=Criterion)
cdef tuple _of_fields(tuple criteria)
cdef bint asks(Subscribed subscribed, frozenset criteria) except -1
cpdef bint asks_the_same(Subscribed one, Subscribed other) except -1
@cython.locals(shift=int, node=SetNode, flag=uint32_t, subscribed=Subscribed)
cpdef Subscribed find_subscribed(object among, frozenset criteria, uint64_t hash)
@cython.locals(owner=Owner)
cpdef Subscribed find_in(State state, frozenset criteria, object subscriber, uint64_t owner_hash)
@cython.locals(known=Criterion, kept=list, criterion=Criterion)
cdef int _file(Subscribed new, Index index, frozenset criteria) except -1
@cython.locals(found=Criterion)
cdef bint _is_joint(object criteria, object access) except -1
@cython.locals(criterion=Criterion, box=Box)
cdef object _access(Index index, frozenset criteria)
@cython.locals(rarest=tuple, leads=tuple, least=Py_ssize_t, cost=Py_ssize_t, criterion=Criterion)
cdef tuple _rarest(Index index, object criteria, Py_ssize_t most)
@cython.locals(cost=Py_ssize_t, more=Py_ssize_t, leads=tuple)
cdef tuple _rarest_of_each(Index index, AnyOf any_of, Py_ssize_t most)
@cython.locals(lead=Criterion)
cdef object _unrepeated(tuple leads)
cpdef object access_of_clue(Criterion criterion)
@cython.locals(criterion=Criterion, box=Box, found=Box)
cdef object _rest(tuple criteria, object access)
@cython.locals(box=Box)
cdef bint _is_in_box(Criterion criterion, object access) except -1
@cython.locals(entry=Subscribed, subscribers=tuple)
cdef tuple distinct(list found)
