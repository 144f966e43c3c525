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

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Iterator
from itertools import groupby
from typing import Any

if not cython.compiled:
    from subtrie._trie.branch import Branch, is_wanted
    from subtrie._trie.match.reading import branch_by, branch_in, extended

from ctrie._nodes import snodes
from subtrie._trie.exact_layout import MARK, filter_words
from subtrie._trie.match.reading import begun_with
from subtrie._trie.words import MARKED
from subtrie.dialects import Dialect, Words


class Given:
    """The given filter, with its words as bits: bit i stands for the word between positions i and i + 1; and how far
    the walk has come with it.

    A many-words wildcard that needs at least one word becomes a one-word wildcard and one for any number of words.
    Several wildcards for any number of words in a row become one.
    """

    __slots__ = (
        "after", "fresh", "keys", "literal", "many", "many_min", "many_words", "one", "one_word",
        "prefix", "reserved", "separator", "size", "starts_wild", "whole", "zero_words",
    )  # fmt: skip
    # Sets of positions, as bits of an integer:
    fresh: int  # those without a word so far
    after: int  # those with one or more

    def __init__(self, dialect: Dialect, words: Words, hash_of: Any) -> None:
        self.separator = dialect.separator
        self.one_word, self.many_words = dialect.one_word, dialect.many_words
        self.many_min, self.zero_words, self.prefix = dialect.many_min, dialect.zero_words, dialect.reserved_prefix
        self.whole: str | None = dialect.join(words)
        self.starts_wild = len(words) > 0 and self.is_wild(words[0])
        self.one = self.many = self.reserved = self.size = 0
        self.literal: dict[str, int] = {}
        for is_many, run in groupby(words, self.many_words.__eq__):
            if is_many is True:
                self.whole = None
                for _ in range(self.many_min * len(list(run))):
                    self._add(self.one_word)
                self.many |= 1 << self.size
                self.size += 1
            else:
                for word in run:
                    self._add(word)
        wanted = [self.one_word, *(() if self.many_words is None else (self.many_words,)), *self.literal, ""]
        if self.whole is not None:
            wanted.append(self.whole)
        self.keys = {word: begun_with(word, hash_of(dialect, word), self.separator) for word in wanted}
        self.fresh, self.after = self._closed(1), 0

    def _add(self, word: str) -> None:
        bit = 1 << self.size
        self.size += 1
        if word == self.one_word:
            self.whole = None
            self.one |= bit
            return
        self.literal[word] = self.literal.get(word, 0) | bit
        if self._reserves(word):
            self.reserved |= bit

    def is_wild(self, word: str) -> bool:
        return word == self.one_word or word == self.many_words

    def _reserves(self, word: str) -> bool:
        return self.prefix is not None and word.startswith(self.prefix)

    def _closed(self, positions: int) -> int:
        """Add the positions after many-words wildcards, since many words may be none."""
        return positions | (positions & self.many) << 1

    def ends(self) -> bool:
        """Return whether the text may end here."""
        return bool(self.after >> self.size or (self.zero_words and self.fresh >> self.size))

    def takes_any_word(self) -> bool:
        return bool((self.fresh | self.after) & (self.one | self.many))

    def take(self, word: str, wild_before: bool) -> None:
        """Go on by a word of the stored filter. `wild_before`: it began with a wildcard."""
        if word == self.one_word:
            self.fresh, self.after = 0, self._any_word()
        elif word == self.many_words:
            self._take_many()
        else:
            barred = self._reserves(word) and (wild_before or self.starts_wild)
            fitting = self.literal.get(word, 0) | self.one
            after = self._stepped(0 if barred else self.fresh, fitting) | self._stepped(self.after, fitting)
            self.fresh, self.after = 0, after

    def _take_many(self) -> None:
        """Go on by a many-words wildcard in the stored filter, to all positions from the first one on."""
        fresh = self.fresh
        if self.many_min:
            self.fresh, self.after = 0, self._any_word()
            fresh = 0
        after = self.after | self._any_word()
        everything = (2 << self.size) - 1
        self.fresh, self.after = fresh, everything & -(after & -after)

    def _any_word(self) -> int:
        everything = (1 << self.size) - 1
        # The stored filter begins with a wildcard, at the latest with this one, so a first word is not reserved.
        first = self._stepped(self.fresh, everything & ~self.many & ~self.reserved)
        return first | self._stepped(self.after, everything & ~self.many)

    def _stepped(self, positions: int, fitting: int) -> int:
        return self._closed((positions & fitting) << 1 | positions & self.many)


