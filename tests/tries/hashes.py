"""Names on exact paths of a trie, so that a scenario can say in which nodes its threads meet.

Every C-node reads W bits of a mixed hash, its *group*. The names below choose their groups; `unmix` reverses the tries'
mixing, so that `raw_hash` can be given to a map as its hash function. Sets of subscribers are tries, too, with groups
of S bits.
"""

from __future__ import annotations

import functools
from typing import Final
from zlib import crc32

W: Final = 6
"""Bits of a hash that a node reads; `ctrie._machine` has the same."""

S: Final = 4
"""Bits of a hash that a node of a set of subscribers reads; `subtrie._trie.keyed` has the same."""


def on_path(*groups: int) -> int:
    """The hash of a key that takes branch `groups[0]` at the root, `groups[1]` one level below it, and so on, then
    branch 0.
    """
    return sum(group << W * level for level, group in enumerate(groups))


@functools.cache
def unmix(mixed: int) -> int:
    """The number that `mix` of `ctrie._nodes` turns into `mixed`."""
    h = mixed ^ mixed >> 31 ^ mixed >> 62
    h = h * pow(0x94D049BB133111EB, -1, 1 << 64) & 0xFFFFFFFFFFFFFFFF
    h = h ^ h >> 27 ^ h >> 54
    h = h * pow(0xBF58476D1CE4E5B9, -1, 1 << 64) & 0xFFFFFFFFFFFFFFFF
    return h ^ h >> 30 ^ h >> 60


HASHES: Final[dict[str, int]] = {
    "a": on_path(1, 1), "a2": on_path(1, 2), "a3": on_path(1, 3),
    "b": on_path(2), "c": on_path(3), "d": on_path(4),
    "low1": on_path(8, 1, 1), "low2": on_path(8, 1, 2), "low3": on_path(8, 2),
    "deep1": on_path(6, 6, 6, 1), "deep2": on_path(6, 6, 6, 2), "deep3": on_path(6, 7),
    "y1": on_path(7, 1), "y2": on_path(7, 2), "y3": on_path(7, 3),
    "same1": 1 << 63 | 9, "same2": 1 << 63 | 9, "same3": 1 << 63 | 9,
    "a.b": on_path(12, 1), "a.c": on_path(12, 2), "a.d": on_path(12, 3), "a.y1": on_path(13, 1), "a.y2": on_path(13, 2),
}  # fmt: skip
"""The mixed hashes of the names; those of `same1`, `same2` and `same3` agree in all 64 bits. `a.b` and the like are
whole texts, for a trie that keeps filters so."""

SUBSCRIBER_HASHES: Final[dict[str, int]] = {
    "s0": 0 | 1 << S, "s9": 0 | 2 << S,
    "s1": 1, "s2": 2, "s3": 3, "s4": 4, "s5": 5, "s8": 8,
    "s6": 1 << 63 | 6, "s7": 1 << 63 | 6,
    "x": 10, "y": 11, "z": 12, "later": 13,
}  # fmt: skip
"""The mixed hashes of the subscribers: `s9` and `s0` share a branch, and part below it; those of `s6` and `s7` agree in
all 64 bits."""


def raw_hash(name: str) -> int:
    """The hash that the tries' mixing turns into the name's hash; for other texts any hash, always the same."""
    mixed = HASHES.get(name)
    return crc32(name.encode()) if mixed is None else unmix(mixed)
