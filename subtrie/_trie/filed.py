"""Persistent sets of filters, as the index keeps one for each subscriber: immutable, and a change copies a few nodes.

    None                      nothing
    a key, or a Filing        one filter: what is filed under its key
    tuple                     up to INLINE
    Wide(parts, size)         more: sixteen such sets, by four bits of the hash

A key is a filter's text, or (filter, queue) if a queue group was named. Keys are of exact types, so no users' code
compares them. A `Filing` stands for its key as long as the change that files it is in progress. Most subscribers have
one filter, and there the set is the text itself. A tuple of one holds a key that is a tuple.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import inserted, removed, replaced, untrack_constant
    from ctrie._nodes import mix
    from ctrie._slot import Slot

INLINE = 16
_BITS = 4
_MASK = 15
_HASH_BITS = 64


class Filing:
    """A key that a thread is filing, and how far that is (reverse_index.py). It leads to texts only, so the collector
    need not know of it."""

    __slots__ = ("key", "others", "state")
    key: Any
    state: Slot
    others: tuple[Filing, ...]  # those that other threads had not confirmed when this one took their place


class Wide:
    """A large set: one set for each group of hash bits."""

    __slots__ = ("parts", "size")
    parts: tuple[Any, ...]
    size: int


def _new_wide(parts: tuple[Any, ...], size: int) -> Wide:
    wide: Wide = Wide.__new__(Wide)
    wide.parts = parts
    wide.size = size
    untrack_constant(wide)
    return wide


def key_filed(member: Any) -> Any:
    """Return the key of a member."""
    if isinstance(member, Filing):
        filing: Filing = member
        return filing.key
    return member


def _hash(key: Any) -> int:
    return mix(hash(key))


def _several(filed: Any) -> tuple[Any, ...]:
    if isinstance(filed, tuple):
        return filed
    return () if filed is None else (filed,)


def _set_of(members: tuple[Any, ...]) -> Any:
    """Return the set of a few members."""
    if len(members) == 1 and not isinstance(members[0], tuple):
        return members[0]
    untrack_constant(members)
    return members if members else None


def _position(members: tuple[Any, ...], key: Any) -> int:
    for pos, member in enumerate(members):
        own = key_filed(member)
        if own is key or own == key:
            return pos
    return -1


def _position_known(members: tuple[Any, ...], key: Any) -> int:
    """Return where the member with this key is. Raises KeyError: to no other place may anything be written."""
    pos = _position(members, key)
    if pos < 0:
        raise KeyError(key)
    return pos


def find_filed(filed: Any, key: Any) -> Any:
    """Return the member with this key, or None. O(log n)."""
    if isinstance(filed, Wide):
        hash = _hash(key)
        while isinstance(filed, Wide):
            wide: Wide = filed
            filed = wide.parts[hash & _MASK]
            hash >>= _BITS
    members = _several(filed)
    pos = _position(members, key)
    return None if pos < 0 else members[pos]


def with_filed(filed: Any, member: Any) -> Any:
    """Return the set with `member` in place of any that has its key."""
    key = key_filed(member)
    return _with(filed, member, key, _hash(key), 0, find_filed(filed, key) is None)


def _with(filed: Any, member: Any, key: Any, hash: int, shift: int, is_new: bool) -> Any:
    if isinstance(filed, Wide):
        wide: Wide = filed
        place = (hash >> shift) & _MASK
        part = _with(wide.parts[place], member, key, hash, shift + _BITS, is_new)
        return _new_wide(replaced(wide.parts, place, part), wide.size + is_new)
    members = _several(filed)
    if not is_new:
        return _set_of(replaced(members, _position_known(members, key), member))
    if len(members) < INLINE or shift >= _HASH_BITS:  # in the latter case the hashes agree in every bit
        return _set_of(inserted(members, len(members), member))
    large: Any = _new_wide((None,) * (_MASK + 1), 0)
    for present in members:
        own = key_filed(present)
        large = _with(large, present, own, _hash(own), shift, True)
    return _with(large, member, key, hash, shift, True)


def without_filed(filed: Any, key: Any) -> Any:
    """Return the set without the member that has this key; None if there is nothing left. Raises KeyError."""
    return _without(filed, key, _hash(key), 0)


def _without(filed: Any, key: Any, hash: int, shift: int) -> Any:
    if not isinstance(filed, Wide):
        members = _several(filed)
        return _set_of(removed(members, _position_known(members, key)))
    wide: Wide = filed
    place = (hash >> shift) & _MASK
    parts = replaced(wide.parts, place, _without(wide.parts[place], key, hash, shift + _BITS))
    if wide.size - 1 > INLINE // 2:
        return _new_wide(parts, wide.size - 1)
    return _set_of(tuple([member for part in parts for member in iter_filed(part)]))


def iter_filed(filed: Any) -> Iterator[Any]:
    """Yield every member."""
    stack = [filed]
    while stack:
        top = stack.pop()
        if isinstance(top, Wide):
            wide: Wide = top
            stack.extend(wide.parts)
        else:
            yield from _several(top)


def check_filed(filed: Any) -> None:
    """Raise AssertionError if the set is ill-formed, or does not find one of its members."""
    members = list(iter_filed(filed))
    assert members, "a set without members"
    for member in members:
        assert find_filed(filed, key_filed(member)) is member, f"{member!r} is not found"
    _check_shape(filed, 0)


def _check_shape(filed: Any, shift: int) -> None:
    if isinstance(filed, Wide):
        wide: Wide = filed
        assert wide.size == len(list(iter_filed(wide))) > INLINE // 2, f"{wide.size} members in a large set"
        for part in wide.parts:
            _check_shape(part, shift + _BITS)
    elif isinstance(filed, tuple):
        assert len(filed) <= INLINE or shift >= _HASH_BITS, f"{len(filed)} members inline"
        assert len(filed) > 1 or isinstance(filed[0], tuple), "a tuple for a single text"
