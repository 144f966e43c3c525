# distutils: extra_compile_args = SMALL
"""Two ranges at once: a tree of boxes, for subscriptions that ask for ranges of numbers on two fields.

A range alone is found with all that begin and end around the same value, of which the other field leaves few. So two
ranges of a subscription are filed as one *box*, by both fields:

    Within("price", 10, 20), Within("size", 1, 5)        other field
                                                            ^   +------+
    A message is a point, and the search looks for          |   |    x |
    the boxes around it.                                    |   +------+
                                                            +-------------> one field

The tree is a B+-tree (tree.py) of boxes, in the order of a curve that keeps near what is near (the Z-order of their
four bounds). Each node knows the bounds of what is below it, and a search leaves out a node that does not reach around
the point. Where boxes are small that is O(log n) for each one found.

Bounds are doubles: a box is made of ranges whose bounds are exactly that. A value of a message that is no double, or
that stands in a list, is looked for with all that it may be, and then asked itself.
"""

# ruff: noqa: D102 - the methods of a criterion are explained in Criterion, those of a tree in Tree

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import untrack_constant
    from subtrie.fields.criteria import BOXES, NUMBERS, Criterion, Within, order_of
    from subtrie.fields.tree import Tree, filled, first_at, with_key

from subtrie.fields.events import Elements

if not cython.compiled:  # the C bodies are in boxes.pxd

    def has_bounds(span: Within) -> bool:
        """Return whether a range is one of doubles."""
        bounds = [bound for bound in (span.low, span.high) if bound is not None]
        return bool(bounds) and all(_is_double(bound) for bound in bounds)

    def _is_double(bound: Any) -> bool:
        if type(bound) is int:
            return -(2**53) <= bound <= 2**53
        return type(bound) is float and math.isfinite(bound)

    def lowest_in(span: Within) -> float:
        """Return the least double within a range."""
        if span.low is None:
            return -math.inf
        return math.nextafter(span.low, math.inf) if span.low_open else float(span.low)

    def highest_in(span: Within) -> float:
        """Return the largest double within a range."""
        if span.high is None:
            return math.inf
        return math.nextafter(span.high, -math.inf) if span.high_open else float(span.high)

    def note_bounds(box: Any) -> None:
        """Write down the four bounds, and as numbers in the same order that have no sign."""
        box.bounds = (
            *(lowest_in(box.one), highest_in(box.one)),
            *(lowest_in(box.other), highest_in(box.other)),
        )
        box.ordered = tuple([_ordered(bound) for bound in box.bounds])

    def _ordered(bound: float) -> int:
        (bits,) = struct.unpack("<Q", struct.pack("<d", bound + 0.0))
        return bits ^ (2**64 - 1 if bits >> 63 else 1 << 63)  # type: ignore[no-any-return]

    def compare_boxes(a: Any, b: Any) -> int:
        """Compare where two boxes stand in the order: by the bound that differs in the highest bit."""
        highest = 0
        order = 0
        for one, other in zip(a.ordered, b.ordered, strict=True):
            differs = one ^ other
            if highest < differs and highest < highest ^ differs:
                highest = differs
                order = -1 if one < other else 1
        return order

    def note_below(node: Any) -> None:
        """Write down the bounds of the entries, and of all of them."""
        node.each = tuple([entry.bounds for entry in (node.below if node.keys is None else node.keys)])
        first_low, first_high, other_low, other_high = zip(*node.each, strict=True)
        node.bounds = (min(first_low), max(first_high), min(other_low), max(other_high))

    def is_around(node: Any, i: int, point: Any) -> bool:
        """Return whether an entry, with all below it, may be around a point."""
        low, high, other_low, other_high = node.each[i]
        return bool(
            low <= point.high and point.low <= high and other_low <= point.other_high and point.other_low <= other_high
        )

    def bounds_of(node: Any) -> tuple[float, ...]:
        """Return the bounds that a node has written down."""
        return tuple(node.bounds)

    def prefetch_boxes(node: Any) -> None:
        """Have a node's bounds fetched into the processor's caches. For the compiled twin."""


