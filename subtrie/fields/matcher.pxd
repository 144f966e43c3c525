# C types for matcher.py.
cimport cython

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._machine cimport check_signals, check_stack
from ctrie._native cimport Borrowed, Slot, compare_and_set, initialise, load
from subtrie._trie.keyed cimport find_keyed
from subtrie._trie.match.scratch cimport leave
from subtrie._trie.subscribers cimport is_held, subscriber_hash
from subtrie.fields.combined cimport listed, values_named, ways_to_meet
from subtrie.fields.criteria cimport Criterion
from subtrie.fields.delivery cimport delivery_for
from subtrie.fields.index cimport Filed
from subtrie.fields.maps cimport untrack_entry
from subtrie.fields.search cimport answers_for, clues_for, enter_search
from subtrie.fields.state cimport (
    NOTHING, NO_ROWS, CriterionRow, State, Subscribed, asks_the_same, distinct, find_in, with_rows
)

cdef Slot _UNMADE


cdef class FieldMatcher:
    cdef object __weakref__
    cdef Slot _slot
    cdef object _home
    cdef bint _readonly
    cdef Py_ssize_t _max_criteria
    cdef Py_ssize_t _max_values

    @cython.locals(state=State)
    cdef object _change(self, object step, tuple arguments)
    @cython.locals(known=State, state=State)
    cdef State _with_rows(self)
    @cython.locals(other=FieldMatcher)
    cdef FieldMatcher _with_state(self, State state, bint readonly)
    cdef object _writable(self)
    cdef object _kept(self, object subscriber, uint64_t owner_hash, dict options)
    cdef frozenset _checked(self, object criteria)


cdef inline Borrowed slot_of(FieldMatcher matcher) noexcept:
    return <PyObject *>matcher._slot


cdef Slot _new_slot(State state)
cpdef State state_of(FieldMatcher matcher)
cpdef dict as_dict(object message)
@cython.locals(answers=list)
cdef list _answers_to_many(State state, object messages, bint delivers)
@cython.locals(clue=Filed, row=CriterionRow, counts=dict)
cdef dict _hits_of(State state, dict message)
