# C types for criteria.py.
cimport cython

cdef int VALUES, RANGES, ANY, NONE
cdef int NUMBERS, TEXTS, BYTES, DATES, TIMES, UTC_TIMES, DURATIONS, OTHER, NOWHERE
cdef dict _ORDER_OF
cdef object _MISSING

@cython.locals(order=int)
cpdef int order_of(object value) except -1
cdef int _order_of_kin(object value, object kind) except -1
cdef int _order_of_bound(object bound) except -1
cdef bint _is_equal_to_itself(object value) except -1
cpdef object check_hashable(object name, object value)
cdef bint _is_up_to(object one, object other, bint strictly) except -1


cdef class Criterion:
    cdef readonly object name
    cdef readonly int place

    cpdef bint holds(self, object value) except -1
    cdef bint met_by(self, dict message) except -1
    cdef bint is_found_exactly(self) except -1
    cdef bint is_implied_by(self, Criterion access) except -1
    cpdef tuple leads(self)
    cpdef tuple arguments(self)
    cpdef tuple identity(self)


cdef class Equals(Criterion):
    cdef readonly object value

    cpdef bint holds(self, object value) except -1


cdef class Present(Criterion):
    cpdef bint holds(self, object value) except -1


cdef class Absent(Criterion):
    cpdef bint holds(self, object value) except -1
    cdef bint met_by(self, dict message) except -1


cdef class OneOf(Criterion):
    cdef readonly frozenset values

    cpdef bint holds(self, object value) except -1


cdef class NotIn(Criterion):
    cdef readonly frozenset values

    cpdef bint holds(self, object value) except -1
    cdef bint is_found_exactly(self) except -1


cdef class Within(Criterion):
    cdef readonly object low, high
    cdef readonly bint low_open, high_open
    cdef readonly int order

    cdef object _bound(self, object low, object high, bint low_open, bint high_open)
    cpdef bint holds(self, object value) except -1
    cdef bint is_found_exactly(self) except -1
    cpdef Within span(self)


cdef class LessThan(Within):
    pass


cdef class AtMost(Within):
    pass


cdef class GreaterThan(Within):
    pass


cdef class AtLeast(Within):
    pass


cdef class Prefix(Criterion):
    cdef readonly object prefix
    cdef Within _span

    cpdef bint holds(self, object value) except -1
    cpdef Within span(self)


cdef class Topic(Criterion):
    cdef readonly object dialect
    cdef readonly str filter
    cdef readonly tuple words
    cdef tuple _leads

    cpdef bint holds(self, object value) except -1
    cdef bint is_found_exactly(self) except -1
    cdef bint is_implied_by(self, Criterion access) except -1
    cpdef tuple leads(self)


cdef class TopicPart(Criterion):
    cdef readonly object value

    cpdef bint holds(self, object value) except -1
