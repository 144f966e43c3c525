# C types for intervals.py, and the C bodies of what a search of a tree asks.
cimport cython
from cpython.object cimport Py_GE, Py_GT, Py_LE, Py_LT, PyObject
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t

from ctrie._machine cimport inserted, removed, replaced, untrack_constant
from ctrie._native cimport Borrowed, PyTuple_GET_ITEM_PTR, Py_None, borrow
from subtrie._trie.match.walk cimport lowest_bit
from subtrie.fields.criteria cimport BOUNDS, HEADS, NOTHING_NOTED, Within, exact_double, head_of
from subtrie.fields.maps cimport crowd_size

cdef enum:
    MOST = 16       # entries of a node
cdef int LEAST


cdef class Ranges:
    cdef int size               # the number of entries
    cdef int noted              # what the numbers say that are noted of all ranges at and below the node (criteria.pxd)
    cdef double lowest, highest
    cdef readonly tuple below
    cdef readonly tuple spans
    cdef readonly Within first
    cdef readonly Within reach
    cdef double lows[MOST]      # of each entry the least number that is not below it, and the largest not above it, or heads
    cdef double highs[MOST]
    cdef PyObject *entries[MOST]    # what `below` holds, one step nearer


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
    int RichCompareBool "PyObject_RichCompareBool" (PyObject *one, PyObject *other, int how) except -1


cdef inline void note_entries(Ranges node) noexcept:
    cdef Py_ssize_t i
    cdef PyObject *entry
    cdef int known, noted = NOTHING_NOTED
    node.size = len(node.below)
    node.noted = NOTHING_NOTED
    for i in range(node.size, MOST):    # around no number
        node.lows[i], node.highs[i] = INFINITY, -INFINITY
    for i in range(node.size):
        node.entries[i] = PyTuple_GET_ITEM_PTR(<PyObject *>node.below, i)
    for i in range(node.size):
        if node.spans is not None:
            entry = PyTuple_GET_ITEM_PTR(<PyObject *>node.spans, i)
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


cdef inline bint is_leaf(Borrowed node) noexcept:
    return <PyObject *>(<Ranges>node).spans != Py_None


cdef inline Borrowed below_at(Borrowed node, Py_ssize_t i) noexcept:
    return (<Ranges>node).entries[i]


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
        return begins_by(PyTuple_GET_ITEM_PTR(<PyObject *>(<Ranges>node).spans, i), point.value)
    return begins_by(<PyObject *>(<Ranges>below_at(node, i)).first, point.value)


cdef inline bint lasts_at(Borrowed node, Py_ssize_t i, const Point *point) except -1:
    if is_leaf(node):
        return lasts_to(PyTuple_GET_ITEM_PTR(<PyObject *>(<Ranges>node).spans, i), point.value)
    return lasts_to(<PyObject *>(<Ranges>below_at(node, i)).reach, point.value)


cdef inline bint begins_by(Borrowed span, PyObject *value) except -1:
    cdef PyObject *low = <PyObject *>(<Within>span).low
    return low == Py_None or RichCompareBool(low, value, Py_LT if (<Within>span).low_open else Py_LE)


cdef inline bint lasts_to(Borrowed span, PyObject *value) except -1:
    cdef PyObject *high = <PyObject *>(<Within>span).high
    return high == Py_None or RichCompareBool(high, value, Py_GT if (<Within>span).high_open else Py_GE)


@cython.locals(node=Ranges)
cdef Ranges _node(tuple spans, tuple below, Within reach)
@cython.locals(child=Ranges)
cdef Within _first_at(Ranges node, Py_ssize_t i)
@cython.locals(child=Ranges)
cdef Within _reach_at(Ranges node, Py_ssize_t i)
@cython.locals(reach=Within, i=Py_ssize_t)
cdef Within _reach_of(Ranges node)
cdef int _by_low(Within a, Within b) except -2
@cython.locals(known=int)
cdef int _by_high(Within a, Within b) except -2
@cython.locals(by_low=int)
cdef int _compare(Within a, Within b) except -2
cdef Within _higher(Within a, Within b)
@cython.locals(i=Py_ssize_t, node=Ranges)
cpdef object filed_at(Ranges tree, Within span)
@cython.locals(low=Py_ssize_t, high=Py_ssize_t, middle=Py_ssize_t, side=int)
cdef Py_ssize_t _place_of(Ranges node, Within span) except -2
@cython.locals(nodes=tuple)
cpdef Ranges with_range(Ranges tree, Within span, object filed)
@cython.locals(i=Py_ssize_t, spans=tuple, below=tuple)
cdef tuple _with(Ranges node, Within span, object filed)
@cython.locals(half=Py_ssize_t)
cdef tuple _nodes(tuple spans, tuple below, Within reach)
cdef tuple exchanged(tuple below, Py_ssize_t i, tuple nodes)
@cython.locals(left=Ranges, only=Ranges)
cpdef Ranges without_range(Ranges tree, Within span)
@cython.locals(i=Py_ssize_t, before=Py_ssize_t, child=Ranges, joined=tuple)
cdef Ranges _without(Ranges node, Within span)
@cython.locals(spans=tuple)
cdef tuple _joined(Ranges one, Ranges other)
@cython.locals(point=Point)
cpdef Py_ssize_t crowd_around(Ranges tree, object value, Py_ssize_t most) except -1
@cython.locals(crowd=Py_ssize_t, i=int, found=uint32_t)
cdef Py_ssize_t _crowd_around(Borrowed node, const Point *point, Py_ssize_t most) except -1
@cython.locals(node=Ranges)
cdef object _check_node(Ranges node)
cdef Within highest_of(list spans)
