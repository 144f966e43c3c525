# distutils: extra_compile_args = SMALL
"""An immutable B+-tree that a change copies in part: what is filed under ranges (intervals.py) and boxes (boxes.py).

A leaf has up to MOST keys, in order, and what is filed under each. Every other node has up to MOST nodes. Wide nodes
are for memory. What a search waits for is nodes that are in no cache, and a wide tree has few levels. A change copies
one node of each level, O(log n) of them.

Each kind of tree says in which order its keys are. Its nodes know what is at and below them, so that a search can leave
them out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import inserted, removed, replaced, untrack_constant
    from subtrie.fields.maps import crowd_size

LEAST = 5  # a node that is left with fewer is joined with one beside it, unless it is the only one of its level


class Tree:
    """A node, with all below it. A leaf has keys, and `below` is what is filed under each; without keys, `below` is
    nodes."""

    __slots__ = ("below", "first", "keys")
    below: tuple[Any, ...]
    keys: tuple[Any, ...] | None
    first: Any  # the first key at and below the node

    def blank(self) -> Tree:
        """Return a node of the same kind, for `filled`."""
        raise NotImplementedError

    def order_at(self, i: int, key: object) -> int:
        """Compare the first key of an entry with another key."""
        raise NotImplementedError

    def note(self, before: Tree | None, key: object) -> None:
        """Write down what lets a search leave out this new node. If there is a node `before`, the new one has the same
        keys at and below it, and `key`."""
        raise NotImplementedError

    def check_noted(self, keys: list[Any]) -> None:
        """Raise AssertionError if what was written down is wrong. `keys`: all at and below the node."""
        raise NotImplementedError


if not cython.compiled:  # the C bodies are in tree.pxd
    MOST = 16  # entries of a node

    def note_entries(node: Tree) -> None:
        """Write down what is below, one step nearer. For the compiled twin."""

    def is_leaf(node: Tree) -> bool:
        """Return whether a borrowed node has keys, not nodes."""
        return node.keys is not None

    def count_at(node: Tree) -> int:
        """Return the number of entries of a borrowed node."""
        return len(node.below)

    def below_at(node: Tree, i: int) -> Any:
        """Return what is below an entry: what is filed under a key, or a node."""
        return node.below[i]

    def key_at(node: Tree, i: int) -> Any:
        """Return a key of a borrowed leaf."""
        return node.keys[i]  # type: ignore[index]


def filled(node: Tree, keys: tuple[Any, ...] | None, below: tuple[Any, ...], before: Tree | None, key: object) -> Tree:
    """Return a blank node with one entry or more. `before` and `key` as in `note`."""
    node.keys = keys
    node.below = below
    node.first = first_at(node, 0)
    note_entries(node)
    node.note(before, key)
    untrack_constant(node)
    return node


def first_at(node: Tree, i: int) -> Any:
    """Return the first key of an entry."""
    if node.keys is not None:
        return node.keys[i]
    child: Tree = node.below[i]
    return child.first


def _place_of(node: Tree, key: object) -> int:
    """Return which entry is the last that begins no later than a key; -1 if all begin later."""
    low = 0
    high = len(node.below)
    while low < high:
        middle = (low + high) // 2
        if node.order_at(middle, key) <= 0:
            low = middle + 1
        else:
            high = middle
    return low - 1


# ------------------------------------------------------------------------------------------------------------- changes


def filed_under(tree: Tree | None, key: object) -> Any:
    """Return what is filed under this very key, None if nothing is. O(log n)."""
    node = tree
    while node is not None:
        i = _place_of(node, key)
        if i < 0:
            return None
        if node.keys is not None:
            return node.below[i] if node.order_at(i, key) == 0 else None
        node = node.below[i]
    return None


def with_key(tree: Tree, key: object, filed: Any) -> Tree:
    """Return the tree with `filed` under the key, whatever was there. O(log n)."""
    nodes = _with(tree, key, filed)
    if len(nodes) == 1:
        return nodes[0]
    return filled(tree.blank(), None, nodes, None, None)


def _with(node: Tree, key: object, filed: Any) -> tuple[Tree, ...]:
    """Return the node with the key, or two in its place."""
    i = _place_of(node, key)
    if node.keys is None:
        if i < 0:
            i = 0
        return _nodes(node, None, _exchanged(node.below, i, _with(node.below[i], key, filed)), node, key)
    if i >= 0 and node.order_at(i, key) == 0:
        return (filled(node.blank(), node.keys, replaced(node.below, i, filed), node, key),)
    return _nodes(node, inserted(node.keys, i + 1, key), inserted(node.below, i + 1, filed), node, key)


def _nodes(
    like: Tree, keys: tuple[Any, ...] | None, below: tuple[Any, ...], before: Tree | None, key: object
) -> tuple[Tree, ...]:
    """Return a node of these entries, or two if they are too many for one."""
    if len(below) <= MOST:
        return (filled(like.blank(), keys, below, before, key),)
    half = len(below) // 2
    left, right = (None, None) if keys is None else (keys[:half], keys[half:])
    return (
        filled(like.blank(), left, below[:half], None, None),
        filled(like.blank(), right, below[half:], None, None),
    )


def _exchanged(below: tuple[Any, ...], i: int, nodes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the nodes below a node, with one or two in the place of one."""
    if len(nodes) == 1:
        return replaced(below, i, nodes[0])
    return inserted(replaced(below, i, nodes[1]), i, nodes[0])


