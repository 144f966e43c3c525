"""The subscribers of one filter: an immutable set that a change copies in part.

    None                     no subscribers
    Entry                    one subscriber
    tuple of Entry           up to INLINE subscribers
    SetNode                  more: a hash trie without I-nodes, with four hash bits per node

      SetNode(bitmap, array)     array: for each set bit an Entry, a SetNode, or a tuple of entries whose hashes agree

A change of a filter with a million subscribers copies a few nodes of at most 16 branches. No node ever changes, so a
thread that has read the set from its branch has read all of it at one instant.

An entry holds its subscriber's hash, which was computed when it was subscribed. So matching never calls a user's
`__hash__`, and calls `__eq__` only for two different objects with equal hashes. If subscribers are weakly held, the
entry has a reference instead of the subscriber (weak_subscribers.py), and callers see the result of `living`.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

from ctrie._arrays import groups_of

if not cython.compiled:
    from ctrie._arrays import inserted, popcount, removed, replaced, settle
    from ctrie._memory import leaf_after, new_leaf
    from ctrie._nodes import Edit, mix

from subtrie._trie.weak_subscribers import Held, HeldMethod

INLINE = 8
_BITS = 4  # fewer than W: a change copies every node on its path, while a Ctrie copies only the last one
_MASK = 15
_HASH_BITS = 64


class Entry:
    """A subscriber, its mixed hash, and the options of its subscription (None: none)."""

    __slots__ = ("hash", "options", "subscriber")
    subscriber: Any
    hash: int
    options: dict[str, Any] | None


leaf_after(Entry.__new__(Entry))


class SetNode:
    """One node of a large set; `size` counts the entries below it."""

    __slots__ = ("array", "bitmap", "size")
    bitmap: int
    array: tuple[Any, ...]
    size: int


if not cython.compiled:  # views of what is borrowed; the compiled ones (subscribers.pxd) count no references
    subscriber_of = attrgetter("subscriber")
    entry_hash_of = attrgetter("hash")
    set_array_of = attrgetter("array")


def new_entry(subscriber: object, hash: int, options: dict[str, Any] | None) -> Entry:
    entry: Entry = new_leaf(Entry, subscriber, options)
    entry.subscriber = subscriber
    entry.hash = hash
    entry.options = options
    return entry


def _new_node(bitmap: int, array: tuple[Any, ...], size: int) -> SetNode:
    node: SetNode = SetNode.__new__(SetNode)
    node.bitmap = bitmap
    node.array = array
    node.size = size
    settle(node)
    return node


def subscriber_hash(subscriber: object) -> int:
    """Return the mixed hash of a subscriber; raises what its `__hash__` raises (TypeError if it has none)."""
    return mix(hash(subscriber))


def _same(entry: Entry, subscriber: object, hash: int, edit: Edit | None) -> bool:
    if entry.hash != hash:
        return False
    if entry.subscriber is subscriber:
        return True
    return bool(entry.subscriber == subscriber) if edit is None else edit.agree(entry.subscriber, subscriber, None)


def is_held(subscriber: object) -> bool:
    """Return whether this is a weak reference instead of a subscriber."""
    kind = type(subscriber)
    return kind is Held or kind is HeldMethod


def living(entry: Entry) -> Entry | None:
    """Return the entry, with its subscriber instead of a weak reference; None if the subscriber is no longer alive.
    O(1), wait-free."""
    if not is_held(entry.subscriber):
        return entry
    subscriber = entry.subscriber()
    return None if subscriber is None else new_entry(subscriber, entry.hash, entry.options)


def set_size(subscribers: Any) -> int:
    """Return the number of subscribers. O(1)."""
    if subscribers is None:
        return 0
    if isinstance(subscribers, Entry):
        return 1
    if isinstance(subscribers, SetNode):
        large: SetNode = subscribers
        return large.size
    return len(subscribers)


def find_entry(subscribers: Any, subscriber: object, hash: int, edit: Edit | None = None) -> Entry | None:
    """Return the subscriber's entry, or None. O(log n). An `edit` remembers the results of users' `__eq__`."""
    shift = 0
    while isinstance(subscribers, SetNode):
        node: SetNode = subscribers
        flag = 1 << ((hash >> shift) & _MASK)
        if not node.bitmap & flag:
            return None
        subscribers = node.array[popcount(node.bitmap & (flag - 1))]
        shift += _BITS
    if subscribers is None:
        return None
    if isinstance(subscribers, Entry):
        return subscribers if _same(subscribers, subscriber, hash, edit) else None
    pos = _position(subscribers, subscriber, hash, edit)
    return None if pos < 0 else subscribers[pos]


def _position(entries: tuple[Any, ...], subscriber: object, hash: int, edit: Edit | None) -> int:
    for pos, entry in enumerate(entries):
        if _same(entry, subscriber, hash, edit):
            return pos
    return -1


def with_entry(subscribers: Any, entry: Entry, found: Entry | None) -> Any:
    """Return the set with `entry`, which replaces `found`, its subscriber's present entry, unless that is None."""
    if subscribers is None:
        return entry
    if isinstance(subscribers, SetNode):
        return _node_with(subscribers, entry, found, 0)
    if isinstance(subscribers, Entry):
        return entry if found is not None else (subscribers, entry)
    if found is not None:
        return replaced(subscribers, _index(subscribers, found), entry)
    if len(subscribers) < INLINE:
        return inserted(subscribers, len(subscribers), entry)
    large: Any = _new_node(0, (), 0)
    for present in subscribers:
        large = _node_with(large, present, None, 0)
    return _node_with(large, entry, None, 0)


