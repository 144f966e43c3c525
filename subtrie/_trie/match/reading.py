# distutils: extra_compile_args = SMALL
"""Matching for what matching.py cannot do: topics of 64 words and more, dialects whose separator or wildcards are not
ASCII characters, and questions that need the words of the filters.

This is the slow way. It reads what the trie was at one instant, without a second pass (frozen.py). Sets of positions
are integers of any size, and nodes are counted.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import cython

from subtrie.dialects import Dialect

if not cython.compiled:
    from ctrie._cnode import CNode, branch_at
    from ctrie._machine import W, flag_at, popcount
    from ctrie._nodes import (
        INode,
        Root,
        Rooted,
        branches,
        gcas_read,
        rdcss_read_root,
    )
    from subtrie._trie.branch import Branch, Chain, is_wanted, words_in
    from subtrie._trie.frozen import frozen_root
    from subtrie._trie.packed_key import key_begins
    from subtrie._trie.subscribers import Excepting
    from subtrie._trie.words import MANY_WORDS, MARKED, ONE_WORD

    def PyErr_CheckSignals() -> int:
        """The compiled twin has to check for signals; in the interpreted one Python does it."""
        return 0


# match_many looks for repeated topics as long as, among so many topics, one in so many is a repeated one. Each of these
# saves a match; all others cost a probe and a store more.
WORTH = 16
WORTH_IN_ONE_BLOCK = 3
if not cython.compiled:  # in reading.pxd, a size of C arrays
    TRIAL = 256
_BIT: Any = 1  # the bit of position 0; an object in the compiled twin too, for sets wider than a machine word


class Query:
    """A topic to match: its words and their hashes (of no words: the hash of the empty one)."""

    __slots__ = ("dialect", "hashes", "many_min", "positions", "reserved", "whole", "whole_hash", "words")
    words: tuple[str, ...]
    positions: dict[str, Any] | None  # of each word, its positions as bits; made when they are first asked for
    hashes: tuple[int, ...]
    dialect: Dialect
    many_min: int  # the least number of words that the many-words wildcard stands for
    reserved: bool  # filters that begin with a wildcard do not see this topic
    whole: str | None  # for a trie with exact=True: the topic's text, and its hash as a word
    whole_hash: int


def new_query(
    words: tuple[str, ...], hashes: tuple[int, ...], dialect: Dialect, whole: str | None, whole_hash: int
) -> Query:
    query: Query = Query.__new__(Query)
    query.words = words
    query.hashes = hashes
    query.dialect = dialect
    query.many_min = dialect.many_min
    query.positions = None
    query.reserved = dialect.is_reserved(words)
    query.whole = whole
    query.whole_hash = whole_hash
    return query


def is_excluded(entry: Excepting, query: Query) -> bool:
    """Return whether a topic is among the exclusions of a subscription (exclusions.py)."""
    one_word: str | None = query.dialect.one_word
    many_words: str | None = query.dialect.many_words
    for words in entry.parts:
        if query.reserved and words and (words[0] == one_word or words[0] == many_words):
            continue
        if _is_matched(query, words, one_word, many_words):
            return True
    return False


def _is_matched(query: Query, words: tuple[str, ...], one_word: str | None, many_words: str | None) -> bool:
    """Return whether a filter's words match the topic. Up to the first wildcard for many words there is one way."""
    topic = query.words
    size = len(topic)
    for i in range(len(words)):
        word = words[i]
        if word == many_words:
            if i + 1 == len(words):
                return size - i >= query.many_min
            after = _after_words(query, words[i:], _BIT << i)
            return bool(after >> size & 1)
        if i == size or (word != one_word and word != topic[i]):
            return False
    return size == len(words)


def _after_words(query: Query, words: tuple[str, ...], positions: Any) -> Any:
    """Return the positions after some words of a filter."""
    dialect = query.dialect
    one_word, many_words = dialect.one_word, dialect.many_words
    if query.positions is None:
        query.positions = positions_of_words(query.words)
    for word in words:
        PyErr_CheckSignals()
        if not positions:
            break
        if word == one_word:
            positions = _after_one(query, positions)
        elif word == many_words:
            positions = _after_many(query, positions)
        else:
            positions = (positions & query.positions.get(word, 0)) << 1
    return positions


def _after_one(query: Query, positions: Any) -> Any:
    """Return the positions after the wildcard for one word."""
    return positions << 1 & (_BIT << len(query.words) + 1) - 1


def _after_many(query: Query, positions: Any) -> Any:
    """Return the positions after the wildcard for many words."""
    size = len(query.words)
    fewest = ((positions & -positions).bit_length() - 1) + query.many_min
    return (_BIT << size + 1) - (_BIT << fewest) if fewest <= size else 0


def positions_of_words(words: tuple[str, ...]) -> dict[str, Any]:
    """Return at which positions each word stands, as bits."""
    positions: dict[str, Any] = {}
    bit = _BIT
    for word in words:
        positions[word] = positions.get(word, 0) | bit
        bit <<= 1
    return positions


