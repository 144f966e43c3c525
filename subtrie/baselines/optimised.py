"""The optimised inverted bitmap: a bitmap of subscriptions for every word at every position.

At each position there is a row for each word that some filter names there, a row *other* for all other words, and a row
*null* for topics that have ended before it. A subscription has its bit set in all rows that do not exclude it. So a
topic of n words is matched by the AND of at most n + 1 rows: nothing is read after the first null row, since no later
row excludes what is left. An empty AND ends the search at once. A topic longer than every filter is dropped unread.

That is exact for words and one-word wildcards. A filter with a many-words wildcard is *open*. Its rows represent its
words up to that wildcard, then a one-word wildcard for each further word that it needs at least; after that they
exclude nothing. If the words after the first many-words wildcard are wild too, nothing is lost. If they are not, the
subscription is *inexact*: if it is left after the AND, it is compared with the topic in full.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from subtrie.baselines.bitmap import Bitmap, Numbered
from subtrie.dialects import AMQP, Dialect, Words


class _Mask(NamedTuple):
    """The content of a filter's rows."""

    words: Words
    """A word, or the one-word wildcard, for each position."""
    is_open: bool
    """Whether any number of words may follow."""
    is_exact: bool
    """Whether the mask matches nothing that the filter does not match."""


@dataclass
class _Position:
    """The rows of one position in a topic."""

    other: Bitmap
    null: Bitmap
    named: dict[str, Bitmap] = field(default_factory=dict)
    namers: Counter[str] = field(default_factory=Counter)
    """For each word, the number of subscriptions that name it here."""


