# C types for routing.py.
cimport cython
from cpython.object cimport PyObject

from ctrie._native cimport Borrowed, borrow
from ctrie._signals cimport check_signals
from subtrie._trie.match.topic_rules cimport TopicRules, topic_path
from subtrie.fields.matcher cimport FieldMatcher, as_dict, state_of
from subtrie.fields.search cimport answers_for
from subtrie.fields.state cimport State

cdef FieldMatcher _UNMADE


cdef class RoutingMatcher:
    cdef readonly object dialect
    cdef FieldMatcher _fields
    cdef TopicRules _rules
    cdef object __weakref__

    cdef object _begin(self, object dialect, FieldMatcher fields)
    cdef tuple _words_of(self, object topic)
    cdef RoutingMatcher _with(self, FieldMatcher fields)


cdef inline Borrowed fields_of(RoutingMatcher matcher) noexcept:
    return <PyObject *>matcher._fields


cdef inline Borrowed rules_of(RoutingMatcher matcher) noexcept:
    return <PyObject *>matcher._rules


cdef FieldMatcher _fields_in(RoutingMatcher matcher)
@cython.locals(matcher=RoutingMatcher)
cpdef RoutingMatcher _rebuilt(object kind, object dialect, FieldMatcher fields)
