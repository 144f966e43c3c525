"""Subscriptions, as a filter keeps them: entries of a persistent set (keyed.py).

An entry holds its subscriber's hash, which was computed when it was subscribed. So matching never calls a user's
`__hash__`, and calls `__eq__` only for two different objects with equal hashes. If subscribers are weakly held, the
entry has a reference instead of the subscriber (weak_subscribers.py), and callers see the result of `living`.
"""

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import check_stack, leaf_after, new_leaf
    from ctrie._nodes import mix
    from subtrie._trie.keyed import Keyed

from subtrie._trie.exclusions import BUT, words_of
from subtrie._trie.options import one_of_equals
from subtrie._trie.weak_subscribers import Held, HeldMethod
from subtrie.dialects import Dialect


class Entry(Keyed):
    """A subscription: the subscriber, which is the key, and the options (None: none)."""

    __slots__ = ("options",)
    options: dict[str, Any] | None


class Excepting(Entry):
    """A subscription with exclusions (exclusions.py), which are among its options, too."""

    __slots__ = ("parts",)
    parts: tuple[tuple[str, ...], ...]  # the words of each


class Sole:
    """The only subscriber of a filter, with its options. Its branch has the hash (branch.py)."""

    __slots__ = ("options", "subscriber")
    subscriber: Any
    options: dict[str, Any]


leaf_after(Entry.__new__(Entry))
leaf_after(Sole.__new__(Sole))


if not cython.compiled:  # the compiled body is in subscribers.pxd

    def may_be_tracked(options: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the options if they may lead to something that the collector tracks, else None. A dict that holds
        nothing of that kind, and never changes, cannot be part of a cycle."""
        return options

    def subscriber_in(sole: Any) -> Any:
        """Return the subscriber of a borrowed Sole."""
        return sole.subscriber


def new_entry(subscriber: object, hash: int, options: dict[str, Any] | None = None) -> Entry:
    entry: Entry = new_leaf(Entry, subscriber, may_be_tracked(options))
    entry.key = subscriber
    entry.hash = hash
    entry.options = options
    return entry


def new_sole(subscriber: object, options: dict[str, Any]) -> Sole:
    sole: Sole = new_leaf(Sole, subscriber, may_be_tracked(options))
    sole.subscriber = subscriber
    sole.options = options
    return sole


def entry_alone(value: object, hash: int) -> Entry:
    """Return the entry of the only subscriber of a filter: of itself, or of a Sole."""
    if type(value) is Sole:
        sole: Sole = value
        return new_entry(sole.subscriber, hash, sole.options)
    return new_entry(value, hash, None)


def checked_entry(subscriber: object, hash: int, options: dict[str, Any] | None, dialect: Dialect) -> Entry:
    """Return the entry for options that have been checked. Equal options are one object."""
    if options is None:
        return new_entry(subscriber, hash, None)
    options = one_of_equals(options)
    if BUT not in options:
        return new_entry(subscriber, hash, options)
    return _excepting(subscriber, hash, options, words_of(dialect, options[BUT]))


def _excepting(
    subscriber: object, hash: int, options: dict[str, Any] | None, parts: tuple[tuple[str, ...], ...]
) -> Excepting:
    entry: Excepting = Excepting.__new__(Excepting)
    entry.key = subscriber
    entry.hash = hash
    entry.options = options
    entry.parts = parts
    return entry


def entry_of(subscriber: object, entry: Entry) -> Entry:
    """Return the same entry for an equal subscriber, or for the one that a weak reference leads to."""
    if isinstance(entry, Excepting):
        excepting: Excepting = entry
        return _excepting(subscriber, entry.hash, entry.options, excepting.parts)
    return new_entry(subscriber, entry.hash, entry.options)


def subscriber_hash(subscriber: object) -> int:
    """Return the mixed hash of a subscriber; raises what its `__hash__` raises (TypeError if it has none)."""
    check_stack()
    return mix(hash(subscriber))


def is_held(subscriber: object) -> bool:
    """Return whether this is a weak reference instead of a subscriber."""
    kind = type(subscriber)
    return kind is Held or kind is HeldMethod


def living(entry: Entry) -> Entry | None:
    """Return the entry, with its subscriber instead of a weak reference; None if the subscriber is no longer alive.
    O(1), wait-free."""
    if not is_held(entry.key):
        return entry
    subscriber = entry.key()
    return None if subscriber is None else entry_of(subscriber, entry)
