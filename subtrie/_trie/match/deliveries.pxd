# C types for deliveries.py.
cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from ctrie._machine cimport check_stack, flag_at, leaf_after, new_leaf
from ctrie._native cimport is_exactly
from subtrie._trie.choosing cimport Choice
from subtrie._trie.match.audience cimport Audience, begin_audience, new_audience
from subtrie._trie.match.plan cimport Matchable
from subtrie._trie.match.trail cimport group_text_of, text_of, topic_of
from subtrie._trie.keyed cimport find_keyed
from subtrie._trie.subscribers cimport Entry, Sole, entry_alone, living, new_entry

cdef extern from "Python.h":
    bint PyObject_GC_IsTracked(PyObject *o)
    bint PyUnicode_CheckExact(object text)

cdef str ALL, ONE, BEST
cdef object NO_OPTIONS
cdef Py_ssize_t FEW


cdef class Told:
    cdef object _who
    cdef uint64_t _hash
    cdef object _group
    cdef object _trail
    cdef Py_ssize_t _at


cdef class Subscription(Told):
    pass


cdef class Delivery(Told):
    pass


# An entry that is not tracked leads to nothing that is (subscribers.py), and neither does what refers to it alone.
cdef inline object leads_to(object who, object group):
    if group is not None and not PyUnicode_CheckExact(group):
        return group
    if is_exactly(<PyObject *>who, Entry) or is_exactly(<PyObject *>who, Sole):
        return who if PyObject_GC_IsTracked(<PyObject *>who) else None
    return who


@cython.locals(one=Told)
cdef Told new_told(bint delivers, object who, uint64_t hash, object group, object trail, Py_ssize_t at)
cdef int _fill(Told one, object who, uint64_t hash, object group, object trail, Py_ssize_t at) except -1
cdef inline int _check_made(Told one) except -1
@cython.locals(entry=Entry, sole=Sole)
cdef object _subscriber(Told one)
@cython.locals(entry=Entry, sole=Sole)
cdef dict _options(Told one)


cdef class Recipients(Audience):
    cdef list answer

    cdef int add(self, Entry entry, object group, object trail, Py_ssize_t at) except -1


@cython.locals(recipients=Recipients)
cdef Recipients new_recipients(Matchable trie, object topic, Py_ssize_t filters, Choice choice)
@cython.locals(one=Told)
cpdef tuple shown_entries(tuple found, Matchable trie, object topic, bint delivers)
@cython.locals(one=Told, alive=Entry)
cdef tuple deliveries_to(tuple found, Matchable trie, object topic, object subscriber, uint64_t hash)
cdef object _value(Told one)
cdef Told _given(bint delivers, Entry entry, object group, Told by)
cpdef object check_merge(object merge, object by)
@cython.locals(one=Told, indexes=dict)
cpdef tuple merged(tuple found, str merge, str by)
@cython.locals(one=Told)
cdef bint _are_distinct(tuple found) except -1
@cython.locals(at=Py_ssize_t, other=Told, same_hash=list)
cdef Py_ssize_t _index_of(list kept, Told one, dict indexes) except -2
@cython.locals(entry=Entry)
cdef uint64_t _hash(Told one) except? 0
cdef bint _are_one(Told one, Told other) except -1
cdef bint _is_better(Told one, Told other, str by) except -1
cdef object _option(Told one, str by)
