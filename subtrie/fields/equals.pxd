# C types for equals.py.
cimport cython

from subtrie.fields.criteria cimport Criterion

cdef frozenset _OURS, PLAIN

@cython.locals(known=dict, found=Criterion)
cpdef Criterion one_of_equals(Criterion criterion)
@cython.locals(known=dict)
cpdef tuple one_of_words(tuple words)
@cython.locals(likeness=list, arguments=tuple)
cdef object _likeness_of(Criterion criterion)
