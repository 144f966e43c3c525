"""Ranges of one order, by their bounds: an immutable interval tree that a change copies in part.

A balanced search tree of ranges, by the low end and then the high one. Each node also knows, of all the ranges at and
below it, the one that reaches highest, so that of a search for the ranges around a value, a subtree that ends too
early is left out, and so is one that begins too late:

                 [3, 9]  reaches 20             4 lies within [3, 9] and [2, 20]:
                /      \\                         [5, 7] begins too late, [1, 2] ends too early
       [2, 20] 20      [5, 7] 7
       /
   [1, 2] 2

Balance is by weight: neither side of a node is more than three times as heavy as the other (Adams, "Efficient sets: a
balancing act", 1993; the factors are those of Hirai and Yamamoto, "Balancing weight-balanced trees", 2011). To change
a range copies the O(log n) nodes above it. k ranges around a value are found in O(k log n), O(log n) where k is 0.

Compiled nodes have their bounds once more, as C numbers, if these are exactly what they are; then a search, which looks
at O(log n) nodes that are in no cache, needs not look at the bounds as well.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

import itertools
from collections.abc import Iterator
from typing import Any

if not cython.compiled:
    from ctrie._arrays import settle
    from subtrie._trie.subscribers import set_size
    from subtrie.fields.criteria import Within
else:
    from cython.cimports.ctrie._arrays import settle
    from cython.cimports.subtrie._trie.subscribers import set_size
    from cython.cimports.subtrie.fields.criteria import Within

if not cython.compiled:

    def note_numbers(node: Ranges) -> None:
        """For the compiled twin, whose body is in intervals.pxd."""


_HEAVIER = 3  # one side may weigh so many times what the other does; a weight is a size and one more
_OUTER = 2  # a single rotation does, unless the inner grandchild weighs so many times what the outer one does


class Ranges:
    """A node: a range, what is filed under it, and the nodes with lower and higher ones."""

    __slots__ = ("filed", "left", "reach", "right", "size", "span")
    span: Within
    filed: Any
    left: Ranges | None
    right: Ranges | None
    reach: Within  # of the ranges at and below this node, one that reaches highest
    size: int


def _size(node: Ranges | None) -> int:
    return 0 if node is None else node.size


def _node(span: Within, filed: Any, left: Ranges | None, right: Ranges | None) -> Ranges:
    node: Ranges = Ranges.__new__(Ranges)
    node.span = span
    node.filed = filed
    node.left = left
    node.right = right
    node.size = _size(left) + _size(right) + 1
    reach = span
    if left is not None and _by_high(reach, left.reach) < 0:
        reach = left.reach
    if right is not None and _by_high(reach, right.reach) < 0:
        reach = right.reach
    node.reach = reach
    note_numbers(node)
    settle(node)
    return node


# -------------------------------------------------------------------------------------------------------------- bounds


def _by_low(a: Within, b: Within) -> int:
    """Compare where two ranges begin: below 0 if a begins first."""
    if a.low is None or b.low is None:
        return (a.low is not None) - (b.low is not None)
    if a.low < b.low:
        return -1
    return 1 if b.low < a.low else a.low_open - b.low_open


def _by_high(a: Within, b: Within) -> int:
    """Compare where two ranges end: below 0 if a ends first."""
    if a.high is None or b.high is None:
        return (a.high is None) - (b.high is None)
    if a.high < b.high:
        return -1
    return 1 if b.high < a.high else b.high_open - a.high_open


def _compare(a: Within, b: Within) -> int:
    by_low = _by_low(a, b)
    return by_low if by_low else _by_high(a, b)


def begins_by(span: Within, value: Any) -> bool:
    """Tell whether a range begins no later than a value of its order."""
    if span.low is None:
        return True
    return bool(span.low < value) if span.low_open else bool(span.low <= value)


def lasts_to(span: Within, value: Any) -> bool:
    """Tell whether a range ends no earlier than a value of its order."""
    if span.high is None:
        return True
    return bool(value < span.high) if span.high_open else bool(value <= span.high)


# ------------------------------------------------------------------------------------------------------------- changes


def filed_at(node: Ranges | None, span: Within) -> Any:
    """Return what is filed under this very range, None if nothing is. O(log n)."""
    while node is not None:
        side = _compare(span, node.span)
        if side == 0:
            return node.filed
        node = node.left if side < 0 else node.right
    return None


def with_range(node: Ranges | None, span: Within, filed: Any) -> Ranges:
    """Return the tree with `filed` under the range, whatever was there. O(log n)."""
    if node is None:
        return _node(span, filed, None, None)
    side = _compare(span, node.span)
    if side == 0:
        return _node(node.span, filed, node.left, node.right)
    if side < 0:
        return _balanced(node, with_range(node.left, span, filed), node.right)
    return _balanced(node, node.left, with_range(node.right, span, filed))


def without_range(node: Ranges, span: Within) -> Ranges | None:
    """Return the tree without the range, which it has; None if that was the last one. O(log n)."""
    side = _compare(span, node.span)
    if side < 0:
        return _balanced(node, without_range(_there(node.left), span), node.right)
    if side > 0:
        return _balanced(node, node.left, without_range(_there(node.right), span))
    if node.left is None or node.right is None:
        return node.right if node.left is None else node.left
    first = _first(node.right)
    return _balanced(first, node.left, without_range(node.right, first.span))


def _there(node: Ranges | None) -> Ranges:
    assert node is not None, "the range was found in this tree"
    return node


def _first(node: Ranges) -> Ranges:
    while node.left is not None:
        node = node.left
    return node


def _balanced(node: Ranges, left: Ranges | None, right: Ranges | None) -> Ranges:
    """Return a node of `node`'s range with these sides, one of which has changed by one range; rotated if need be."""
    if _is_too_heavy(right, left):
        inner = _there(right)
        if _size(inner.left) + 1 < _OUTER * (_size(inner.right) + 1):
            return _node(inner.span, inner.filed, _node(node.span, node.filed, left, inner.left), inner.right)
        top = _there(inner.left)
        return _node(
            top.span,
            top.filed,
            _node(node.span, node.filed, left, top.left),
            _node(inner.span, inner.filed, top.right, inner.right),
        )
    if _is_too_heavy(left, right):
        inner = _there(left)
        if _size(inner.right) + 1 < _OUTER * (_size(inner.left) + 1):
            return _node(inner.span, inner.filed, inner.left, _node(node.span, node.filed, inner.right, right))
        top = _there(inner.right)
        return _node(
            top.span,
            top.filed,
            _node(inner.span, inner.filed, inner.left, top.left),
            _node(node.span, node.filed, top.right, right),
        )
    return _node(node.span, node.filed, left, right)


