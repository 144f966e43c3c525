"""Which version of which directory a trie has the content of, or began with, in this process."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from snapshot.published.manifest import Version
from subtrie import SubscriptionTrie


class Origin(NamedTuple):
    """The version that a trie was restored from, or published as.

    :param directory: the name of the directory
    :param version: the number of the version
    :param digest: the digest of its manifest
    """

    directory: str
    version: int
    digest: str


_origins: WeakKeyDictionary[SubscriptionTrie, Origin] = WeakKeyDictionary()


def note_origin(trie: SubscriptionTrie, version: Version) -> None:
    """Note that a trie contains everything up to a version."""
    _origins[trie] = Origin(version.directory, version.version, version.digest)


def origin_of(trie: SubscriptionTrie) -> Origin | None:
    """The version that a trie came from; None if it came from none, or is a fork or a snapshot of one that did."""
    return _origins.get(trie)