class Box(Criterion):
    """Both of two ranges hold, each on another field. Made where a subscription is filed; users do not see it."""

    __slots__ = ("bounds", "one", "ordered", "other")
    one: Within
    other: Within

    def __init__(self, one: Within, other: Within) -> None:
        self.name = one.name
        self.one = one
        self.other = other
        self.place = BOXES
        note_bounds(self)

    def holds(self, value: Any) -> bool:
        raise AssertionError("nobody asks this: it is about two values")

    def met_by(self, message: dict[Any, Any]) -> bool:
        if self.place != BOXES:
            raise TypeError("a box that only `__new__` has made")
        return self.one.met_by(message) and self.other.met_by(message)

    def arguments(self) -> tuple[Any, ...]:
        return self.one, self.other


def box_among(criteria: Iterable[Any]) -> Box | None:
    """Return a box of two of these criteria, None if they have no two ranges of doubles on different fields. A range
    with two ends comes before one with one."""
    best: dict[Any, Within] = {}
    for criterion in criteria:
        if type(criterion) is Within and has_bounds(criterion):  # a user's subclass may hold for what it likes
            best.setdefault(criterion.name, criterion)
    if len(best) < 2:
        return None
    chosen = sorted(best.values(), key=_ends_and_name)[:2]
    one, other = sorted(chosen, key=_name)
    box = Box(one, other)
    untrack_constant(box)
    return box


def _ends_and_name(span: Within) -> Any:
    return span.low is None or span.high is None, span.name


def _name(span: Within) -> Any:
    return span.name


# ---------------------------------------------------------------------------------------------------------------- tree


class Boxes(Tree):
    """A node of boxes."""

    __slots__ = ("bounds", "each")

    def blank(self) -> Tree:
        return Boxes.__new__(Boxes)

    def order_at(self, i: int, key: object) -> int:
        return compare_boxes(cython.cast(Box, first_at(self, i)), cython.cast(Box, key))

    def note(self, before: Tree | None, key: object) -> None:
        note_below(self)

    def check_noted(self, keys: list[Any]) -> None:
        around = bounds_around(keys)
        assert bounds_of(self) == around, f"{bounds_of(self)} at {self.first!r}, not {around}"


def with_box(tree: Tree | None, box: Box, filed: Any) -> Tree:
    """Return the tree with `filed` under the box, whatever was there. O(log n)."""
    if tree is None:
        return filled(Boxes.__new__(Boxes), (box,), (filed,), None, None)
    return with_key(tree, box, filed)


# ------------------------------------------------------------------------------------------------------------- queries


def bracket_of(value: Any) -> tuple[float, float] | None:
    """Return doubles around a value of a message: the same twice if it is one. None for what no range of numbers holds
    for."""
    if type(value) is Elements:
        found = [bracket for bracket in map(bracket_of, value) if bracket is not None]
        if not found:
            return None
        # Never as if it were one: whether a range holds for one of them is asked.
        low, high = min([low for low, _ in found]), max([high for _, high in found])
        return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    if type(value) is float:
        return None if value != value else (value, value)
    if order_of(value) != NUMBERS:
        return None
    if type(value) not in (int, bool, Decimal, Fraction):
        return -math.inf, math.inf  # a number of another library: nobody knows what it says of itself
    near, is_far = 0.0, False
    try:
        near = float(value)
    except OverflowError:
        is_far = True
    if is_far:
        return -math.inf, math.inf
    if type(value) is int and -(2**53) <= value <= 2**53:
        return near, near
    return math.nextafter(near, -math.inf), math.nextafter(near, math.inf)


def bounds_around(boxes: list[Box]) -> tuple[float, ...]:
    """Return the bounds that are around all boxes, by looking at the ranges of all. O(n)."""
    return (
        min(lowest_in(box.one) for box in boxes),
        max(highest_in(box.one) for box in boxes),
        min(lowest_in(box.other) for box in boxes),
        max(highest_in(box.other) for box in boxes),
    )
