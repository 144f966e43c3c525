"""Persistent sets of keyed objects: immutable, and a change copies a few nodes.

    None                     nothing
    Keyed                    one object
    tuple of Keyed           up to INLINE
    SetNode                  more: a hash trie without I-nodes, with four hash bits per node

      SetNode(bitmap, array)     array: for each set bit a Keyed, a SetNode, or a tuple of Keyed whose hashes agree

A change of a set with a million members copies a few nodes of at most 16 branches. No node ever changes, so a thread
that has read a set has read all of it at one instant.

A member holds the hash of its key, so searching calls no user's `__hash__`, and calls `__eq__` only for two different
keys with equal hashes. What a member holds beside its key is a matter of its class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import cython

from ctrie._machine import groups_of

if not cython.compiled:
    from ctrie._machine import (
        EVERY,
        check_signals,
        check_stack,
        inserted,
        popcount,
        removed,
        replaced,
        untrack_constant,
    )
    from ctrie._nodes import Edit

INLINE = 8
_BITS = 4  # fewer than W: a change copies every node on its path, while a Ctrie copies only the last one
_MASK = 15
_HASH_BITS = 64


class Keyed:
    """A member of a set: its key, and the key's mixed hash."""

    __slots__ = ("hash", "key")
    key: Any
    hash: int


class SetNode:
    """One node of a large set; `size` counts the members below it."""

    __slots__ = ("array", "bitmap", "size")
    bitmap: int
    array: tuple[Any, ...]
    size: int


if not cython.compiled:  # views of what is borrowed; the compiled ones (keyed.pxd) count no references
    key_in = attrgetter("key")
    hash_in = attrgetter("hash")
    set_array_of = attrgetter("array")

    def size_in(members: Any) -> int:
        """Return the number of members of a set, of one at least."""
        return set_size(members)


def _new_node(bitmap: int, array: tuple[Any, ...], size: int) -> SetNode:
    node: SetNode = SetNode.__new__(SetNode)
    node.bitmap = bitmap
    node.array = array
    node.size = size
    untrack_constant(node)
    return node


def _same(member: Keyed, key: object, hash: int, edit: Edit | None) -> bool:
    if member.hash != hash:
        return False
    if member.key is key:
        return True
    check_stack()
    return bool(member.key == key) if edit is None else edit.agree(member.key, key, None)


def set_size(members: Any) -> int:
    """Return the number of members. O(1)."""
    if members is None:
        return 0
    if isinstance(members, Keyed):
        return 1
    if isinstance(members, SetNode):
        large: SetNode = members
        return large.size
    return len(members)


def find_keyed(members: Any, key: object, hash: int, edit: Edit | None = None) -> Any:
    """Return the member with this key, or None. O(log n). An `edit` remembers the results of users' `__eq__`."""
    shift = 0
    while isinstance(members, SetNode):
        node: SetNode = members
        flag = 1 << ((hash >> shift) & _MASK)
        if not node.bitmap & flag:
            return None
        members = node.array[popcount(node.bitmap & (flag - 1))]
        shift += _BITS
    if members is None:
        return None
    if isinstance(members, Keyed):
        return members if _same(members, key, hash, edit) else None
    pos = _position(members, key, hash, edit)
    return None if pos < 0 else members[pos]


def _position(several: tuple[Any, ...], key: object, hash: int, edit: Edit | None) -> int:
    for pos, member in enumerate(several):
        if _same(member, key, hash, edit):
            return pos
    return -1


def with_keyed(members: Any, member: Keyed, found: Keyed | None = None) -> Any:
    """Return the set with `member`, which replaces `found`, the one with its key, unless that is None."""
    if members is None:
        return member
    if isinstance(members, SetNode):
        return _node_with(members, member, found, 0)
    if isinstance(members, Keyed):
        return member if found is not None else (members, member)
    if found is not None:
        return replaced(members, _index(members, found), member)
    if len(members) < INLINE:
        return inserted(members, len(members), member)
    large: Any = _new_node(0, (), 0)
    for present in members:
        large = _node_with(large, present, None, 0)
    return _node_with(large, member, None, 0)


def without_keyed(members: Any, found: Keyed) -> Any:
    """Return the set without `found`, which it holds; None if that was the last."""
    if isinstance(members, Keyed):
        return None
    if isinstance(members, SetNode):
        return _node_without(members, found, 0)
    left = removed(members, _index(members, found))
    return left[0] if len(left) == 1 else left


def _index(several: tuple[Any, ...], found: Keyed) -> int:
    """Return the index of `found`, by identity: users' code need not compare a second time."""
    for pos, member in enumerate(several):
        if member is found:
            return pos
    raise AssertionError("the member was read from this set")


def _node_with(node: SetNode, member: Keyed, found: Keyed | None, shift: int) -> SetNode:
    flag = 1 << ((member.hash >> shift) & _MASK)
    pos = popcount(node.bitmap & (flag - 1))
    if not node.bitmap & flag:
        return _new_node(node.bitmap | flag, inserted(node.array, pos, member), node.size + 1)
    child = node.array[pos]
    grown = _child_with(child, member, found, shift + _BITS)
    size = node.size if found is not None else node.size + 1
    return _new_node(node.bitmap, replaced(node.array, pos, grown), size)


