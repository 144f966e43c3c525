# C types for criteria.py.
cimport cython

from cpython.object cimport PyObject
from libc.stdint cimport uint64_t
from libc.math cimport INFINITY, isinf, nextafter
from ctrie._machine cimport check_stack, untrack_constant
from subtrie.fields.comparing cimport EQUAL, as_value, compared, is_among, is_equal_to_itself, is_up_to

cdef int VALUES, RANGES, ANY, NONE, LEADS, BOXES, TOPICS
cdef int ORIGINAL, REVERSED, FOLDED, FOLDED_REVERSED, PIECES, ADDRESSES
cdef int NUMBERS, TEXTS, BYTES, DATES, TIMES, UTC_TIMES, DURATIONS, OTHER, NOWHERE
cdef dict _ORDER_OF
cdef object _MISSING, Elements

@cython.locals(order=int)
cpdef int order_of(object value) except -1
cdef int _order_of_kin(object value) except -1
cdef int _order_of_bound(object bound) except -1
cpdef object check_hashable(object name, object value)


cpdef bint is_for_certain(dict message, object name) except -1


cdef class Criterion:
    cdef readonly object name
    cdef readonly unsigned char place, view
    cdef public object written

    cpdef bint holds(self, object value) except -1
    cpdef bint met_by(self, dict message) except -1
    cpdef bint may_be_met_by(self, dict message) except -1
    cdef bint is_found_exactly(self) except -1
    cpdef bint is_taken_apart(self) except -1
    cpdef bint is_of_absence(self) except -1
    cdef bint is_implied_by(self, Criterion access) except -1
    cpdef tuple leads(self)
    cpdef object values_filed(self)
    cpdef object span(self)
    cpdef tuple arguments(self)
    cpdef tuple identity(self)


cdef class Equals(Criterion):
    cdef readonly object value

    cpdef bint holds(self, object value) except -1
    cpdef object values_filed(self)


cdef class Present(Criterion):
    cpdef bint holds(self, object value) except -1


cdef class Absent(Criterion):
    cpdef bint holds(self, object value) except -1
    cpdef bint met_by(self, dict message) except -1
    cpdef bint may_be_met_by(self, dict message) except -1
    cpdef bint is_of_absence(self) except -1


cdef class OneOf(Criterion):
    cdef readonly frozenset values

    cpdef bint holds(self, object value) except -1
    cpdef object values_filed(self)


cdef class NotIn(Criterion):
    cdef readonly frozenset values

    cpdef bint holds(self, object value) except -1
    cdef bint is_found_exactly(self) except -1


# What the numbers of C say that are noted of a range: nothing; what is within, exactly; or the first bytes of its
# bounds, which are texts or bytes, so that numbers which differ say which comes first.
cdef enum:
    NOTHING_NOTED, BOUNDS, HEADS

cdef class Within(Criterion):
    cdef readonly int order
    cdef int noted
    cdef double lowest, highest # the least number within, and the largest one; or heads of the bounds
    cdef readonly object low, high
    cdef readonly bint low_open, high_open

    cdef object _bound(self, object low, object high, bint low_open, bint high_open)
    @cython.locals(known=int)
    cpdef bint holds(self, object value) except -1
    cdef bint is_found_exactly(self) except -1
    cpdef object span(self)


