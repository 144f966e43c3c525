# C types for matcher.py.
cimport cython

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM

from ctrie._arrays cimport settle
from ctrie._native cimport Borrowed, Slot, compare_and_set, initialise, load
from ctrie._signals cimport check_signals
from subtrie._trie.keyed cimport find_keyed
from subtrie._trie.match.scratch cimport leave
from subtrie._trie.subscribers cimport is_held, subscriber_hash
from subtrie.fields.criteria cimport Criterion
from subtrie.fields.index cimport Filed, Index
from subtrie.fields.search cimport enter_search, entries_for, subscribers_for
from subtrie.fields.state cimport (
    NOTHING, NO_ROWS, Row, State, Subscribed, asks_the_same, criteria_of, distinct, find_in, index_of, with_rows
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
    cdef frozenset _checked(self, object criteria)


cdef inline Borrowed slot_of(FieldMatcher matcher) noexcept:
    return <PyObject *>matcher._slot


cdef object _DELIVERY, _NO_OPTIONS

cdef extern from *:
    """
    static inline PyObject *room_for_three(PyObject *type) { return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 3); }
    """
    object room_for_three(PyObject *type)
    object PyDictProxy_New(object mapping)
    bint PyObject_GC_IsTracked(PyObject *thing) noexcept
    void PyObject_GC_UnTrack(PyObject *thing) noexcept


cdef inline object view_of(dict options):
    return _NO_OPTIONS if options is None else PyDictProxy_New(options)


cdef inline object new_delivery(object subscriber, dict options, object view):
    delivery = room_for_three(<PyObject *>_DELIVERY)
    Py_INCREF(subscriber)
    PyTuple_SET_ITEM(delivery, 0, subscriber)
    Py_INCREF(view)
    PyTuple_SET_ITEM(delivery, 1, view)
    Py_INCREF(None)
    PyTuple_SET_ITEM(delivery, 2, None)
    # No part of a cycle if subscriber and options lead to nothing that the collector looks at.
    if not PyObject_GC_IsTracked(<PyObject *>subscriber):
        if options is None or not PyObject_GC_IsTracked(<PyObject *>options):
            PyObject_GC_UnTrack(<PyObject *>delivery)
    return delivery


cdef Slot _new_slot(State state)
cpdef State state_of(FieldMatcher matcher)
cpdef dict as_dict(object message)
@cython.locals(entry=Subscribed, options=dict, deliveries=list)
cpdef tuple deliveries_of(list found)
@cython.locals(clue=Filed, row=Row, counts=dict)
cdef dict _hits_of(State state, dict message)
