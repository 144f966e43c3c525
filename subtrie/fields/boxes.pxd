# C types for boxes.py, and the C bodies of what a search of a tree asks.
cimport cython
from cpython.object cimport PyObject
from libc.math cimport isnan
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from ctrie._machine cimport untrack_constant
from ctrie._native cimport Borrowed, PyTuple_GET_ITEM_PTR
from subtrie.fields.criteria cimport BOUNDS, BOXES, Criterion, NUMBERS, Within, exact_double, order_of
from subtrie.fields.tree cimport MOST, Tree, filled, first_at, with_key

cdef object Elements


cdef class Box(Criterion):
    cdef readonly Within one, other
    cdef uint64_t ordered[4]    # the bounds, as numbers in the same order that have no sign

    cpdef bint holds(self, object value) except -1
    cpdef bint met_by(self, dict message) except -1


cdef class Boxes(Tree):
    cdef double low, high, other_low, other_high    # around all of them
    cdef double lows[MOST]
    cdef double highs[MOST]
    cdef double other_lows[MOST]
    cdef double other_highs[MOST]


cdef struct Spot:
    double low, high, other_low, other_high
    bint is_exact


cdef extern from *:
    void prefetch "__builtin_prefetch" (const void *place) noexcept


cdef inline bint has_bounds(Within span) noexcept:
    return span.noted == BOUNDS


cdef inline double lowest_in(Within span) noexcept:
    return span.lowest


cdef inline double highest_in(Within span) noexcept:
    return span.highest


cdef inline uint64_t ordered_double(double bound) noexcept:
    cdef uint64_t bits
    bound += 0.0    # of the two zeros, the one without a sign
    memcpy(&bits, &bound, sizeof(bits))
    return ~bits if bits >> 63 else bits | (<uint64_t>1 << 63)


cdef inline void note_bounds(Box box) noexcept:
    box.ordered[0] = ordered_double(box.one.lowest)
    box.ordered[1] = ordered_double(box.one.highest)
    box.ordered[2] = ordered_double(box.other.lowest)
    box.ordered[3] = ordered_double(box.other.highest)


cdef inline int compare_boxes(Box a, Box b) noexcept:
    cdef uint64_t highest = 0, differs
    cdef int order = 0, i
    for i in range(4):
        differs = a.ordered[i] ^ b.ordered[i]
        if highest < differs and highest < (highest ^ differs):
            highest = differs
            order = -1 if a.ordered[i] < b.ordered[i] else 1
    return order


cdef inline void note_below(Boxes node) noexcept:
    cdef int i
    cdef PyObject *entry
    for i in range(node.size):
        if node.keys is not None:
            entry = PyTuple_GET_ITEM_PTR(<PyObject *>node.keys, i)
            node.lows[i], node.highs[i] = (<Box>entry).one.lowest, (<Box>entry).one.highest
            node.other_lows[i], node.other_highs[i] = (<Box>entry).other.lowest, (<Box>entry).other.highest
        else:
            entry = node.entries[i]
            node.lows[i], node.highs[i] = (<Boxes>entry).low, (<Boxes>entry).high
            node.other_lows[i], node.other_highs[i] = (<Boxes>entry).other_low, (<Boxes>entry).other_high
        if i == 0:
            node.low, node.high = node.lows[0], node.highs[0]
            node.other_low, node.other_high = node.other_lows[0], node.other_highs[0]
        node.low = min(node.low, node.lows[i])
        node.high = max(node.high, node.highs[i])
        node.other_low = min(node.other_low, node.other_lows[i])
        node.other_high = max(node.other_high, node.other_highs[i])


cdef inline bint is_around(Borrowed node, Py_ssize_t i, const Spot *spot) noexcept:
    return (
        (<Boxes>node).lows[i] <= spot.high and spot.low <= (<Boxes>node).highs[i]
        and (<Boxes>node).other_lows[i] <= spot.other_high and spot.other_low <= (<Boxes>node).other_highs[i]
    )


cdef inline tuple bounds_of(Boxes node):
    return node.low, node.high, node.other_low, node.other_high


cdef inline void prefetch_boxes(Borrowed node) noexcept:
    prefetch(node)
    prefetch(&(<Boxes>node).lows[0])
    prefetch(&(<Boxes>node).highs[0])
    prefetch(&(<Boxes>node).other_lows[0])
    prefetch(&(<Boxes>node).other_highs[0])
    prefetch(&(<Boxes>node).entries[0])


cdef inline bint spot_on(Spot *spot, object value, object other) except -1:
    if exact_double(<PyObject *>value, &spot.low) and exact_double(<PyObject *>other, &spot.other_low):
        spot.high, spot.other_high = spot.low, spot.other_low
        spot.is_exact = True
        return not isnan(spot.low) and not isnan(spot.other_low)
    one, second = bracket_of(value), bracket_of(other)
    if one is None or second is None:
        return False
    spot.low, spot.high = one
    spot.other_low, spot.other_high = second
    spot.is_exact = spot.low == spot.high and spot.other_low == spot.other_high
    return True


cpdef Box box_among(object criteria)
cpdef object bracket_of(object value)
cdef Tree with_box(Tree tree, Box box, object filed)