def _is_too_heavy(one: Ranges | None, other: Ranges | None) -> bool:
    return _size(one) + 1 > _HEAVIER * (_size(other) + 1)


# ------------------------------------------------------------------------------------------------------------- queries


def crowd_around(node: Ranges | None, value: Any, most: int) -> int:
    """Return how much is filed under the ranges around the value, but stop once it is `most` or more."""
    crowd = 0
    while node is not None and crowd < most:
        if not lasts_to(node.reach, value):
            break
        if node.left is not None:
            crowd += crowd_around(node.left, value, most - crowd)
        if not begins_by(node.span, value):
            break
        if lasts_to(node.span, value):
            crowd += set_size(node.filed)
        node = node.right
    return crowd


def all_filed(node: Ranges | None) -> Iterator[tuple[Within, Any]]:
    """Yield every range with what is filed under it, in order."""
    if node is not None:
        yield from all_filed(node.left)
        yield node.span, node.filed
        yield from all_filed(node.right)


def check_ranges(node: Ranges | None) -> None:
    """Raise AssertionError if the tree is ill-formed."""
    spans = [span for span, _ in all_filed(node)]
    for one, other in itertools.pairwise(spans):
        assert _compare(one, other) < 0, f"{one!r} before {other!r}"
    _check_node(node)


def _check_node(node: Ranges | None) -> None:
    if node is None:
        return
    _check_node(node.left)
    _check_node(node.right)
    assert node.size == _size(node.left) + _size(node.right) + 1, f"size {node.size} at {node.span!r}"
    light, heavy = sorted((_size(node.left) + 1, _size(node.right) + 1))
    assert heavy <= 3 * light, f"out of balance at {node.span!r}"
    assert _by_high(node.reach, max_reach(node)) == 0, f"wrong reach at {node.span!r}"
    assert set_size(node.filed) > 0, f"nothing at {node.span!r}"


def max_reach(node: Ranges) -> Within:
    """Return the range at and below a node that reaches highest, by looking at all. O(n)."""
    highest = node.span
    for span, _ in all_filed(node):
        if _by_high(highest, span) < 0:
            highest = span
    return highest