class OptimisedMatcher(Numbered):
    """One bitmap for each word at each position.

    A subscribe, and an unsubscribe, is O(longest filter), plus the number of words named at each position where its
    filter is wild. As to threads, see `Numbered`.

    Args:
        dialect: how filters and topics are written.

    >>> matcher = OptimisedMatcher()
    >>> matcher.subscribe("*.stock.#", "ann"), matcher.subscribe("eur.*.db", "bob")
    (True, True)
    >>> sorted(matcher.match("eur.stock.db")), matcher.match("eur.stock")
    (['ann', 'bob'], ('ann',))
    """

    def __init__(self, dialect: Dialect = AMQP) -> None:
        super().__init__(dialect)
        self._positions: list[_Position] = []
        self._lengths: Counter[int] = Counter()
        self._all = Bitmap()
        self._open = Bitmap()
        self._inexact = Bitmap()

    def _file(self, number: int, words: Words) -> None:
        mask = self._mask(words)
        self._lengths[len(mask.words)] += 1
        while len(self._positions) < len(mask.words):
            self._positions.append(_Position(other=self._open.copy(), null=self._all.copy()))
        for position in range(len(self._positions)):
            self._set(number, mask, position)
        self._all.add(number)
        if mask.is_open:
            self._open.add(number)
        if not mask.is_exact:
            self._inexact.add(number)

    def _remove(self, number: int, words: Words) -> None:
        mask = self._mask(words)
        for position in range(len(self._positions)):
            self._clear(number, mask, position)
        for row in (self._all, self._open, self._inexact):
            row.discard(number)
        self._lengths[len(mask.words)] -= 1
        self._lengths += Counter()  # drops entries that have fallen to zero
        del self._positions[max(self._lengths, default=0) :]

    def match(self, topic: str) -> tuple[Any, ...]:
        """Return the subscribers that want the topic.

        O(words of the topic) operations on bitmaps, and a comparison for each inexact subscription that is left.
        """
        words = self.dialect.split_topic(topic)
        with self._lock:
            left = self._and(words)
            if self._inexact:
                refuted = [n for n in left & self._inexact if not self._verify(n, words)]
                left = left - Bitmap(refuted)
            return tuple(self._numbers.subscribers(left))

    def has_match(self, topic: str) -> bool:
        """Return whether any subscriber wants the topic: stops at the first subscription that is known to match."""
        words = self.dialect.split_topic(topic)
        with self._lock:
            left = self._and(words)
            inexact = left & self._inexact
            return len(left) > len(inexact) or any(self._verify(number, words) for number in inexact)

    def check(self) -> None:
        """Check every bit of every row."""
        self._numbers.check()
        masks = {number: self._mask(self._numbers.filter(number)) for number in self._numbers}
        lengths = Counter(len(mask.words) for mask in masks.values())
        assert lengths == self._lengths, "the lengths are miscounted"
        assert len(self._positions) == max(lengths, default=0), "positions beyond the longest filter"
        assert list(self._all) == list(masks), "not all subscriptions are in the row of all"
        open_ended = [n for n, mask in masks.items() if mask.is_open]
        assert list(self._open) == open_ended, "wrong row: open"
        inexact = [n for n, mask in masks.items() if not mask.is_exact]
        assert list(self._inexact) == inexact, "wrong row: inexact"
        for index, position in enumerate(self._positions):
            self._check_position(index, position, masks)

    def _check_position(self, index: int, position: _Position, masks: dict[int, _Mask]) -> None:
        spoken = [mask for mask in masks.values() if self._speaks(mask, index)]
        namers = Counter(mask.words[index] for mask in spoken if not self._any(mask, index))
        assert namers == position.namers, f"the namers of position {index} are miscounted"
        assert namers.keys() == position.named.keys(), f"a row of position {index} that nobody names"
        ended = [number for number, mask in masks.items() if not self._speaks(mask, index)]
        assert list(position.null) == ended, f"wrong row: null of position {index}"
        anything = [number for number, mask in masks.items() if self._any(mask, index)]
        assert list(position.other) == anything, f"wrong row: other of position {index}"
        for word, row in position.named.items():
            wild = [] if self._bars_wild(word, index) else anything
            naming = [n for n, mask in masks.items() if self._speaks(mask, index) and mask.words[index] == word]
            assert list(row) == sorted({*wild, *naming}), f"wrong row: {word!r} of position {index}"

    def _mask(self, filter: Words) -> _Mask:
        dialect = self.dialect
        if dialect.many_words not in filter:
            return _Mask(filter, is_open=False, is_exact=True)
        start = filter.index(dialect.many_words)
        rest = filter[start:]
        least = sum(dialect.many_min if word == dialect.many_words else 1 for word in rest)
        words = filter[:start] + (dialect.one_word,) * least
        return _Mask(words, is_open=True, is_exact=all(map(dialect.is_wild, rest)))

    def _speaks(self, mask: _Mask, index: int) -> bool:
        return index < len(mask.words)

    def _any(self, mask: _Mask, index: int) -> bool:
        """Return whether a mask accepts any word at a position."""
        return mask.words[index] == self.dialect.one_word if self._speaks(mask, index) else mask.is_open

    def _bars_wild(self, word: str, index: int) -> bool:
        """Return whether wildcards do not match a word at a position: a reserved first word."""
        return index == 0 and self.dialect.is_reserved((word,))

    def _set(self, number: int, mask: _Mask, index: int) -> None:
        position = self._positions[index]
        if not self._speaks(mask, index):
            position.null.add(number)
        if self._any(mask, index):
            position.other.add(number)
            for word, row in position.named.items():
                if not self._bars_wild(word, index):
                    row.add(number)
        elif self._speaks(mask, index):
            word = mask.words[index]
            if word not in position.named:
                position.named[word] = Bitmap() if self._bars_wild(word, index) else position.other.copy()
            position.named[word].add(number)
            position.namers[word] += 1

    def _clear(self, number: int, mask: _Mask, index: int) -> None:
        position = self._positions[index]
        position.null.discard(number)
        if self._any(mask, index):
            position.other.discard(number)
            for row in position.named.values():
                row.discard(number)
        elif self._speaks(mask, index):
            word = mask.words[index]
            position.named[word].discard(number)
            position.namers[word] -= 1
            if not position.namers[word]:
                del position.named[word], position.namers[word]

    def _and(self, topic: Words) -> Bitmap:
        """Return the subscriptions that no row excludes; the bitmap may be one of the rows."""
        longer = len(topic) > len(self._positions)
        left = self._open if longer else self._all
        if longer and not (left and self._positions):
            return Bitmap() if self.dialect.is_reserved(topic) else left
        for index, (word, position) in enumerate(zip(topic, self._positions, strict=False)):
            if word in position.named:  # not `get`: see locked.py
                row = position.named[word]
            elif self._bars_wild(word, index):
                return Bitmap()
            else:
                row = position.other
            left = left & row if index or longer else row
            if not left:
                return left
        return left & self._positions[len(topic)].null if len(topic) < len(self._positions) else left

    def _verify(self, number: int, topic: Words) -> bool:
        return self.dialect.matches(self._numbers.filter(number), topic)
