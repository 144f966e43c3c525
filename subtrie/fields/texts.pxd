# C types for texts.py.
cimport cython

from ctrie._machine cimport untrack_constant
from subtrie.fields.criteria cimport (
    ADDRESSES, Criterion, FOLDED, FOLDED_REVERSED, Key, LEADS, PIECES, Prefix, RANGES, REVERSED, Spanned, VALUES, Within, folded, plain, texts_from
)


cdef Py_ssize_t LONGEST_PIECE


cdef class EqualsIgnoringCase(Criterion):
    cdef readonly str text
    cdef str _folded

    cpdef bint holds(self, object value) except -1
    cpdef object values_filed(self)


cdef class Suffix(Spanned):
    cdef readonly str suffix
    cdef readonly bint ignore_case
    cdef str _end

    cpdef bint holds(self, object value) except -1


cdef class Wildcard(Criterion):
    cdef readonly str pattern
    cdef readonly tuple parts
    cdef tuple _leads

    cpdef bint holds(self, object value) except -1
    cdef bint is_found_exactly(self) except -1
    cpdef tuple leads(self)


@cython.locals(place=Py_ssize_t, last=Py_ssize_t, end=Py_ssize_t, found=Py_ssize_t, i=Py_ssize_t)
cdef bint _matches(tuple parts, str text) except -1


@cython.locals(size=Py_ssize_t, i=Py_ssize_t)
cpdef set pieces_of(str text)


cdef class InNetwork(Spanned):
    cdef readonly str network

    cpdef bint holds(self, object value) except -1


cpdef object address_of(object value)
cpdef object viewed(int view, object text)