def _child_with(child: Any, member: Keyed, found: Keyed | None, shift: int) -> Any:
    if isinstance(child, SetNode):
        return _node_with(child, member, found, shift)
    if child is found and found is not None:
        return member
    if shift >= _HASH_BITS:  # the hashes agree in every bit
        if isinstance(child, Keyed):
            return (child, member)
        if found is not None:
            return replaced(child, _index(child, found), member)
        return inserted(child, len(child), member)
    other: Keyed = child
    below = _new_node(1 << ((other.hash >> shift) & _MASK), (other,), 1)
    return _node_with(below, member, None, shift)


def _node_without(node: SetNode, found: Keyed, shift: int) -> Any:
    """Return a Keyed if only one is left, so no path is longer than needed."""
    flag = 1 << ((found.hash >> shift) & _MASK)
    pos = popcount(node.bitmap & (flag - 1))
    child = node.array[pos]
    if child is found:
        array = removed(node.array, pos)
        bitmap = node.bitmap ^ flag
    else:
        if isinstance(child, SetNode):
            shrunk = _node_without(child, found, shift + _BITS)
        else:
            shrunk = without_keyed(child, found)
        array = replaced(node.array, pos, shrunk)
        bitmap = node.bitmap
    if len(array) == 1 and isinstance(array[0], Keyed):
        return array[0]
    return _new_node(bitmap, array, node.size - 1)


def iter_keyed(members: Any) -> Iterator[Any]:
    """Yield every member."""
    stack = [members]
    while stack:
        top = stack.pop()
        if isinstance(top, Keyed):
            yield top
        elif top is not None:
            stack.extend(branches_of(top))


def _listed(members: Any) -> list[Any]:
    return list(members) if isinstance(members, tuple) else list(iter_keyed(members))


def branches_of(node: Any) -> tuple[Any, ...]:
    if isinstance(node, SetNode):
        large: SetNode = node
        return large.array
    return node  # type: ignore[no-any-return]


def changed_keyed(older: Any, newer: Any, same: Callable[[Any, Any], bool] | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield (old, new) for every key whose member is not the same object in both sets; None if one set has none.

    Nodes that both sets share are skipped. `same` tells whether two members belong together; by default, they do if
    their keys are equal.
    """
    stack: list[tuple[Any, Any]] = [(older, newer)]
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if isinstance(x, SetNode) and isinstance(y, SetNode):
            stack.extend(_branch_pairs(x, y))
            continue
        if x is None or y is None:
            for number, member in enumerate(iter_keyed(y if x is None else x)):
                if number % EVERY == 0:
                    check_signals()
                yield (None, member) if x is None else (member, None)
            continue
        left, members = _listed(x), _listed(y)
        if None in left or None in members:
            raise TypeError("None is no member")
        yield from changed_listed(left, members, same)


def changed_listed(left: list[Any], members: list[Any], same: Callable[[Any, Any], bool] | None) -> list[Any]:
    """Return the same for two lists, of which the first is used up."""
    changed: list[Any] = []
    for new in members:
        old = None
        for member in left:
            if _same(member, new.key, new.hash, None) if same is None else same(member, new):
                old = member
                break
        if old is not None:
            left.remove(old)
        if old is not new:
            changed.append((old, new))
    for number, member in enumerate(left):
        if number % EVERY == 0:
            check_signals()
        changed.append((member, None))
    return changed


def _branch_pairs(x: SetNode, y: SetNode) -> list[tuple[Any, Any]]:
    pairs: list[tuple[Any, Any]] = []
    both = x.bitmap | y.bitmap
    while both:
        flag = both & -both
        both ^= flag
        old = x.array[popcount(x.bitmap & (flag - 1))] if x.bitmap & flag else None
        new = y.array[popcount(y.bitmap & (flag - 1))] if y.bitmap & flag else None
        pairs.append((old, new))
    return pairs


def check_set(members: Any) -> None:
    """Raise AssertionError if the set is ill-formed, or does not find one of its members by the key."""
    check_shape(members)
    for member in iter_keyed(members):
        assert find_keyed(members, member.key, member.hash) is member, f"{member.key!r} is not found"


def check_shape(members: Any) -> None:
    """Raise AssertionError if the set is ill-formed, however its members are compared."""
    if members is None or isinstance(members, Keyed):
        return
    if isinstance(members, SetNode):
        _check_node(members, 0, 0)
    else:
        assert 2 <= len(members) <= INLINE, f"{len(members)} members inline"
    several = list(iter_keyed(members))
    assert len(several) == set_size(members), f"{len(several)} members, size {set_size(members)}"


def _check_node(node: SetNode, shift: int, path: int) -> None:
    assert popcount(node.bitmap) == len(node.array), f"bitmap {node.bitmap:b}, {len(node.array)} branches"
    assert shift == 0 or node.size > 1, "a node for a single member"
    groups = groups_of(node.bitmap)
    for group, child in zip(groups, node.array, strict=True):
        assert not isinstance(child, tuple) or shift + _BITS >= _HASH_BITS, "a list of members above the last bit"
        if isinstance(child, SetNode):
            _check_node(child, shift + _BITS, path | group << shift)
