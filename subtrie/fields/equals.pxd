# C types for equals.py.
cimport cython

from subtrie.fields.criteria cimport Criterion, Equals

cdef frozenset _OURS, PLAIN

@cython.locals(known=dict, found=Criterion)
cpdef Criterion one_of_equals(Criterion criterion)
@cython.locals(known=dict)
cpdef tuple one_of_words(tuple words)
@cython.locals(known=Equals)
cdef bint is_like(Criterion found, Equals wanted) except -1
@cython.locals(likeness=list, arguments=tuple)
cdef object _likeness_of(Criterion criterion)