def overlapping_paths(root: Any, first: Any, exact: bool, given: Given) -> Iterator[tuple[Any, Any]]:
    """Yield (branch, path) for every stored filter that shares a topic with `given`, in the read-only trie whose first
    I-node is `first`. O(levels that share the beginning of a topic with `given`, times their words that do). If the
    trie is `exact` and `given` has a wildcard, also O(filters without a wildcard)."""
    stack: list[tuple[Any, Any, Any, Any, Any]] = [(first, None, *_reached(given), False)]
    while stack:
        level, path, fresh, after, wild_before = stack.pop()
        _go_to(given, fresh, after)
        for branch in _candidates(root, level, exact and path is None, given):
            _go_to(given, fresh, after)
            if _goes_on(given, branch, path, wild_before, stack):
                yield branch, extended(path, branch)


def _reached(given: Given) -> tuple[int, int]:
    """Return the positions that the walk has reached."""
    return given.fresh, given.after


def _go_to(given: Given, fresh: int, after: int) -> None:
    """Go back to positions that were reached before."""
    given.fresh, given.after = fresh, after


def _goes_on(given: Given, branch: Branch, path: Any, wild_before: bool, stack: list[Any]) -> bool:
    """Go on by a branch of the level that `path` leads to, and put the level below it on the stack if it has one to go
    to; return whether a stored filter ends here that shares a topic."""
    no_words = path is None and given.zero_words and branch.key == ""  # it is stored as one empty word
    ends = no_words and given.ends()
    starts_wild = _take_words(given, branch, wild_before)
    if branch.next is not None and (given.fresh or given.after):
        stack.append((branch.next, extended(path, branch), given.fresh, given.after, starts_wild))
    return is_wanted(branch) and (ends if no_words else given.ends())


def _take_words(given: Given, branch: Branch, wild_before: bool) -> bool:
    """Go on by the words of a branch; return whether the stored filter began with a wildcard."""
    separator: str = given.separator
    if branch.hash == MARKED or separator in branch.key:
        for word in filter_words(branch, separator):
            given.take(word, wild_before)
            wild_before = wild_before or given.is_wild(word)
        return wild_before
    given.take(branch.key, wild_before)
    return wild_before or given.is_wild(branch.key)


def _candidates(root: Any, level: Any, has_texts: bool, given: Given) -> Any:
    """Return the branches of a level that may share a topic. `has_texts`: the level holds whole texts."""
    if given.takes_any_word() or (has_texts and given.whole is None):
        return snodes(root, [level])
    wanted: list[str] = [given.one_word]
    if given.many_words is not None:
        wanted.append(given.many_words)
    if has_texts and given.whole is not None:
        wanted.append(given.whole)
    else:
        at = given.fresh | given.after
        wanted.extend([word for word, bits in given.literal.items() if at & bits])
    if given.zero_words and given.ends():
        wanted.append("")
    found: list[Any] = []
    for word in dict.fromkeys(wanted):
        key = given.keys[word]
        branch = branch_by(root, level, key)
        if branch is not None:
            found.append(branch)
    if has_texts:
        branch = branch_in(root, level, MARK, MARKED, given.separator)
        if branch is not None:
            found.append(branch)
    return found