def without_entry(subscribers: Any, found: Entry) -> Any:
    """Return the set without the entry `found`, which it holds; None if that was the last."""
    if isinstance(subscribers, Entry):
        return None
    if isinstance(subscribers, SetNode):
        return _node_without(subscribers, found, 0)
    left = removed(subscribers, _index(subscribers, found))
    return left[0] if len(left) == 1 else left


def _index(entries: tuple[Any, ...], found: Entry) -> int:
    """Return the place of `found`, by identity: users' code need not compare a second time."""
    for pos, entry in enumerate(entries):
        if entry is found:
            return pos
    raise AssertionError("the entry was read from this set")


def _node_with(node: SetNode, entry: Entry, found: Entry | None, shift: int) -> SetNode:
    flag = 1 << ((entry.hash >> shift) & _MASK)
    pos = popcount(node.bitmap & (flag - 1))
    if not node.bitmap & flag:
        return _new_node(node.bitmap | flag, inserted(node.array, pos, entry), node.size + 1)
    child = node.array[pos]
    grown = _child_with(child, entry, found, shift + _BITS)
    size = node.size if found is not None else node.size + 1
    return _new_node(node.bitmap, replaced(node.array, pos, grown), size)


def _child_with(child: Any, entry: Entry, found: Entry | None, shift: int) -> Any:
    if isinstance(child, SetNode):
        return _node_with(child, entry, found, shift)
    if child is found and found is not None:
        return entry
    if shift >= _HASH_BITS:  # the hashes agree in every bit
        if isinstance(child, Entry):
            return (child, entry)
        if found is not None:
            return replaced(child, _index(child, found), entry)
        return inserted(child, len(child), entry)
    other: Entry = child
    below = _new_node(1 << ((other.hash >> shift) & _MASK), (other,), 1)
    return _node_with(below, entry, None, shift)


def _node_without(node: SetNode, found: Entry, shift: int) -> Any:
    """Return an Entry if only one is left, so no path is longer than needed."""
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
            shrunk = without_entry(child, found)
        array = replaced(node.array, pos, shrunk)
        bitmap = node.bitmap
    if len(array) == 1 and isinstance(array[0], Entry):
        return array[0]
    return _new_node(bitmap, array, node.size - 1)


def iter_entries(subscribers: Any) -> Iterator[Entry]:
    """Yield every entry."""
    stack = [subscribers]
    while stack:
        top = stack.pop()
        if isinstance(top, Entry):
            yield top
        elif top is not None:
            stack.extend(branches_of(top))


def branches_of(node: Any) -> tuple[Any, ...]:
    if isinstance(node, SetNode):
        large: SetNode = node
        return large.array
    return node  # type: ignore[no-any-return]


def _same_subscriber(one: Entry, other: Entry) -> bool:
    return _same(one, other.subscriber, other.hash, None)


def changed_entries(
    older: Any, newer: Any, same: Callable[[Any, Any], bool] = _same_subscriber
) -> Iterator[tuple[Entry | None, Entry | None]]:
    """Yield (old, new) for every subscriber whose entry is not the same object in both sets; None if one set has none.

    Nodes that both sets share are skipped. `same` tells whether two entries belong together; by default, they do if
    their subscribers are equal.
    """
    stack: list[tuple[Any, Any]] = [(older, newer)]
    while stack:
        x, y = stack.pop()
        if x is y:
            continue
        if isinstance(x, SetNode) and isinstance(y, SetNode):
            stack.extend(_branch_pairs(x, y))
            continue
        left = list(iter_entries(x))
        for new in iter_entries(y):
            old = next((entry for entry in left if same(entry, new)), None)
            if old is not None:
                left.remove(old)
            if old is not new:
                yield old, new
        for entry in left:
            yield entry, None


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


def check_set(subscribers: Any) -> None:
    """Raise AssertionError if the set is ill-formed, or does not find one of its entries by the subscriber."""
    check_shape(subscribers)
    for entry in iter_entries(subscribers):
        assert find_entry(subscribers, entry.subscriber, entry.hash) is entry, f"{entry.subscriber!r} is not found"


def check_shape(subscribers: Any) -> None:
    """Raise AssertionError if the set is ill-formed, however its entries are compared."""
    if subscribers is None or isinstance(subscribers, Entry):
        return
    if isinstance(subscribers, SetNode):
        _check_node(subscribers, 0, 0)
    else:
        assert 2 <= len(subscribers) <= INLINE, f"{len(subscribers)} entries inline"
    entries = list(iter_entries(subscribers))
    assert len(entries) == set_size(subscribers), f"{len(entries)} entries, size {set_size(subscribers)}"


def _check_node(node: SetNode, shift: int, path: int) -> None:
    assert popcount(node.bitmap) == len(node.array), f"bitmap {node.bitmap:b}, {len(node.array)} branches"
    assert shift == 0 or node.size > 1, "a node for a single entry"
    groups = groups_of(node.bitmap)
    for group, child in zip(groups, node.array, strict=True):
        assert not isinstance(child, tuple) or shift + _BITS >= _HASH_BITS, "a list of entries above the last bit"
        if isinstance(child, SetNode):
            _check_node(child, shift + _BITS, path | group << shift)
