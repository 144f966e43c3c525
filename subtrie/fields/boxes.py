"""Two ranges at once: an immutable tree of boxes, for subscriptions that ask for ranges of numbers on two fields.

A range alone is found with all that begin and end around the same value, of which the other field leaves few. So two
ranges of a subscription are filed as one *box*, by both fields:

    Within("price", 10, 20), Within("size", 1, 5)        other field
                                                            ^   +------+
    A message is a point, and the search looks for          |   |    x |
    the boxes around it.                                    |   +------+
                                                            +-------------> one field

The tree is a B+-tree of boxes in the order of a curve that keeps near what is near (the Z-order of their four bounds).
Each node knows the bounds of what is below it, and a search leaves out a node that does not reach around the point.
Where boxes are small that is O(log n) for each one found. A change copies one node of each level.

Bounds are doubles: a box is made of ranges whose bounds are exactly that. A value of a message that is no double, or
that stands in a list, is looked for with all that it may be, and then asked itself.
"""

# ruff: noqa: D102 - the methods of criteria are those of Criterion, and are explained there

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

import itertools
import math
import struct
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

if not cython.compiled:
    from ctrie._machine import inserted, removed, replaced, untrack_constant
    from subtrie.fields.criteria import BOXES, NUMBERS, Criterion, Within, order_of
    from subtrie.fields.intervals import exchanged
    from subtrie.fields.maps import crowd_size

from subtrie.fields.criteria import AtLeast, AtMost, GreaterThan, LessThan
from subtrie.fields.events import Elements

LEAST = 5  # a node that is left with fewer is joined with one beside it, unless it is the only one of its level

_RANGES = frozenset([Within, LessThan, AtMost, GreaterThan, AtLeast])  # a user's subclass may hold for what it likes

if not cython.compiled:  # the C bodies are in boxes.pxd
    MOST = 16  # entries of a node

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
        node.each = tuple([entry.bounds for entry in (node.below if node.boxes is None else node.boxes)])
        first_low, first_high, other_low, other_high = zip(*node.each, strict=True)
        node.bounds = (min(first_low), max(first_high), min(other_low), max(other_high))

    def count_at(node: Boxes) -> int:
        """Return the number of entries of a borrowed node."""
        return len(node.below)

    def is_last(node: Boxes) -> bool:
        """Return whether a borrowed node has boxes, not nodes."""
        return node.boxes is not None

    def entry_below(node: Boxes, i: int) -> Any:
        """Return what is below an entry: what is filed under a box, or a node."""
        return node.below[i]

    def box_at(node: Boxes, i: int) -> Any:
        """Return a box of a borrowed node."""
        return node.boxes[i]  # type: ignore[index]

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
        if type(criterion) in _RANGES and has_bounds(criterion):
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


# --------------------------------------------------------------------------------------------------------------- nodes


class Boxes:
    """A node. The last level has boxes, and `below` is what is filed under each; without boxes, `below` is nodes."""

    __slots__ = ("below", "bounds", "boxes", "each", "first")
    below: tuple[Any, ...]
    boxes: tuple[Box, ...] | None
    first: Box


def _node(boxes: tuple[Box, ...] | None, below: tuple[Any, ...]) -> Boxes:
    """Return a node of one entry or more."""
    node: Boxes = Boxes.__new__(Boxes)
    node.boxes = boxes
    node.below = below
    node.first = _first_at(node, 0)
    note_below(node)
    untrack_constant(node)
    return node


def _first_at(node: Boxes, i: int) -> Box:
    if node.boxes is not None:
        return node.boxes[i]
    child: Boxes = node.below[i]
    return child.first


def _place_of(node: Boxes, box: Box) -> int:
    """Return which entry is the last that begins no later than a box; -1 if all begin later."""
    low = 0
    high = len(node.below)
    while low < high:
        middle = (low + high) // 2
        if compare_boxes(_first_at(node, middle), box) <= 0:
            low = middle + 1
        else:
            high = middle
    return low - 1


# ------------------------------------------------------------------------------------------------------------- changes


def filed_in_box(tree: Boxes | None, box: Box) -> Any:
    """Return what is filed under this very box, None if nothing is. O(log n)."""
    node = tree
    while node is not None:
        i = _place_of(node, box)
        if i < 0:
            return None
        if node.boxes is not None:
            return node.below[i] if compare_boxes(node.boxes[i], box) == 0 else None
        node = node.below[i]
    return None


def with_box(tree: Boxes | None, box: Box, filed: Any) -> Boxes:
    """Return the tree with `filed` under the box, whatever was there. O(log n)."""
    if tree is None:
        return _node((box,), (filed,))
    nodes = _with(tree, box, filed)
    return nodes[0] if len(nodes) == 1 else _node(None, nodes)


