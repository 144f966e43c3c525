"""Ranges of one order, by their bounds: an immutable interval tree that a change copies in part.

A B+-tree of ranges, by the low end and then the high one. A leaf has up to MOST ranges, and what is filed under each.
Every other node has up to MOST nodes. A node knows its first range, and the one of all ranges at and below it that
reaches highest. So a search for the ranges around a value leaves out each node that ends too early, and from the first
entry on that begins too late it leaves out the rest:

              [1, 2] to 20 | [5, 7] to 9              4 lies within [2, 20] and [3, 9]:
              /                    \\                  the second leaf begins too late
    [1, 2] [2, 20] [3, 9]     [5, 7] [6, 9]           [1, 2] ends too early

Wide nodes are for memory. What a search waits for is nodes that are in no cache, and a wide tree has few levels. A
change copies one node of each level, O(log n) of them. k ranges around a value are found in O(k log n), and in O(log n)
where k is 0.

A compiled node has its bounds once more, as C numbers side by side, if these are exactly what the bounds are. A search
for a number then looks at no range. Of texts and bytes, the numbers are their first bytes; a search looks at those
ranges only whose first bytes are those of the value.
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
    from ctrie._machine import inserted, removed, replaced, untrack_constant
    from ctrie._slot import borrow
    from subtrie._trie.match.walk import lowest_bit
    from subtrie.fields.criteria import Within
    from subtrie.fields.maps import crowd_size
else:
    from cython import address

LEAST = 5  # a node that is left with fewer is joined with one beside it, unless it is the only one of its level


class Ranges:
    """A node. A leaf has ranges, and `below` is what is filed under each; without ranges, `below` is nodes."""

    __slots__ = ("below", "first", "reach", "spans")
    below: tuple[Any, ...]
    spans: tuple[Within, ...] | None
    first: Within
    reach: Within  # of the ranges at and below this node, one that reaches highest


if not cython.compiled:  # the C bodies are in intervals.pxd
    MOST = 16  # entries of a node

    def address(thing: Any) -> Any:
        """Return what C would point to."""
        return thing

    def note_entries(node: Ranges) -> None:
        """Write down the bounds as numbers, and what is below. For the compiled twin."""

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

    def is_leaf(node: Ranges) -> bool:
        """Return whether a borrowed node has ranges, not nodes."""
        return node.spans is not None

    def below_at(node: Ranges, i: int) -> Any:
        """Return what is below an entry: what is filed under a range, or a node."""
        return node.below[i]

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
        span = _first_at(node, i)
        if span.low is None:
            return True
        return bool(span.low < point) if span.low_open else bool(span.low <= point)

    def _lasts_at(node: Ranges, i: int, point: Any) -> bool:
        span = _reach_at(node, i)
        if span.high is None:
            return True
        return bool(point < span.high) if span.high_open else bool(point <= span.high)


def _node(spans: tuple[Within, ...] | None, below: tuple[Any, ...], reach: Within | None) -> Ranges:
    """Return a node of one entry or more. `reach` is looked for if it is None."""
    node: Ranges = Ranges.__new__(Ranges)
    node.spans = spans
    node.below = below
    node.first = _first_at(node, 0)
    node.reach = _reach_of(node) if reach is None else reach
    note_entries(node)
    untrack_constant(node)
    return node


def _first_at(node: Ranges, i: int) -> Within:
    """Return the first range of an entry."""
    if node.spans is not None:
        return node.spans[i]
    child: Ranges = node.below[i]
    return child.first


def _reach_at(node: Ranges, i: int) -> Within:
    """Return the range of an entry that reaches highest."""
    if node.spans is not None:
        return node.spans[i]
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
    if a.low < b.low:
        return -1
    return 1 if b.low < a.low else a.low_open - b.low_open


def _by_high(a: Within, b: Within) -> int:
    """Compare where two ranges end: below 0 if a ends first."""
    known = order_of_ends(a, b)
    if known:
        return known
    if a.high is None or b.high is None:
        return (a.high is None) - (b.high is None)
    if a.high < b.high:
        return -1
    return 1 if b.high < a.high else b.high_open - a.high_open


def _compare(a: Within, b: Within) -> int:
    by_low = order_of_starts(a, b)
    if by_low == 0:
        by_low = _by_low(a, b)
    return by_low if by_low else _by_high(a, b)


def _higher(a: Within, b: Within) -> Within:
    """Return the range that reaches higher."""
    return b if _by_high(a, b) < 0 else a


# ------------------------------------------------------------------------------------------------------------- changes


def filed_at(tree: Ranges | None, span: Within) -> Any:
    """Return what is filed under this very range, None if nothing is. O(log n)."""
    node = tree
    while node is not None:
        i = _place_of(node, span)
        if i < 0:
            return None
        if node.spans is not None:
            return node.below[i] if _compare(node.spans[i], span) == 0 else None
        node = node.below[i]
    return None


def _place_of(node: Ranges, span: Within) -> int:
    """Return which entry is the last that begins no later than a range; -1 if all begin later."""
    low = 0
    high = len(node.below)
    while low < high:
        middle = (low + high) // 2
        side = order_by_number(node, middle, span)
        if side == 0:
            side = _compare(_first_at(node, middle), span)
        if side <= 0:
            low = middle + 1
        else:
            high = middle
    return low - 1


def with_range(tree: Ranges | None, span: Within, filed: Any) -> Ranges:
    """Return the tree with `filed` under the range, whatever was there. O(log n)."""
    if tree is None:
        return _node((span,), (filed,), span)
    nodes = _with(tree, span, filed)
    if len(nodes) == 1:
        return nodes[0]
    return _node(None, nodes, None)


def _with(node: Ranges, span: Within, filed: Any) -> tuple[Ranges, ...]:
    """Return the node with the range, or two in its place."""
    i = _place_of(node, span)
    if node.spans is not None:
        if i >= 0 and _compare(node.spans[i], span) == 0:
            return (_node(node.spans, replaced(node.below, i, filed), node.reach),)
        spans = inserted(node.spans, i + 1, span)
        return _nodes(spans, inserted(node.below, i + 1, filed), _higher(node.reach, span))
    if i < 0:
        i = 0
    below = exchanged(node.below, i, _with(node.below[i], span, filed))
    return _nodes(None, below, _higher(node.reach, span))


def _nodes(spans: tuple[Within, ...] | None, below: tuple[Any, ...], reach: Within | None) -> tuple[Ranges, ...]:
    """Return a node of these entries, or two if they are too many for one."""
    if len(below) <= MOST:
        return (_node(spans, below, reach),)
    half = len(below) // 2
    if spans is None:
        return (_node(None, below[:half], None), _node(None, below[half:], None))
    return (_node(spans[:half], below[:half], None), _node(spans[half:], below[half:], None))


def exchanged(below: tuple[Any, ...], i: int, nodes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the nodes below a node of a tree, of ranges or of boxes, with one or two in the place of one."""
    if len(nodes) == 1:
        return replaced(below, i, nodes[0])
    return inserted(replaced(below, i, nodes[1]), i, nodes[0])


