# C types for events.py.
cimport cython

from subtrie.fields.comparing cimport LIST, NOTHING, VALUE, as_value, contents_of, kind_of
from subtrie.fields.names cimport leads_on

cdef frozenset PLAIN


cdef class Place:
    cdef readonly object of
    cdef readonly Place above, top
    cdef readonly int depth


@cython.final
cdef class Step:
    cdef object name
    cdef dict below


@cython.locals(
    flat=dict, several=dict, stack=list, outer=Step, place=Place, is_listed=bint, is_object=bint, is_deeper=bint, step=Step,
    kind=int, is_list=bint, here=Place, is_apart=bint, items=list,
)
cpdef dict flat_as_asked(object message, object names, bint is_whole, bint together)
@cython.locals(found=tuple)
cdef object _put(dict flat, dict several, object name, object value, Place place, bint is_listed)
@cython.locals(is_asked=bint)
cdef Step _step_to(object names, bint is_whole, Step outer, object key)
@cython.locals(step=Step)
cdef Step _new_step(object name)
