"""Keys on exact paths of a trie."""

from __future__ import annotations

from typing import NamedTuple

from tests.tries.hashes import on_path, unmix

__all__ = ["Key", "hash_of", "key", "unmix"]


class Key(NamedTuple):
    """A key whose mixed hash is `hash`, for tries made with `hash=hash_of`."""

    name: str
    hash: int

    def __repr__(self) -> str:
        return self.name


def key(name: str, *groups: int) -> Key:
    """Return a key that takes branch `groups[0]` at the root, `groups[1]` one level below it, and so on, then 0."""
    return Key(name, on_path(*groups))


def hash_of(key: Key) -> int:
    return unmix(key.hash)