def without_range(tree: Ranges, span: Within) -> Ranges | None:
    """Return the tree without the range, which it has; None if that was the last one. O(log n)."""
    if tree.spans is not None and len(tree.below) == 1:
        return None
    left = _without(tree, span)
    if left.spans is None and len(left.below) == 1:
        only: Ranges = left.below[0]
        return only
    return left


def _without(node: Ranges, span: Within) -> Ranges:
    """Return the node without the range; it may be left with too few entries."""
    i = _place_of(node, span)
    if node.spans is not None:
        return _node(removed(node.spans, i), removed(node.below, i), None)
    child = _without(node.below[i], span)
    if len(child.below) >= LEAST:
        return _node(None, replaced(node.below, i, child), None)
    before = i - 1 if i > 0 else 0
    joined = _joined(node.below[before], child) if i > 0 else _joined(child, node.below[1])
    return _node(None, exchanged(removed(node.below, before + 1), before, joined), None)


def _joined(one: Ranges, other: Ranges) -> tuple[Ranges, ...]:
    """Return a node of the entries of two that stand side by side, or two of about the same size."""
    spans = None if one.spans is None or other.spans is None else one.spans + other.spans
    return _nodes(spans, one.below + other.below, None)


# ------------------------------------------------------------------------------------------------------------- queries


def crowd_around(tree: Ranges | None, value: Any, most: int) -> int:
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


def all_filed(tree: Ranges | None) -> Iterator[tuple[Within, Any]]:
    """Yield every range with what is filed under it, in order."""
    if tree is None:
        return
    if tree.spans is not None:
        yield from zip(tree.spans, tree.below, strict=True)
    else:
        for node in tree.below:
            yield from all_filed(node)


def check_ranges(tree: Ranges | None) -> None:
    """Raise AssertionError if the tree is ill-formed."""
    if tree is None:
        return
    spans = [span for span, _ in all_filed(tree)]
    for one, other in itertools.pairwise(spans):
        assert _compare(one, other) < 0, f"{one!r} before {other!r}"
    assert tree.spans is not None or len(tree.below) > 1, "a root with a single node"
    _check_node(tree)


def _check_node(node: Ranges) -> int:
    """Check what is at and below a node; return the number of its levels."""
    spans = [span for span, _ in all_filed(node)]
    assert node.first is spans[0], f"wrong first range at {node.first!r}"
    assert _by_high(node.reach, highest_of(spans)) == 0, f"wrong reach at {node.first!r}"
    assert len(node.below) <= MOST, f"{len(node.below)} entries at {node.first!r}"
    if node.spans is not None:
        assert len(node.spans) == len(node.below), f"ranges and what is under them differ at {node.first!r}"
        for span, filed in zip(node.spans, node.below, strict=True):
            assert crowd_size(filed) > 0, f"nothing at {span!r}"
        return 1
    for child in node.below:
        assert len(child.below) >= LEAST, f"{len(child.below)} entries at {child.first!r}"
    levels = {_check_node(child) for child in node.below}
    assert len(levels) == 1, f"leaves at several levels below {node.first!r}"
    return levels.pop() + 1


def highest_of(spans: list[Within]) -> Within:
    """Return the range that reaches highest, by looking at the bounds of all. O(n)."""
    if not spans:
        raise ValueError("no spans")
    highest = spans[0]
    for span in spans:
        if _by_high(highest, span) < 0:
            highest = span
    return highest
