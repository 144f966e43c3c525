"""Reverse match: the stored filters that share a topic with a given one, found by a walk of the trie.

Matching (traversal.py) carries positions in a topic; this walk carries positions in the given filter. A position is the
number of its words that some text has used up which the path so far matches, too. Each step takes a word that fits both
filters, whatever came before. So a set of positions is all that the walk needs to know, and it enters each level once.
If the given filter wants particular words at a level, only these are looked up. But in the first level of a trie with
`exact=True` (exact_layout.py), all whole texts are compared, unless the given filter has no wildcard.

A position is kept twice, since a reserved word (MQTT's `$`) is special only as the first word of a topic: in `fresh`
while the text may still be empty, in `after` once it has a word. `overlaps` in dialects.py is the specification.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from ctrie._nodes import snodes
from subtrie._trie.branch import is_wanted
from subtrie._trie.exact_layout import MARK, filter_words
from subtrie._trie.match.reading import branch_in, extended
from subtrie._trie.words import MARKED
from subtrie.dialects import Dialect, Words


class Positions(NamedTuple):
    """Sets of positions, as bits of an integer."""

    fresh: int  # no word so far
    after: int  # one or more


class Given:
    """The given filter, with its words as bits: bit i stands for the word between positions i and i + 1.

    A many-words wildcard that needs at least one word becomes a one-word wildcard and one for any number of words.
    Several wildcards for any number of words in a row become one.
    """

    def __init__(self, dialect: Dialect, words: Words) -> None:
        self.dialect = dialect
        self.whole = None if any(map(dialect.is_wild, words)) else dialect.join(words)
        self.starts_wild = bool(words) and dialect.is_wild(words[0])
        self.one = self.many = self.reserved = 0
        self.literal: dict[str, int] = {}
        self.size = 0
        for is_many, run in groupby(words, lambda word: word == dialect.many_words):
            if is_many:
                for _ in range(dialect.many_min * len(list(run))):
                    self._add(dialect.one_word)
                self.many |= 1 << self.size
                self.size += 1
            else:
                for word in run:
                    self._add(word)
        self.begin = Positions(self._closed(1), 0)

    def _add(self, word: str) -> None:
        bit = 1 << self.size
        self.size += 1
        if word == self.dialect.one_word:
            self.one |= bit
            return
        self.literal[word] = self.literal.get(word, 0) | bit
        if self._reserves(word):
            self.reserved |= bit

    def _reserves(self, word: str) -> bool:
        prefix = self.dialect.reserved_prefix
        return prefix is not None and word.startswith(prefix)

    def _closed(self, positions: int) -> int:
        """Add the positions after many-words wildcards, since many words may be none."""
        return positions | (positions & self.many) << 1

    def ends(self, at: Positions) -> bool:
        """Return whether the text may end here."""
        return bool(at.after >> self.size or (self.dialect.zero_words and at.fresh >> self.size))

    def takes_any_word(self, at: Positions) -> bool:
        return bool((at.fresh | at.after) & (self.one | self.many))

    def words_wanted(self, at: Positions) -> list[str]:
        return [word for word, bits in self.literal.items() if (at.fresh | at.after) & bits]

    def after_word(self, at: Positions, word: str, wild_before: bool) -> Positions:
        """Return the positions after `word` in the stored filter. `wild_before`: it began with a wildcard."""
        barred = self._reserves(word) and (wild_before or self.starts_wild)
        fitting = self.literal.get(word, 0) | self.one
        return Positions(0, self._stepped(0 if barred else at.fresh, fitting) | self._stepped(at.after, fitting))

    def after_one(self, at: Positions) -> Positions:
        """Return the positions after a one-word wildcard in the stored filter."""
        return Positions(0, self._any_word(at))

    def after_many(self, at: Positions) -> Positions:
        """Return the positions after a many-words wildcard in the stored filter: all from the first position on."""
        fresh = at.fresh
        if self.dialect.many_min:
            at, fresh = self.after_one(at), 0
        after = at.after | self._any_word(at)
        everything = (2 << self.size) - 1
        return Positions(fresh, everything & -(after & -after))

    def _any_word(self, at: Positions) -> int:
        everything = (1 << self.size) - 1
        # The stored filter begins with a wildcard, at the latest with this one, so a first word is not reserved.
        first = self._stepped(at.fresh, everything & ~self.many & ~self.reserved)
        return first | self._stepped(at.after, everything & ~self.many)

    def _stepped(self, positions: int, fitting: int) -> int:
        return self._closed((positions & fitting) << 1 | positions & self.many)


def overlapping_paths(root: Any, first: Any, exact: bool, given: Given, hash_of: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (branch, path) for every stored filter that shares a topic with `given`, in the read-only trie whose first
    I-node is `first`. O(levels that share the beginning of a topic with `given`, times their words that do). If the
    trie is `exact` and `given` has a wildcard, also O(filters without a wildcard)."""
    stack: list[tuple[Any, Any, Positions, bool]] = [(first, None, given.begin, False)]
    while stack:
        level, path, at, wild_before = stack.pop()
        for branch in _candidates(root, level, exact and path is None, given, at, hash_of):
            reached = at
            starts_wild = wild_before
            for word in filter_words(branch, given.dialect.separator):
                reached = _after(given, reached, word, starts_wild)
                starts_wild = starts_wild or given.dialect.is_wild(word)
            here = extended(path, branch)
            if is_wanted(branch) and given.ends(at if _is_no_words(given, branch, path) else reached):
                yield branch, here
            if branch.next is not None and reached != (0, 0):
                stack.append((branch.next, here, reached, starts_wild))


def _candidates(root: Any, level: Any, has_texts: bool, given: Given, at: Positions, hash_of: Any) -> Iterator[Any]:
    """Yield the branches of a level that may share a topic. `has_texts`: the level holds whole texts."""
    if given.takes_any_word(at) or (has_texts and given.whole is None):
        yield from snodes(root, [level])
        return
    dialect = given.dialect
    wanted = [dialect.one_word, *([] if dialect.many_words is None else [dialect.many_words])]
    wanted += given.words_wanted(at) if given.whole is None or not has_texts else [given.whole]
    if given.ends(at) and dialect.zero_words:
        wanted.append("")
    hashes = {word: hash_of(dialect, word) for word in wanted}
    for word, hash in [*hashes.items(), *([(MARK, MARKED)] if has_texts else [])]:
        branch = branch_in(root, level, word, hash, dialect.separator)
        if branch is not None:
            yield branch


def _is_no_words(given: Given, branch: Any, path: Any) -> bool:
    """Return whether this is the filter of no words, which is stored as one empty word."""
    return path is None and branch.key == "" and given.dialect.zero_words


def _after(given: Given, at: Positions, word: str, wild_before: bool) -> Positions:
    if word == given.dialect.one_word:
        return given.after_one(at)
    if word == given.dialect.many_words:
        return given.after_many(at)
    return given.after_word(at, word, wild_before)
