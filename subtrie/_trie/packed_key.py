"""S-nodes whose keys are texts.

This is the interpreted text; the compiled body (`packed_key.pyx`) keeps a text in the node itself, or in as few bytes
as it takes (`packed_key.h`), and makes a string of it for whoever asks for the key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ctrie._nodes import SNode


class TextNode(SNode):
    """An S-node whose key is a text: words, joined by a separator."""

    __slots__ = ("key",)
    key: str

    def is_for(self, key: Any, equal: Callable[[Any, Any], Any] | None) -> bool:
        return bool(self.key == key if equal is None else equal(self.key, key))


def drop_texts(kind: type[TextNode]) -> None:
    """Let nodes of this type, some of them plain (untracked.h), be dropped with their texts. For the compiled twin."""


def set_key(node: TextNode, key: str) -> None:
    """Give a new node its key."""
    node.key = key


def copy_key(node: TextNode, other: TextNode) -> None:
    """Give a new node the key of another one."""
    node.key = other.key


def words_followed(node: TextNode, words: tuple[str | None, ...], start: int, separator: str) -> int:
    """Return how many of the first words of a node's key are those of `words` from `start` on, None being any word;
    below zero if the key goes on."""
    own = node.key.split(separator)
    taken = 0
    for word, wanted in zip(own, words[start:], strict=False):
        if wanted is not None and word != wanted:
            break
        taken += 1
    return taken if taken == len(own) else -taken


def key_begins(node: TextNode, word: str, separator: str) -> bool:
    """Tell whether `word` is the first word of a node's key."""
    return node.key == word or node.key.startswith(word + separator)
