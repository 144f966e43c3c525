"""The words of a topic, as a search has them.

This is the interpreted text. In the compiled twin (`words.pxd`) they are found and hashed in the text of the topic, and
are no objects.
"""

from __future__ import annotations

from operator import attrgetter

from subtrie._trie.match.plan import Plan, word_hash
from subtrie.dialects import Dialect

# Places of words in a topic: i is that of the word at i, PAIRS + i that of the two from there on.
MOST_PLACES = 63  # words further on are only compared
PAIRS = 64
ALL = 128  # all words together
ANYWHERE = 129  # no words, which every topic has

_SALT, _FACTOR, _MASK64 = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, (1 << 64) - 1


class Words:
    """The words of a topic, and the hash of each where it stands; whether filters that begin with a wildcard do not
    see it."""

    __slots__ = ("hashes", "is_reserved", "strings")
    strings: tuple[str, ...]
    hashes: list[int]
    is_reserved: bool


def put_words(words: Words, plan: Plan | None, dialect: Dialect, topic: str) -> None:
    """Split a topic, in place if there is a plan and it can. Raises as the dialect does."""
    put_strings(words, dialect, dialect.split_topic(topic))


def put_strings(words: Words, dialect: Dialect, strings: tuple[str, ...]) -> None:
    """Take words as a dialect has split them."""
    words.strings = strings
    words.is_reserved = dialect.is_reserved(strings)
    words.hashes = [hash_of_one(i, word_hash(word)) for i, word in enumerate(strings)]


def release_words(words: Words) -> None:
    """Release what was taken for words. For the compiled twin."""


def count_of(words: Words) -> int:
    """Return how many there are."""
    return len(words.strings)


def hash_of(words: Words, i: int) -> int:
    """Return the hash of one where it stands."""
    return words.hashes[i]


def is_word(words: Words, i: int, text: str) -> bool:
    """Return whether a word is this one."""
    return words.strings[i] == text


def strings_of(words: Words) -> tuple[str, ...]:
    """Return all of them."""
    return words.strings


is_reserved = attrgetter("is_reserved")


def hash_of_one(i: int, hash: int) -> int:
    """Return the hash of a word at a place, given that of the word."""
    return hash ^ ((i + 1) * _SALT & _MASK64)


def hash_of_more(one: int, other: int) -> int:
    """Return the hash of words and one more, given those of both."""
    return (one * _FACTOR & _MASK64) ^ other


def bit_of_word(hash: int) -> int:
    """Return the bit of a word where it stands (needs.py)."""
    return 1 << (hash >> 48 & 63)


as_number = int