def without_key(tree: Tree, key: object) -> Tree | None:
    """Return the tree without the key, which it has; None if that was the last one. O(log n)."""
    if tree.keys is not None and len(tree.below) == 1:
        return None
    left = _without(tree, key)
    if left.keys is None and len(left.below) == 1:
        only: Tree = left.below[0]
        return only
    return left


def _without(node: Tree, key: object) -> Tree:
    """Return the node without the key; it may be left with too few entries."""
    i = _place_of(node, key)
    if node.keys is not None:
        return filled(node.blank(), removed(node.keys, i), removed(node.below, i), None, None)
    child = _without(node.below[i], key)
    if len(child.below) >= LEAST:
        return filled(node.blank(), None, replaced(node.below, i, child), None, None)
    left = i - 1 if i > 0 else 0
    joined = _joined(node.below[left], child) if i > 0 else _joined(child, node.below[1])
    return filled(node.blank(), None, _exchanged(removed(node.below, left + 1), left, joined), None, None)


def _joined(one: Tree, other: Tree) -> tuple[Tree, ...]:
    """Return a node of the entries of two that stand side by side, or two of about the same size."""
    keys = None if one.keys is None or other.keys is None else one.keys + other.keys
    return _nodes(one, keys, one.below + other.below, None, None)


# ------------------------------------------------------------------------------------------------------------- queries


def all_filed(tree: Tree | None) -> Iterator[tuple[Any, Any]]:
    """Yield every key with what is filed under it, in order."""
    for leaf in _leaves(tree):
        yield from zip(leaf.keys, leaf.below, strict=True)  # type: ignore[arg-type]


def _leaves(tree: Tree | None) -> Iterator[Tree]:
    if tree is None:
        return
    if tree.keys is not None:
        yield tree
    else:
        for node in tree.below:
            yield from _leaves(node)


def check_tree(tree: Tree | None) -> None:
    """Raise AssertionError if the tree is ill-formed."""
    if tree is None:
        return
    at = [(leaf, i, leaf.keys[i]) for leaf in _leaves(tree) for i in range(len(leaf.below))]  # type: ignore[index]
    for (leaf, i, one), (_, _, other) in itertools.pairwise(at):
        assert leaf.order_at(i, other) < 0, f"{one!r} before {other!r}"
    assert tree.keys is not None or len(tree.below) > 1, "a root with a single node"
    _check_node(tree)


def _check_node(node: Tree) -> int:
    """Check what is at and below a node; return the number of its levels."""
    keys = [key for key, _ in all_filed(node)]
    assert node.first is keys[0], f"wrong first key at {node.first!r}"
    node.check_noted(keys)
    assert len(node.below) <= MOST, f"{len(node.below)} entries at {node.first!r}"
    if node.keys is not None:
        assert len(node.keys) == len(node.below), f"keys and what is under them differ at {node.first!r}"
        for key, filed in zip(node.keys, node.below, strict=True):
            assert crowd_size(filed) > 0, f"nothing at {key!r}"
        return 1
    for child in node.below:
        assert len(child.below) >= LEAST, f"{len(child.below)} entries at {child.first!r}"
    levels = {_check_node(child) for child in node.below}
    assert len(levels) == 1, f"leaves at several levels below {node.first!r}"
    return levels.pop() + 1
