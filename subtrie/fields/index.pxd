# C types for index.py.
cimport cython
from libc.stdint cimport uint32_t, uint64_t

from ctrie._machine cimport replaced, untrack_constant
from ctrie._nodes cimport mix
from subtrie._trie.keyed cimport Keyed, set_size, with_keyed, without_keyed
from subtrie.fields.criteria cimport (
    ANY, Absent, BOXES, Criterion, LEADS, NONE, ORIGINAL, OneOf, PIECES, Prefix, RANGES, TOPICS, VALUES, Within
)
from subtrie.fields.boxes cimport Box, with_box
from subtrie.fields.texts cimport Suffix
from subtrie.fields.topics cimport Topic, WordsAt
from subtrie.fields.tree cimport Tree, filed_under, without_key
from subtrie.fields.intervals cimport crowd_around, with_range
from subtrie.fields.maps cimport Cell, Crowd, cells_of, crowd_size, find_in_map, new_cell, with_cell, without_cell

cdef tuple _NO_RANGES, _NO_VIEWS
cdef Py_ssize_t _RANGE_COST, _ANY_COST, _ABSENT_COST


cdef class Filed(Keyed):
    cdef readonly uint64_t needs
    cdef readonly bint is_joint, is_repeated
    cdef readonly uint32_t pieces
    cdef readonly object rest
    cdef readonly object access


cdef class Field:
    cdef readonly object values
    cdef readonly tuple ranges
    cdef readonly object any
    cdef readonly tuple views
    cdef readonly object boxes


cdef class Index(Crowd):
    cdef readonly object fields
    cdef readonly object absent
    cdef readonly object topics
    cdef readonly object whole


cdef Field _NO_FIELD

@cython.locals(index=Index)
cpdef Index new_index(object fields, object absent, object topics=*, object whole=*, Py_ssize_t count=*)
@cython.locals(field=Field)
cdef Field _new_field(object values, tuple ranges, object any, tuple views, object boxes)
@cython.locals(name_hash=uint64_t, cell=Cell, before=Field, after=Field, words=WordsAt)
cpdef Index refiled(Index index, Criterion criterion, Filed old, Filed new, int depth=*)
@cython.locals(before=Field, after=Field, views=tuple, changed=tuple)
cdef Field _refiled_in_view(Field field, Criterion criterion, Filed old, Filed new, int depth)
cdef bint _is_empty(Field field) except -1
@cython.locals(ranges=tuple)
cdef Field _refiled_in_field(Field field, Criterion criterion, Filed old, Filed new, int depth)
@cython.locals(trees=tuple, tree=Tree, left=Tree, changed=tuple)
cdef tuple _refiled_in_ranges(tuple ranges, Within span, Filed old, Filed new, int depth)
@cython.locals(name_hash=uint64_t, cell=Cell, tree=Tree)
cdef object _refiled_in_boxes(object cells, Box box, Filed old, Filed new, int depth)
@cython.locals(cell=Cell)
cdef object _refiled_under(object cells, object key, uint64_t hash, Filed old, Filed new, int depth)
@cython.locals(size=Py_ssize_t)
cdef object _exchanged(object filed, Filed old, Filed new, int depth)
@cython.locals(entry=Filed, within=Index)
cdef object _divided(object several, int depth)
@cython.locals(one=Filed, count=Py_ssize_t, step=Criterion, changed=Index, entry=Filed)
cdef object _refiled_within(Index index, Filed old, Filed new, int depth)
@cython.locals(criterion=Criterion, word=Criterion, words=list)
cpdef Criterion next_criterion(Filed entry, int depth)
cdef bint _is_filed_again(Criterion criterion) except -1
@cython.locals(words=WordsAt)
cpdef int kind_of_cost(Criterion criterion) except -1
@cython.locals(words=WordsAt, name_hash=uint64_t, cell=Cell, field=Field, crowd=Py_ssize_t, span=Within, tree=Tree, below=Py_ssize_t, above=Py_ssize_t)
cpdef Py_ssize_t crowd_under(Index index, Criterion criterion, Py_ssize_t most) except -2
cdef Py_ssize_t _crowd_at(object cells, object key, uint64_t hash) except -1
