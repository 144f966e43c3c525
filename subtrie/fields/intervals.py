# distutils: extra_compile_args = SMALL
"""Ranges of one order, by their bounds: an interval tree.

A B+-tree (tree.py) of ranges, by the low end and then the high one. A node knows its first range, and the one of all
ranges at and below it that reaches highest. So a search for the ranges around a value leaves out each node that ends
too early, and from the first entry on that begins too late it leaves out the rest:

              [1, 2] to 20 | [5, 7] to 9              4 lies within [2, 20] and [3, 9]:
              /                    \\                  the second leaf begins too late
    [1, 2] [2, 20] [3, 9]     [5, 7] [6, 9]           [1, 2] ends too early

k ranges around a value are found in O(k log n), and in O(log n) where k is 0.

A compiled node has its bounds once more, as C numbers side by side, if these are exactly what the bounds are. A search
for a number then looks at no range. Of texts and bytes, the numbers are their first bytes; a search looks at those
ranges only whose first bytes are those of the value.
"""

# ruff: noqa: D102 - the methods are those of Tree, and are explained there

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._slot import borrow
    from subtrie._trie.match.walk import lowest_bit
    from subtrie.fields.comparing import LESS, UP_TO, compared
    from subtrie.fields.criteria import Within
    from subtrie.fields.maps import crowd_size
    from subtrie.fields.tree import Tree, below_at, filled, first_at, is_leaf, with_key
else:
    from cython import address


class Ranges(Tree):
    """A node of ranges."""

    __slots__ = ("reach",)
    reach: Within  # of the ranges at and below this node, one that reaches highest

    def blank(self) -> Tree:
        return Ranges.__new__(Ranges)

    def order_at(self, i: int, key: object) -> int:
        by_number = order_by_number(self, i, cython.cast(Within, key))
        return by_number if by_number else _compare(first_at(self, i), cython.cast(Within, key))

    def note(self, before: Tree | None, key: object) -> None:
        if before is None:
            self.reach = _reach_of(self)
        else:
            self.reach = _higher(cython.cast(Ranges, before).reach, cython.cast(Within, key))
        note_numbers(self)

    def check_noted(self, keys: list[Any]) -> None:
        assert _by_high(self.reach, highest_of(keys)) == 0, f"wrong reach at {self.first!r}"


if not cython.compiled:  # the C bodies are in intervals.pxd

    def address(thing: Any) -> Any:
        """Return what C would point to."""
        return thing

    def note_numbers(node: Ranges) -> None:
        """Write down the bounds as numbers. For the compiled twin."""

    def order_by_number(node: Ranges, i: int, span: Within) -> int:
        """Compare where an entry begins and where a range does, by numbers. 0: they cannot tell, as always here."""
        return 0

    def order_of_starts(a: Within, b: Within) -> int:
        """Compare where two ranges begin, by numbers. 0: they cannot tell, as always here."""
        return 0

    def order_of_ends(a: Within, b: Within) -> int:
        """Compare where two ranges end, by numbers. 0: they cannot tell, as always here."""
        return 0

    def point_at(value: Any) -> Any:
        """Return a value to search for; in the compiled twin together with the number that it is."""
        return value

    def prefetch_node(node: Ranges) -> None:
        """Have a node's bounds fetched into the processor's caches. For the compiled twin."""

    def entries_around(node: Ranges, point: Any) -> int:
        """Return the entries whose ranges, those below them, may be around a value of the tree's order, a bit for each:
        they begin no later and end no earlier."""
        found = i = 0
        while i < len(node.below) and _begins_at(node, i, point):
            if _lasts_at(node, i, point):
                found |= 1 << i
            i += 1
        return found

    def _begins_at(node: Ranges, i: int, point: Any) -> bool:
        span = first_at(node, i)
        return span.low is None or compared(span.low, point, LESS if span.low_open else UP_TO)

    def _lasts_at(node: Ranges, i: int, point: Any) -> bool:
        span = _reach_at(node, i)
        return span.high is None or compared(point, span.high, LESS if span.high_open else UP_TO)


def _reach_at(node: Ranges, i: int) -> Within:
    """Return the range of an entry that reaches highest."""
    if node.keys is not None:
        span: Within = node.keys[i]
        return span
    child: Ranges = node.below[i]
    return child.reach


def _reach_of(node: Ranges) -> Within:
    reach = _reach_at(node, 0)
    for i in range(1, len(node.below)):
        reach = _higher(reach, _reach_at(node, i))
    return reach


# -------------------------------------------------------------------------------------------------------------- bounds


def _by_low(a: Within, b: Within) -> int:
    """Compare where two ranges begin: below 0 if a begins first."""
    if a.low is None or b.low is None:
        return (a.low is not None) - (b.low is not None)
    if compared(a.low, b.low, LESS):
        return -1
    return 1 if compared(b.low, a.low, LESS) else a.low_open - b.low_open


def _by_high(a: Within, b: Within) -> int:
    """Compare where two ranges end: below 0 if a ends first."""
    known = order_of_ends(a, b)
    if known:
        return known
    if a.high is None or b.high is None:
        return (a.high is None) - (b.high is None)
    if compared(a.high, b.high, LESS):
        return -1
    return 1 if compared(b.high, a.high, LESS) else b.high_open - a.high_open


def _compare(a: Within, b: Within) -> int:
    by_low = order_of_starts(a, b)
    if by_low == 0:
        by_low = _by_low(a, b)
    return by_low if by_low else _by_high(a, b)


def _higher(a: Within, b: Within) -> Within:
    """Return the range that reaches higher."""
    return b if _by_high(a, b) < 0 else a


# -------------------------------------------------------------------------------------------------- changes and queries


def with_range(tree: Tree | None, span: Within, filed: Any) -> Tree:
    """Return the tree with `filed` under the range, whatever was there. O(log n)."""
    if tree is None:
        return filled(Ranges.__new__(Ranges), (span,), (filed,), None, None)
    return with_key(tree, span, filed)


def crowd_around(tree: Tree | None, value: Any, most: int) -> int:
    """Return how much is filed under the ranges around the value, but stop once it is `most` or more."""
    if tree is None:
        return 0
    point = point_at(value)
    return _crowd_around(borrow(tree), address(point), most)


def _crowd_around(node: Any, point: Any, most: int) -> int:
    crowd = 0
    found = entries_around(node, point)
    while found and crowd < most:
        i = lowest_bit(found)
        found &= found - 1
        if is_leaf(node):
            crowd += crowd_size(cython.cast(object, below_at(node, i)))
        else:
            crowd += _crowd_around(below_at(node, i), point, most - crowd)
    return crowd


def highest_of(spans: list[Within]) -> Within:
    """Return the range that reaches highest, by looking at the bounds of all. O(n)."""
    if not spans:
        raise ValueError("no spans")
    highest = spans[0]
    for span in spans:
        if _by_high(highest, span) < 0:
            highest = span
    return highest
