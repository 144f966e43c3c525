"""Topics: the words of one, what a filter asks of them, and under which of them the index files it.

The words of a topic are looked up by where they stand: each by itself, each two side by side, and all together. The
compiled twin finds and hashes them in the text of the topic, as a trie does, and makes no string object for any
(words.py).
"""

# ruff: noqa: D102 - the methods of criteria are those of Criterion, and are explained there

from __future__ import annotations

from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import untrack_constant
    from ctrie._slot import borrow
    from subtrie._trie.match.plan import word_hash
    from subtrie._trie.match.walk import address, item_of, size_of
    from subtrie.fields.criteria import LEADS, TOPICS, Criterion
    from subtrie.fields.words import (
        ALL,
        ANYWHERE,
        MOST_PLACES,
        PAIRS,
        Words,
        as_number,
        bit_of_word,
        count_of,
        hash_of,
        hash_of_more,
        hash_of_one,
        is_reserved,
        is_word,
        put_strings,
        release_words,
        strings_of,
    )
else:
    from cython import address

from subtrie.dialects import Dialect

WORDS = 0  # what criteria on the words of a topic have in the place of a field's name: no str, as those are


def hash_of_all(words: Any) -> int:
    """Return the hash of all words together."""
    hash = ALL
    for i in range(count_of(words)):
        hash = hash_of_more(hash, hash_of(words, i))
    return hash


def stand_there(words: Any, key: Any, place: int) -> bool:
    """Return whether words are at a place as a key of the index says, which has its place and its words."""
    if as_number(item_of(key, 0)) != place:
        return False
    size = size_of(key) - 1
    if place == ALL and size != count_of(words):
        return False
    first = 0 if place >= ALL else place % PAIRS
    for i in range(size):  # noqa: SIM110 - a generator takes longer
        if not is_word(words, first + i, item_of(key, i + 1)):
            return False
    return True


# ------------------------------------------------------------------------------------------------------------ criteria


class Topic(Criterion):
    """The message's topic matches a filter. Made by `RoutingMatcher`, which tells the search the words of the topic.

    A filter without wildcards is filed under its words, all together. Another one is filed under the rarest two words
    side by side, or single word, before the first wildcard that stands for any number of words. At a crowded place it
    is filed under its other words, too, so the index is a trie of words where many filters have some in common.
    """

    __slots__ = ("_asked", "_begins_wild", "_is_left_to_dialect", "_is_open", "_least", "dialect", "filter", "words")
    dialect: Any
    filter: str
    words: tuple[str, ...]
    _asked: tuple[str | None, ...]  # the words before one that stands for many; None where any word may stand
    _is_open: bool  # whether there is one that stands for many,
    _least: int  # for how many at least,
    _is_left_to_dialect: bool  # and whether only the dialect knows what it matches
    _begins_wild: bool

    def __init__(self, dialect: Any, filter: str, words: tuple[str, ...]) -> None:
        one, many = dialect.one_word, dialect.many_words
        self.name = WORDS
        self.place = LEADS
        self.dialect = dialect
        self.filter = filter
        self.words = words
        self._is_open = many is not None and many in words
        asked = words[: words.index(many)] if self._is_open else words
        self._asked = tuple([None if word == one else word for word in asked])
        self._is_left_to_dialect = self._is_open and (type(dialect) is not Dialect or len(asked) + 1 < len(words))
        self._least = dialect.many_min if self._is_open and not self._is_left_to_dialect else 0
        self._begins_wild = len(words) > 0 and (words[0] == one or words[0] == many)
        untrack_constant(self._asked)

    def holds(self, value: Any) -> bool:
        """Return whether the words of a topic match."""
        if not cython.compiled:
            words = Words()
        put_strings(address(words), self.dialect, value)
        try:
            return topic_holds(self, address(words))
        finally:
            release_words(address(words))

    def is_found_exactly(self) -> bool:
        return False

    def is_implied_by(self, access: Criterion) -> bool:
        return type(access) is WordsAt and access.key[0] == ALL

    def leads(self) -> tuple[tuple[Criterion, ...], ...]:
        if not self._is_open and None not in self._asked:
            return ((WordsAt(ALL, self.words),),)
        literal = self.literal_words()
        places = {i for i, _ in literal}
        pairs = [(WordsAt(PAIRS + i, self.words[i : i + 2]),) for i, _ in literal if i + 1 in places]
        alone = [(WordsAt(i, (word,)),) for i, word in literal if i + 1 not in places and i - 1 not in places]
        return tuple(pairs + alone) or ((WordsAt(ANYWHERE, ()),),)

    def literal_words(self) -> list[tuple[int, str]]:
        """Return the words that every topic which matches has at the same positions, with these."""
        return [(i, word) for i, word in enumerate(self._asked[:MOST_PLACES]) if word is not None]

    def needs(self) -> int:
        """Return the bits of these words."""
        bits = 0
        for i, word in self.literal_words():
            bits |= bit_of_word(hash_of_one(i, word_hash(word)))
        return bits

    def steps(self, access: Any) -> list[Criterion]:
        """Return what this is filed under at crowded places, one after the other, where the first one is its access:
        the words that the access does not tell."""
        told: tuple[int, ...] = ()
        if type(access) is WordsAt and access.key[0] < ALL:
            at = access.key[0] % PAIRS
            told = (at, at + 1) if access.key[0] >= PAIRS else (at,)
        return [WordsAt(i, (word,)) for i, word in self.literal_words() if i not in told]

    def arguments(self) -> tuple[Any, ...]:
        return self.dialect, self.filter, self.words

    def identity(self) -> tuple[Any, ...]:
        return "Topic", self.filter


def topic_holds(topic: Topic, words: Any) -> bool:
    """Return whether a topic with these words matches. The dialect is asked only where words may follow one that stands
    for many."""
    asked = borrow(topic._asked)
    more = count_of(words) - size_of(asked)
    if more < topic._least or (more > 0 and not topic._is_open):
        return False
    for i in range(size_of(asked)):
        if item_of(asked, i) is not borrow(None) and not is_word(words, i, item_of(asked, i)):
            return False
    if topic._is_left_to_dialect:
        return bool(topic.dialect.matches(topic.words, strings_of(words)))
    return not (topic._begins_wild and is_reserved(words))


class WordsAt(Criterion):
    """Some words stand at a place of the topic. The index files filters under it; users do not see it."""

    __slots__ = ("key", "key_hash")
    key: tuple[Any, ...]  # the place, and the words
    key_hash: int

    def __init__(self, place: int, words: tuple[str, ...]) -> None:
        self.name = WORDS
        self.place = TOPICS
        self.key = (place, *words)
        self.key_hash = _hash_at(place, words)

    def holds(self, value: Any) -> bool:
        raise AssertionError("nobody asks this: what is filed under it is asked for itself")

    def arguments(self) -> tuple[Any, ...]:
        return self.key[0], self.key[1:]


def _hash_at(place: int, words: tuple[str, ...]) -> int:
    first = 0 if place >= ALL else place % PAIRS
    hash = place
    for i, word in enumerate(words):
        one = hash_of_one(first + i, word_hash(word))
        hash = one if i == 0 and place < ALL else hash_of_more(hash, one)
    return hash
