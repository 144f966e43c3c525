"""Which version of which directory a trie has the content of, or began with, in this process."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from snapshot.published.manifest import Mark, Version
from subtrie import SubscriptionTrie

_origins: WeakKeyDictionary[SubscriptionTrie, Mark] = WeakKeyDictionary()


def note_origin(trie: SubscriptionTrie, version: Version) -> None:
    """Note that a trie contains everything up to a version."""
    _origins[trie] = version.marked()


def origin_of(trie: SubscriptionTrie) -> Mark | None:
    """The version that a trie came from; None if it came from none, or is a fork or a snapshot of one that did."""
    return _origins.get(trie)
