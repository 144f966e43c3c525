"""S-nodes whose keys are texts.

This is the interpreted twin. The compiled one (`packed_key.pyx`) stores the text in the node itself, or in as few bytes
as it needs (`packed_key.h`), and makes a string of it when the key is read.
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
    """For the compiled twin: free the text of a node of this type, which is a leaf, together with the node."""


def set_key(node: TextNode, key: str) -> None:
    """Give a new node its key."""
    node.key = key


def copy_key(node: TextNode, other: TextNode) -> None:
    """Give a new node the key of another one."""
    node.key = other.key


def words_followed(node: TextNode, words: tuple[str | None, ...], start: int, separator: str) -> int:
    """Return how many of the first words of a node's key agree with `words` from `start` on; None agrees with any word.

    The number is negative if the key has more words."""
    own = node.key.split(separator)
    followed = 0
    for word, wanted in zip(own, words[start:], strict=False):
        if wanted is not None and word != wanted:
            break
        followed += 1
    return followed if followed == len(own) else -followed


def words_followed_in(node: Any, words: tuple[str, ...], start: int, separator: str) -> int:
    """The same as `words_followed`, for a borrowed node."""
    return words_followed(node, words, start, separator)


def key_begins(node: TextNode, word: str, separator: str) -> bool:
    """Return whether `word` is the first word of a node's key."""
    return node.key == word or node.key.startswith(word + separator)