def _with(node: Boxes, box: Box, filed: Any) -> tuple[Boxes, ...]:
    """Return the node with the box, or two in its place."""
    i = _place_of(node, box)
    if node.boxes is not None:
        if i >= 0 and compare_boxes(node.boxes[i], box) == 0:
            return (_node(node.boxes, replaced(node.below, i, filed)),)
        return _nodes(inserted(node.boxes, i + 1, box), inserted(node.below, i + 1, filed))
    i = max(i, 0)
    return _nodes(None, exchanged(node.below, i, _with(node.below[i], box, filed)))


def _nodes(boxes: tuple[Box, ...] | None, below: tuple[Any, ...]) -> tuple[Boxes, ...]:
    """Return a node of these entries, or two if they are too many for one."""
    if len(below) <= MOST:
        return (_node(boxes, below),)
    half = len(below) // 2
    if boxes is None:
        return (_node(None, below[:half]), _node(None, below[half:]))
    return (_node(boxes[:half], below[:half]), _node(boxes[half:], below[half:]))


def without_box(tree: Boxes, box: Box) -> Boxes | None:
    """Return the tree without the box, which it has; None if that was the last one. O(log n)."""
    if tree.boxes is not None and len(tree.below) == 1:
        return None
    left = _without(tree, box)
    if left.boxes is None and len(left.below) == 1:
        only: Boxes = left.below[0]
        return only
    return left


def _without(node: Boxes, box: Box) -> Boxes:
    """Return the node without the box; it may be left with too few entries."""
    i = _place_of(node, box)
    if node.boxes is not None:
        return _node(removed(node.boxes, i), removed(node.below, i))
    child = _without(node.below[i], box)
    if len(child.below) >= LEAST:
        return _node(None, replaced(node.below, i, child))
    before = i - 1 if i > 0 else 0
    joined = _joined(node.below[before], child) if i > 0 else _joined(child, node.below[1])
    return _node(None, exchanged(removed(node.below, before + 1), before, joined))


def _joined(one: Boxes, other: Boxes) -> tuple[Boxes, ...]:
    """Return a node of the entries of two that stand side by side, or two of about the same size."""
    boxes = None if one.boxes is None or other.boxes is None else one.boxes + other.boxes
    return _nodes(boxes, one.below + other.below)


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
    try:
        near = float(value)
    except OverflowError:
        return -math.inf, math.inf
    if type(value) is int and -(2**53) <= value <= 2**53:
        return near, near
    return math.nextafter(near, -math.inf), math.nextafter(near, math.inf)


def all_boxes(tree: Boxes | None) -> Iterator[tuple[Box, Any]]:
    """Yield every box with what is filed under it, in order."""
    if tree is None:
        return
    if tree.boxes is not None:
        yield from zip(tree.boxes, tree.below, strict=True)
    else:
        for node in tree.below:
            yield from all_boxes(node)


def check_boxes(tree: Boxes) -> None:
    """Raise AssertionError if the tree is ill-formed."""
    boxes = [box for box, _ in all_boxes(tree)]
    for one, other in itertools.pairwise(boxes):
        assert compare_boxes(one, other) < 0, f"{one!r} before {other!r}"
    assert tree.boxes is not None or len(tree.below) > 1, "a root with a single node"
    _check_node(tree)


def _check_node(node: Boxes) -> int:
    """Check what is at and below a node; return the number of its levels."""
    boxes = [box for box, _ in all_boxes(node)]
    assert node.first is boxes[0], f"wrong first box at {node.first!r}"
    around = bounds_around(boxes)
    assert bounds_of(node) == around, f"{bounds_of(node)} at {node.first!r}, not {around}"
    assert len(node.below) <= MOST, f"{len(node.below)} entries at {node.first!r}"
    if node.boxes is not None:
        assert len(node.boxes) == len(node.below), f"boxes and what is under them differ at {node.first!r}"
        for box, filed in zip(node.boxes, node.below, strict=True):
            assert crowd_size(filed) > 0, f"nothing at {box!r}"
        return 1
    for child in node.below:
        assert len(child.below) >= LEAST, f"{len(child.below)} entries at {child.first!r}"
    levels = {_check_node(child) for child in node.below}
    assert len(levels) == 1, f"boxes at several levels below {node.first!r}"
    return levels.pop() + 1


def bounds_around(boxes: list[Box]) -> tuple[float, ...]:
    """Return the bounds that are around all boxes, by looking at the ranges of all. O(n)."""
    return (
        min(lowest_in(box.one) for box in boxes),
        max(highest_in(box.one) for box in boxes),
        min(lowest_in(box.other) for box in boxes),
        max(highest_in(box.other) for box in boxes),
    )
