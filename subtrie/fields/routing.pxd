# C types for routing.py.
cimport cython
from cpython.object cimport PyObject

from ctrie._machine cimport check_signals
from ctrie._native cimport Borrowed
from subtrie._trie.match.plan cimport Plan
from subtrie.fields.equals cimport one_of_words
from subtrie.fields.matcher cimport FieldMatcher, as_dict, state_of
from subtrie.fields.search cimport answers_on_topic
from subtrie.fields.state cimport State
from subtrie.fields.topics cimport Topic

cdef FieldMatcher _UNMADE


cdef class RoutingMatcher:
    cdef readonly object dialect
    cdef FieldMatcher _fields
    cdef Plan _plan
    cdef object __weakref__

    cdef object _begin(self, object dialect, FieldMatcher fields)
    cdef tuple _answers(self, State state, object topic, object message, bint delivers)
    @cython.locals(answers=list)
    cdef list _answers_to_many(self, object messages, bint delivers)
    cdef RoutingMatcher _with(self, FieldMatcher fields)


cdef inline Borrowed fields_of(RoutingMatcher matcher) noexcept:
    return <PyObject *>matcher._fields


cdef inline Borrowed plan_of(RoutingMatcher matcher) noexcept:
    return <PyObject *>matcher._plan


cdef inline Borrowed dialect_of(RoutingMatcher matcher) noexcept:
    return <PyObject *>matcher.dialect


@cython.locals(matcher=RoutingMatcher)
cpdef RoutingMatcher _rebuilt(object kind, object dialect, FieldMatcher fields)