class Reading:
    """One traversal of what never changes: `found` lists (branch, path) for every branch with subscribers that the
    topic reaches, where path is (path of the level, word)."""

    __slots__ = ("found", "query", "root")
    root: Root
    query: Query
    found: list[tuple[Branch, Any]]

    def traverse(self, first: INode, only_first: bool) -> None:
        """Find all that the topic reaches; with `only_first`, the first branch of it."""
        query = self.query
        size = len(query.words)
        stack: list[Any] = [(first, _BIT, None)]
        while stack:
            PyErr_CheckSignals()
            level, positions, path = stack.pop()
            for branch, reached in self._reached(level, positions, path is None):
                here = extended(path, branch)
                if reached >> size & 1 and is_wanted(branch):
                    self.found.append((branch, here))
                    if only_first:
                        return
                if branch.next is not None and (size > 0 or branch.hash == MANY_WORDS):
                    stack.append((branch.next, reached, here))

    def _reached(self, level: INode, positions: Any, first_level: bool) -> list[Any]:
        """Return (branch, positions after it) for the branches of one level that the topic reaches."""
        query = self.query
        dialect = query.dialect
        reached: list[Any] = []
        if not (first_level and query.reserved):
            self._reach(reached, level, dialect.many_words, MANY_WORDS, _after_many(query, positions))
            self._reach(reached, level, dialect.one_word, ONE_WORD, _after_one(query, positions))
        if first_level and query.whole is not None:
            self._reach(reached, level, query.whole, query.whole_hash, _BIT << len(query.words))
            self._reach(reached, level, "", MARKED, positions)
            return reached
        if len(query.words) == 0 and first_level:  # the filter of no words is kept as one empty word
            branch = branch_in(self.root, level, "", query.hashes[0], dialect.separator)
            if branch is not None and not isinstance(branch, Chain):
                reached.append((branch, positions))
        for word, at in self._words_at(positions).items():
            self._reach(reached, level, word, query.hashes[at.bit_length() - 2], at)
        return reached

    def _reach(self, reached: list[Any], level: INode, word: Any, hash: int, positions: Any) -> None:
        """Add the branch of a level that begins with a word, if there is one, unless no `positions` after that word
        lead through the others. If the dialect has no such wildcard, no branch has its hash."""
        separator = self.query.dialect.separator
        branch = branch_in(self.root, level, word, hash, separator)
        if isinstance(branch, Chain):
            positions = _after_words(self.query, words_in(branch, separator)[1:], positions)
        if branch is not None and positions:
            reached.append((branch, positions))

    def _words_at(self, positions: Any) -> dict[str, Any]:
        """Return the positions after each word that the topic has at one of `positions`."""
        query = self.query
        left = positions & (_BIT << len(query.words)) - 1
        if left & left - 1 == 0:  # one position at most
            return {query.words[left.bit_length() - 1]: left << 1} if left else {}
        if query.positions is None:
            query.positions = positions_of_words(query.words)
        after: dict[str, Any] = {}
        for word, own in query.positions.items():
            if left & own:
                after[word] = (left & own) << 1
        return after


def read_matches(trie: Rooted, query: Query, only_first: bool) -> list[tuple[Branch, Any]]:
    """Return (branch, path) for all that the topic reaches at one instant, that of `frozen_root`; with `only_first`,
    for the first of it, if there is any. Cost beside the traversal, and progress, are those of `frozen_root`."""
    reading: Reading = Reading.__new__(Reading)
    reading.root = frozen_root(trie)
    reading.query = query
    reading.found = []
    reading.traverse(rdcss_read_root(reading.root), only_first)
    return reading.found


def extended(path: Any, branch: Branch) -> Any:
    """Return a path with a branch at its end; the mark (exact_layout.py), which is the empty word, is None in it."""
    if branch.hash != MARKED:
        return path, branch.key
    marked = path, None
    return (marked, branch.key[1:]) if isinstance(branch, Chain) else marked  # what is after the separator


def path_of(words: tuple[str, ...]) -> Any:
    """Return the path that `words` spell: ((None, first), second) and so on."""
    return reduce(_extended, words, None)


def _extended(path: Any, word: str) -> Any:
    return (path, word)


def words_of(path: Any) -> tuple[str, ...]:
    """Return the words of the filter that a path spells, or the texts of several."""
    words: list[str] = []
    while path is not None:
        path, word = path
        if word is not None:  # the mark
            words.append(word)
    words.reverse()
    return tuple(words)


def branch_in(root: Root, level: INode, word: str, hash: int, separator: str) -> Branch | None:
    """Return the branch that begins with `word` in a level, or None. Linearizes as `find` in ctrie/_descent.py."""
    inode = level
    lev = 0
    while True:
        main = gcas_read(root, inode)
        if not isinstance(main, CNode):
            break
        cn: CNode = main
        flag = flag_at(hash, lev)
        if not cn.bitmap & flag:
            return None
        child = branch_at(cn, popcount(cn.bitmap & (flag - 1)))
        if not isinstance(child, INode):
            found: Branch = child
            return found if found.hash == hash and key_begins(found, word, separator) else None
        inode = child
        lev += W
    for sn in branches(root, inode):
        if sn.hash == hash and key_begins(sn, word, separator):
            return sn  # type: ignore[no-any-return]
    return None
