# distutils: extra_compile_args = SMALL
"""Reverse match: the stored filters that share a topic with a given one, found by a walk of the trie.

Matching (matching.py) carries positions in a topic; this walk carries positions in the given filter. A position is the
number of its words that some text has used up which the path so far matches, too. Each step takes a word that fits both
filters, whatever came before. So a set of positions is all that the walk needs to know, and it enters each level once.
If the given filter wants particular words at a level, only these are looked up. But in the first level of a trie with
`exact=True` (exact_layout.py), all whole texts are compared, unless the given filter has no wildcard.

A position is kept twice, since a reserved word (MQTT's `$`) is special only as the first word of a topic: in `fresh`
while the text may still be empty, in `after` once it has a word. `overlaps` in dialects.py is the specification, and
decides for each stored filter by itself if the given one has more words than a set of positions has bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cython

if not cython.compiled:
    from ctrie._cnode import CNode, branch_at
    from ctrie._machine import check_signals, flag_at, popcount
    from ctrie._nodes import INode, Root, branches, gcas_read, rdcss_read_root
    from subtrie._trie.branch import Branch, Chain, is_wanted
    from subtrie._trie.match.plan import word_hash
    from subtrie._trie.match.reading import branch_in, extended
    from subtrie._trie.words import MANY_WORDS, MARKED, ONE_WORD

from subtrie._trie.match.reading import words_of
from subtrie._trie.queries.listing import walk
from subtrie.dialects import Dialect, Words

if not cython.compiled:  # in overlapping.pxd, a size of C arrays
    MOST = 62  # words for which a set of positions has bits


class Given:
    """The given filter, with its words as bits: bit i stands for the word between positions i and i + 1; and how far
    the walk has come with it.

    A many-words wildcard that needs at least one word becomes a one-word wildcard and one for any number of words.
    Several wildcards for any number of words in a row become one.
    """

    __slots__ = (
        "after", "bits", "fresh", "hashes", "is_wide", "many", "many_min", "many_words", "names", "one", "one_word",
        "prefix", "reserved", "separator", "size", "starts_wild", "whole", "whole_hash", "zero_words",
    )  # fmt: skip
    names: list[str]  # the words that are no wildcards, each once; `hashes` and `bits` have their hashes and positions
    is_wide: bool  # it has more words than there are bits, and cannot be used
    # Sets of positions, as bits of an integer:
    fresh: int  # those without a word so far
    after: int  # those with one or more

    def begin(self, dialect: Dialect, words: tuple[str, ...], hashes: tuple[int, ...]) -> None:
        self.separator = dialect.separator
        self.one_word = dialect.one_word
        self.many_words = dialect.many_words
        self.many_min = dialect.many_min
        self.zero_words = dialect.zero_words
        self.prefix = dialect.reserved_prefix
        self.starts_wild = len(words) > 0 and self.is_wild(words[0])
        self.one = self.many = self.reserved = self.size = 0
        if not cython.compiled:
            self.hashes, self.bits = [0] * MOST, [0] * MOST
        self.is_wide = False
        self.names = []
        for i in range(len(words)):
            self._add(words[i], hashes[i])
        self.whole: str | None = None if self.one | self.many else dialect.join(words)
        self.whole_hash = 0 if self.whole is None else word_hash(self.whole)
        self.fresh = self._closed(1)
        self.after = 0

    def _add(self, word: str, hash: int) -> None:
        if hash == MANY_WORDS:
            for _ in range(self.many_min):
                self._add(word, ONE_WORD)
            if self.size > 0 and self.many & flag_at(self.size - 1, 0):
                return
        if self.size == MOST:
            self.is_wide = True
            return
        if hash == MANY_WORDS:
            self.many |= flag_at(self.size, 0)
        elif hash == ONE_WORD:
            self.one |= flag_at(self.size, 0)
        else:
            self._add_name(word, hash)
        self.size += 1

    def _add_name(self, word: str, hash: int) -> None:
        number = self._number_of(word)
        if number < 0:
            number = len(self.names)
            self.names.append(word)
            self.hashes[number] = hash
            self.bits[number] = 0
        self.bits[number] |= flag_at(self.size, 0)
        if self._reserves(word):
            self.reserved |= flag_at(self.size, 0)

    def _number_of(self, word: str) -> int:
        for number in range(len(self.names)):
            name: str = self.names[number]
            if word == name:
                return number
        return -1

    def is_wild(self, word: str) -> bool:
        return word == self.one_word or word == self.many_words

    def _reserves(self, word: str) -> bool:
        return self.prefix is not None and word.startswith(self.prefix)

    def _closed(self, positions: int) -> int:
        """Add the positions after many-words wildcards, since many words may be none."""
        return positions | (positions & self.many) << 1

    def ends(self) -> bool:
        """Return whether the text may end here."""
        end = flag_at(self.size, 0)
        return bool(self.after & end or (self.zero_words and self.fresh & end))

    def fits_any_word(self) -> bool:
        return bool((self.fresh | self.after) & (self.one | self.many))

    def go_on(self, word: str, wild_before: bool) -> None:
        """Go on by a word of the stored filter. `wild_before`: it began with a wildcard."""
        if word == self.one_word:
            self._go_on_by_one()
        elif word == self.many_words:
            self._go_on_by_many()
        else:
            number = self._number_of(word)
            fitting = self.one if number < 0 else self.one | self.bits[number]
            after = self._stepped(self.after, fitting)
            if not (self._reserves(word) and (wild_before or self.starts_wild)):
                after |= self._stepped(self.fresh, fitting)
            self.fresh = 0
            self.after = after

    def _go_on_by_one(self) -> None:
        """Go on by a one-word wildcard in the stored filter."""
        self.after = self._any_word()
        self.fresh = 0

    def _go_on_by_many(self) -> None:
        """Go on by a many-words wildcard in the stored filter, to all positions from the first one on."""
        if self.many_min:
            self._go_on_by_one()
        after = self.after | self._any_word()
        everything = flag_at(self.size + 1, 0) - 1
        self.after = everything & (~(after & (~after + 1)) + 1)

    def _any_word(self) -> int:
        fitting = (flag_at(self.size, 0) - 1) & ~self.many
        # The stored filter begins with a wildcard, at the latest with this one, so a first word is not reserved.
        return self._stepped(self.fresh, fitting & ~self.reserved) | self._stepped(self.after, fitting)

    def _stepped(self, positions: int, fitting: int) -> int:
        return self._closed((positions & fitting) << 1 | positions & self.many)


@cython.freelist(8)
@cython.cclass
class OverlapStep:
    """A level to walk, or what is below one of its I-nodes; what leads there, and how far it is in the given filter."""

    __slots__ = ("after", "fresh", "inode", "is_part", "path", "rest", "wild_before")
    inode: INode
    is_part: bool
    path: Any
    fresh: int
    after: int
    wild_before: bool  # the stored filters that pass here begin with a wildcard
    rest: OverlapStep | None  # the next one to walk, after this one


class Overlaps:
    """An iterator of (branch, path) for every stored filter that shares a topic with the given one, in a read-only
    trie. O(levels that share the beginning of a topic with it, times their words that do). If the trie is `exact` and
    the given filter has a wildcard, also O(filters without a wildcard)."""

    __slots__ = ("at", "count", "exact", "given", "here", "nodes", "root", "step", "steps")
    root: Root
    exact: bool
    given: Given
    step: OverlapStep | None  # the next one
    steps: int  # how many have begun
    here: OverlapStep  # the present one,
    nodes: Any  # its nodes, in a list or a tuple,
    count: int  # their number,
    at: int  # and how many of them have been looked at

    def __iter__(self) -> Overlaps:
        return self

    def __next__(self) -> tuple[Any, Any]:
        while True:
            if self.at == self.count and not self._begin_step():
                raise StopIteration
            node = self.nodes[self.at]
            self.at += 1
            here = self.here
            if isinstance(node, INode):
                self.put(node, True, here.path, here.fresh, here.after, here.wild_before)
                continue
            path = self._goes_on(node)
            if path is not None:
                return node, path

    def put(self, inode: INode, is_part: bool, path: Any, fresh: int, after: int, wild_before: bool) -> None:
        step: OverlapStep = OverlapStep.__new__(OverlapStep)
        step.inode = inode
        step.is_part = is_part
        step.path = path
        step.fresh = fresh
        step.after = after
        step.wild_before = wild_before
        step.rest = self.step
        self.step = step

    def _begin_step(self) -> bool:
        """Go to the next step with nodes to look at; return whether there is one."""
        given = self.given
        while self.step is not None:
            step = self.step
            self.steps += 1
            if self.steps % 16 == 0:
                check_signals()
            self.step = step.rest
            self.here = step
            given.fresh = step.fresh
            given.after = step.after
            has_texts = self.exact and step.path is None
            if step.is_part or given.fits_any_word() or (has_texts and given.whole is None):
                self.nodes = branches(self.root, step.inode)
            else:
                self.nodes = self._candidates(step.inode, has_texts)
            self.at = 0
            self.count = len(self.nodes)
            if self.count > 0:
                return True
        return False

    def _goes_on(self, branch: Branch) -> Any:
        """Go on by a branch of the present level, and put the level below it among the steps if it has one to go to;
        return the path of a stored filter that ends here and shares a topic, or None."""
        here = self.here
        given = self.given
        given.fresh = here.fresh
        given.after = here.after
        text = branch.key
        no_words = here.path is None and given.zero_words and text == ""  # it is stored as one empty word
        ends = no_words and given.ends()
        starts_wild = self._go_on_by_words(branch, text)
        ends = is_wanted(branch) and (ends if no_words else given.ends())
        below = branch.next if given.fresh | given.after else None
        if below is None and not ends:
            return None
        path = (here.path, text) if branch.hash != MARKED else extended(here.path, branch)
        if below is not None:
            self.put(below, False, path, given.fresh, given.after, starts_wild)
        return path if ends else None

    def _go_on_by_words(self, branch: Branch, text: str) -> bool:
        """Go on by the words of a branch; return whether the stored filter began with a wildcard."""
        given = self.given
        wild_before = self.here.wild_before
        if branch.hash != MARKED and not isinstance(branch, Chain) and not self.exact:
            given.go_on(text, wild_before)
            return wild_before or given.is_wild(text)
        words = text.split(given.separator)
        for i in range(1 if branch.hash == MARKED else 0, len(words)):
            word = words[i]
            given.go_on(word, wild_before)
            wild_before = wild_before or given.is_wild(word)
        return wild_before

    def _candidates(self, level: INode, has_texts: bool) -> Any:
        """Return the branches of a level that may share a topic. `has_texts`: the level holds whole texts."""
        given = self.given
        main = gcas_read(self.root, level)
        if not isinstance(main, CNode):  # one branch
            return branches(self.root, level)
        found: list[Any] = []
        cn: CNode = main
        wild = cn.bitmap & (flag_at(ONE_WORD, 0) | flag_at(MANY_WORDS, 0) | flag_at(MARKED, 0))
        while wild:  # each is alone in its group
            flag = wild & (~wild + 1)
            wild ^= flag
            found.append(branch_at(cn, popcount(cn.bitmap & (flag - 1))))
        if has_texts and given.whole is not None:
            self._find(found, level, given.whole, given.whole_hash)
            return found
        at = given.fresh | given.after
        for i in range(len(given.names)):
            if at & given.bits[i]:
                self._find(found, level, given.names[i], given.hashes[i])
        if given.size == 0:  # the filter of no words is kept as one empty word
            self._find(found, level, "", word_hash(""))
        return found

    def _find(self, found: list[Any], level: INode, word: str, hash: int) -> None:
        branch = branch_in(self.root, level, word, hash, self.given.separator)
        if branch is not None:
            found.append(branch)


def has_wildcard(hashes: Any) -> bool:
    """Return whether a wildcard is among the words with these hashes."""
    return ONE_WORD in hashes or MANY_WORDS in hashes


def overlapping(root: Any, dialect: Dialect, exact: bool, words: Any, hashes: Any) -> Iterator[tuple[Any, Any]]:
    """Return an iterator of (branch, path) for every stored filter that shares a topic with the filter of these words,
    in a read-only trie. `hashes`: those of the words."""
    given: Given = Given.__new__(Given)
    given.begin(dialect, words, hashes)
    if given.is_wide:
        return _one_by_one(root, dialect, words)
    found: Overlaps = Overlaps.__new__(Overlaps)
    found.root = root
    found.exact = exact
    found.given = given
    found.step = None
    found.steps = found.count = found.at = 0
    found.put(rdcss_read_root(root), False, None, given.fresh, given.after, False)
    return found


def _one_by_one(root: Any, dialect: Dialect, given: Words) -> Iterator[tuple[Any, Any]]:
    """The same, of a filter of any length. O(n)."""
    for branch, path in walk(root):
        if dialect.overlaps(dialect.join(words_of(path)), given):
            yield branch, path
