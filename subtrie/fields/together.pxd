# C types for together.py.
cimport cython

from subtrie.fields.criteria cimport Criterion, ORIGINAL, VALUES
from subtrie.fields.events cimport Place

cdef int NO, FITS, IN_A_LIST
cdef object Elements


@cython.final
cdef class Field:
    cdef object elements    # of a class below tuple
    cdef tuple places
    cdef dict values, rows, by_value, apart
    cdef set is_split


@cython.final
cdef class Together:
    cdef dict message, fields


@cython.locals(together=Together)
cpdef Together new_together(dict message)
cpdef bint hold_together(Together together, object criteria) except -1
@cython.locals(criterion=Criterion, apart=list)
cdef bint _some_way_holds(Together together, list chosen, list criteria) except -1
@cython.locals(criterion=Criterion, field=Field, asked=list, absent=list, only=Criterion)
cdef bint _way_holds(Together together, object criteria) except -1
@cython.locals(field=Field, place=Place)
cdef Field _field_of(Together together, object name)
@cython.locals(found=list, values=list, held=list, above=Place, rows=list, other=Place)
cdef list _values_at(Field field, Place place)
@cython.locals(field=Field, inside=list, one=tuple, criterion=Criterion, is_free=bint, is_met=bint)
cdef int _fit(Place at, list asked, list absent) except -1
cdef bint _one_holds(Criterion criterion, list values) except -1
@cython.locals(groups=dict, one=tuple, field=Field, is_free=bint, place=Place, apart=dict, found=int, rows=list)
cdef int _fit_in_lists(Place at, list asked, list absent) except -1
@cython.locals(criterion=Criterion, field=Field, place=Place)
cdef bint _fits_somewhere(Place at, list several) except -1
@cython.locals(bound=list, criterion=Criterion, field=Field, place=Place, found=int)
cdef bint _fit_in_one(Place at, list group, list absent) except -1
@cython.locals(key=tuple, place=Place, one=Field)
cdef list _places_apart(Field field, Place at, list absent)
@cython.locals(first=tuple, rows=list, one=tuple, found=list, criterion=Criterion, field=Field, others=list, place=Place, values=list)
cdef bint _one_has_all(Place at, list group) except -1
@cython.locals(place=Place, top=Place, rows=list)
cdef list _rows_with_values(Criterion criterion, Field field)
