"""Of the subscribers that a match has found, the first of each.

This is the interpreted text of `dedupe.pyx`, which has no dictionary.
"""

from __future__ import annotations

from typing import Any

from subtrie._trie.match.walk import Buffer


def drop_repeated(subscribers: Buffer) -> None:
    """Keep the first of each subscriber. Users' code runs only to compare two objects whose hashes agree."""
    by_hash: dict[int, list[Any]] = {}
    kept: list[Any] = []
    for at in range(0, subscribers.count, 2):
        one, hash = subscribers.items[at : at + 2]
        same_hash = by_hash.setdefault(hash, [])
        if not any(other is one or other == one for other in same_hash):
            same_hash.append(one)
            kept += (one, hash)
    subscribers.items = kept
