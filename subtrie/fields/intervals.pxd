# C types for intervals.py, and the C bodies of what a search of a tree asks.
cimport cython
from cpython.object cimport PyObject
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t

from ctrie._native cimport Borrowed, PyTuple_GET_ITEM_PTR, Py_None, borrow
from subtrie._trie.match.walk cimport lowest_bit
from subtrie.fields.comparing cimport LESS, UP_TO, compared, compared_there
from subtrie.fields.criteria cimport BOUNDS, HEADS, NOTHING_NOTED, Within, exact_double, head_of
from subtrie.fields.maps cimport crowd_size
from subtrie.fields.tree cimport MOST, Tree, below_at, filled, first_at, is_leaf, with_key


cdef class Ranges(Tree):
    cdef int noted              # what the numbers say that are noted of all ranges at and below the node (criteria.pxd)
    cdef double lowest, highest
    cdef readonly Within reach
    cdef double lows[MOST]      # of each entry the least number that is not below it, and the largest not above it, or heads
    cdef double highs[MOST]


cdef struct Point:              # a value to search for
    PyObject *value
    double number
    int noted                   # what the number says: BOUNDS, that it is the value


cdef extern from *:
    """
    #ifdef __SSE2__
    #include <emmintrin.h>
    #endif
    /* Which of 16 pairs are around a number, a bit for each. All are compared: a loop that ends early is guessed wrong
     * where it ends, which takes longer. */
    static inline uint32_t pairs_around(const double *lows, const double *highs, double number)
    {
        uint32_t found = 0;
    #ifdef __SSE2__
        const __m128d both = _mm_set1_pd(number);
        #pragma GCC unroll 8
        for (int i = 0; i < 16; i += 2) {
            __m128d low = _mm_cmple_pd(_mm_loadu_pd(lows + i), both), high = _mm_cmple_pd(both, _mm_loadu_pd(highs + i));
            found |= (uint32_t)_mm_movemask_pd(_mm_and_pd(low, high)) << i;
        }
    #else
        for (int i = 0; i < 16; i++) {
            found |= (uint32_t)((lows[i] <= number) & (number <= highs[i])) << i;
        }
    #endif
        return found;
    }
    """
    uint32_t pairs_around(const double *lows, const double *highs, double number) noexcept
    void prefetch "__builtin_prefetch" (const void *place) noexcept


cdef inline void note_numbers(Ranges node) noexcept:
    cdef Py_ssize_t i
    cdef PyObject *entry
    cdef int known, noted = NOTHING_NOTED
    node.noted = NOTHING_NOTED
    for i in range(node.size, MOST):    # around no number
        node.lows[i], node.highs[i] = INFINITY, -INFINITY
    for i in range(node.size):
        if node.keys is not None:
            entry = PyTuple_GET_ITEM_PTR(<PyObject *>node.keys, i)
            known = (<Within>entry).noted
            node.lows[i], node.highs[i] = (<Within>entry).lowest, (<Within>entry).highest
        else:
            entry = node.entries[i]
            known = (<Ranges>entry).noted
            node.lows[i], node.highs[i] = (<Ranges>entry).lowest, (<Ranges>entry).highest
        if i > 0 and known != noted:
            return
        noted = known
    node.lowest, node.highest = node.lows[0], node.reach.highest
    node.noted = noted


cdef inline int sign(double one, double other) noexcept:
    return (one > other) - (one < other)


cdef inline int order_by_number(Ranges node, Py_ssize_t i, Within span) noexcept:
    return sign(node.lows[i], span.lowest) if node.noted and node.noted == span.noted else 0


cdef inline int order_of_starts(Within a, Within b) noexcept:
    return sign(a.lowest, b.lowest) if a.noted and a.noted == b.noted else 0


cdef inline int order_of_ends(Within a, Within b) noexcept:
    return sign(a.highest, b.highest) if a.noted and a.noted == b.noted else 0


cdef inline Point point_at(object value) noexcept:
    cdef Point point
    point.number = 0
    point.value = <PyObject *>value
    if exact_double(point.value, &point.number):
        point.noted = BOUNDS
    else:
        point.noted = HEADS if head_of(point.value, &point.number) else NOTHING_NOTED
    return point


cdef inline void prefetch_node(Borrowed node) noexcept:
    prefetch(node)
    prefetch(&(<Ranges>node).lows[0])
    prefetch(&(<Ranges>node).lows[MOST - 1])
    prefetch(&(<Ranges>node).highs[MOST - 1])
    prefetch(&(<Ranges>node).entries[MOST - 1])


cdef inline uint32_t entries_around(Borrowed node, const Point *point) except? 0xFFFFFFFF:
    cdef const double *lows = (<Ranges>node).lows
    cdef const double *highs = (<Ranges>node).highs
    cdef uint32_t found, left
    cdef int i = 0
    if not point.noted or point.noted != (<Ranges>node).noted:
        found = 0
        while i < (<Ranges>node).size and begins_at(node, i, point):
            if lasts_at(node, i, point):
                found |= <uint32_t>1 << i
            i += 1
        return found
    found = pairs_around(lows, highs, point.number)
    if point.noted == BOUNDS:
        return found
    left = found
    while left:     # the same heads tell nothing
        i = lowest_bit(left)
        left &= left - 1
        if lows[i] == point.number and not begins_at(node, i, point):
            return found & ((<uint32_t>1 << i) - 1)     # and no later one begins
        if highs[i] == point.number and not lasts_at(node, i, point):
            found &= ~(<uint32_t>1 << i)
    return found


cdef inline bint begins_at(Borrowed node, Py_ssize_t i, const Point *point) except -1:
    if is_leaf(node):
        return begins_by(PyTuple_GET_ITEM_PTR(<PyObject *>(<Ranges>node).keys, i), point.value)
    return begins_by(<PyObject *>(<Ranges>below_at(node, i)).first, point.value)


cdef inline bint lasts_at(Borrowed node, Py_ssize_t i, const Point *point) except -1:
    if is_leaf(node):
        return lasts_to(PyTuple_GET_ITEM_PTR(<PyObject *>(<Ranges>node).keys, i), point.value)
    return lasts_to(<PyObject *>(<Ranges>below_at(node, i)).reach, point.value)


cdef inline bint begins_by(Borrowed span, PyObject *value) except -1:
    cdef PyObject *low = <PyObject *>(<Within>span).low
    return low == Py_None or compared_there(low, value, LESS if (<Within>span).low_open else UP_TO)


cdef inline bint lasts_to(Borrowed span, PyObject *value) except -1:
    cdef PyObject *high = <PyObject *>(<Within>span).high
    return high == Py_None or compared_there(value, high, LESS if (<Within>span).high_open else UP_TO)


@cython.locals(child=Ranges, span=Within)
cdef Within _reach_at(Ranges node, Py_ssize_t i)
@cython.locals(reach=Within, i=Py_ssize_t)
cdef Within _reach_of(Ranges node)
cdef int _by_low(Within a, Within b) except -2
@cython.locals(known=int)
cdef int _by_high(Within a, Within b) except -2
@cython.locals(by_low=int)
cdef int _compare(Within a, Within b) except -2
cdef Within _higher(Within a, Within b)
cdef Tree with_range(Tree tree, Within span, object filed)
@cython.locals(point=Point)
cdef Py_ssize_t crowd_around(Tree tree, object value, Py_ssize_t most) except -1
@cython.locals(crowd=Py_ssize_t, i=int, found=uint32_t)
cdef Py_ssize_t _crowd_around(Borrowed node, const Point *point, Py_ssize_t most) except -1
cdef Within highest_of(list spans)