cdef extern from *:
    """
    /* The number that an int or a float is, exactly; 0 if it is none, or no double is the same. */
    static inline int exact_double(PyObject *number, double *is)
    {
        if (PyFloat_CheckExact(number)) {
            *is = PyFloat_AS_DOUBLE(number);
            return 1;
        }
        if (PyLong_CheckExact(number)) {
            int overflow;
            long long whole = PyLong_AsLongLongAndOverflow(number, &overflow);
            if (!overflow && whole >= -(1LL << 53) && whole <= (1LL << 53)) {
                *is = (double)whole;
                return 1;
            }
        }
        return 0;
    }

    /* A double for each number, in their order. Doubles that are no numbers, or infinite, are left out, and so is what
     * that leaves no room for: the largest are all one. */
    static inline double in_order(uint64_t number)
    {
        const uint64_t sign = 1ULL << 63, below = 1ULL << 52, most = 0ULL - 2 * below - 1;
        double is;
        number = (number < most ? number : most) + below;
        number = number & sign ? number ^ sign : ~number;
        memcpy(&is, &number, sizeof is);
        return is;
    }

    /* The first eight bytes of a text as UTF-8 has them (lone surrogates, too), or of bytes. Heads are in the order of
     * what they are of, but for equal ones. 0: it is neither, or of a subclass. */
    static inline int head_of(PyObject *text, double *head)
    {
        uint64_t bytes = 0;
        int count = 0;
        if (PyUnicode_CheckExact(text) && !PyUnicode_IS_COMPACT_ASCII(text)) {
            int kind = PyUnicode_KIND(text);
            const void *data = PyUnicode_DATA(text);
            Py_ssize_t length = PyUnicode_GET_LENGTH(text);
            for (Py_ssize_t i = 0; i < length && count < 8; i++) {
                Py_UCS4 c = PyUnicode_READ(kind, data, i);
                int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
                uint64_t first = more == 0 ? c : ((0xFF00u >> (more + 1)) & 0xFF) | (c >> (6 * more));
                bytes = bytes << 8 | first;
                count++;
                for (; more > 0 && count < 8; count++) {
                    more--;
                    bytes = bytes << 8 | 0x80 | ((c >> (6 * more)) & 0x3F);
                }
            }
        } else if (PyUnicode_CheckExact(text) || PyBytes_CheckExact(text)) {
            int is_text = PyUnicode_CheckExact(text);
            const unsigned char *data = is_text ? PyUnicode_DATA(text) : (const void *)PyBytes_AS_STRING(text);
            Py_ssize_t length = is_text ? PyUnicode_GET_LENGTH(text) : PyBytes_GET_SIZE(text);
        #if PY_LITTLE_ENDIAN
            if (length >= 8) {
                memcpy(&bytes, data, 8);
                bytes = __builtin_bswap64(bytes);
                count = 8;
            }
        #endif
            for (; count < 8 && count < length; count++) {
                bytes = bytes << 8 | data[count];
            }
        } else {
            return 0;
        }
        *head = in_order(count ? bytes << 8 * (8 - count) : 0);
        return 1;
    }
    """
    bint exact_double(PyObject *number, double *value) noexcept
    bint head_of(PyObject *text, double *head) noexcept


cdef inline bint outermost(object bound, bint is_open, double inwards, double *number) noexcept:
    # The outermost number within a bound: what an open bound leaves out lies one number further inwards.
    if bound is None:
        number[0] = -inwards
        return True
    if not exact_double(<PyObject *>bound, number) or (is_open and isinf(number[0])):
        return False
    if is_open:
        number[0] = nextafter(number[0], inwards)
    return True


cdef inline bint head(object bound, double without, double *number) noexcept:
    if bound is None:
        number[0] = without
        return True
    return head_of(<PyObject *>bound, number)


cdef inline void note_numbers(Within span) noexcept:
    span.noted = NOTHING_NOTED
    if span.low is None and span.high is None:
        return
    if outermost(span.low, span.low_open, INFINITY, &span.lowest):
        if outermost(span.high, span.high_open, -INFINITY, &span.highest):
            span.noted = BOUNDS
            return
    if head(span.low, -INFINITY, &span.lowest) and head(span.high, INFINITY, &span.highest):
        span.noted = HEADS


cdef inline int is_within_by_number(Within span, object value) noexcept:
    cdef double number
    if span.noted != BOUNDS or not exact_double(<PyObject *>value, &number):
        return -1
    return span.lowest <= number <= span.highest


cdef class Spanned(Criterion):
    cdef Within _span

    cpdef object span(self)


cdef class Prefix(Spanned):
    cdef readonly object prefix
    cdef readonly bint ignore_case

    cpdef bint holds(self, object value) except -1


cpdef Within texts_from(object name, object prefix)
cpdef str plain(object text)
@cython.locals(characters=str, whole=str)
cpdef str folded(object text)


cdef class Key(Criterion):
    cdef readonly object value

    cpdef bint holds(self, object value) except -1
    cpdef object values_filed(self)
