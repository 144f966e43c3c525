# C types for topic_rules.py.
cimport cython
from cpython.object cimport PyObject

from ctrie._native cimport Borrowed, borrow, borrowed
from subtrie._trie.match.plan cimport Plan, path_by, split_in_place
from subtrie._trie.match.walk cimport Traversal, item_of, size_of


cdef class TopicRules:
    cdef readonly object dialect
    cdef Plan literal
    cdef tuple suspect


cdef inline Borrowed literal_of(TopicRules rules) noexcept:
    return <PyObject *>rules.literal


cdef inline Borrowed suspect_of(TopicRules rules) noexcept:
    return <PyObject *>rules.suspect


@cython.locals(rules=TopicRules)
cdef TopicRules _new_rules(object dialect, Plan literal, tuple suspect)
cdef bint topic_in_place(Traversal *t, TopicRules rules, object topic) except -1
cdef bint _is_suspect(TopicRules rules, str text) except -1
cdef tuple topic_path(TopicRules rules, object topic)
