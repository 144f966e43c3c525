# distutils: extra_compile_args = FAST
"""Many filters at once: levels are made from below, each node once.

    row      a filter, its subscriber's entry, and its group, if any
    groups   rows, by the word that comes next in their filters

Rows with the same next word become one branch. It takes all words that they have in common, as far as no filter ends in
between. The rows that end there are its subscribers. The others, by their next words, become the level below it. A row
that is alone becomes a branch with all its remaining words. So the levels are the same as after subscribing one by one
(I6, branch.py).

An empty trie gets all levels by one RDCSS (`fill_empty`). One that has filters is changed row by row (changeable.py).

If two different words have the same hash, which nobody can provoke, the rows are subscribed one by one.
"""

from __future__ import annotations

from typing import Any

import cython

from subtrie.errors import RowError

if not cython.compiled:
    from ctrie._bulk import cnode_of, hash_at, in_order, let_go
    from ctrie._cnode import CNode, Gen
    from ctrie._machine import EVERY, check_signals, check_stack
    from ctrie._nodes import INode, Root, gcas_read, new_inode, rdcss_read_root, rdcss_root
    from subtrie._trie.branch import Branch, new_branch
    from subtrie._trie.groups import members_of, with_members
    from subtrie._trie.keyed import find_keyed, with_keyed
    from subtrie._trie.match.plan import Matchable, word_hash
    from subtrie._trie.subscribers import Entry, entry_of
    from subtrie._trie.words import MANY_WORDS, MARKED, ONE_WORD

NOT_FILLED = -1

DEEP = 100
"""Below so many levels, rows are subscribed one by one, which takes no more stack for more words. A thread with a stack
of 256 kB has room for five times as many, and so many calls of the interpreted twin are within what Python allows."""


@cython.no_gc
@cython.cclass
class Row:
    """A filter and its subscriber's entry."""

    __slots__ = ("at", "entry", "group", "number", "rest")
    number: int  # which of the given ones it is
    entry: Entry
    group: str | None
    rest: str | None  # the filter; None: all its words have been grouped by
    at: int  # where in `rest` the next word begins; -1: all of it is one word (exact_layout.py)


def new_row(number: int, entry: Entry, group: str | None, text: str, at: int) -> Row:
    row: Row = Row.__new__(Row)
    row.number = number
    row.entry = entry
    row.group = group
    row.rest = text
    row.at = at
    return row


class WordsCollide(Exception):
    """Different words have the same hash, or there are too many levels."""


def is_empty(root: Root) -> bool:
    """Return whether a trie holds nothing."""
    cn: CNode = gcas_read(root, rdcss_read_root(root))  # type: ignore[assignment]  # the first level is never tombed
    return cn.bitmap == 0


def fill_empty(trie: Matchable, rows: list[Row], filters: list[Any], strict: bool) -> int:
    """Subscribe all rows if the trie is empty; return how many were not repeated, or NOT_FILLED. With `strict`, a
    repeated one is a RowError. An error changes nothing.

    The linearization point is the commit of the RDCSS. Lock-free: it does not try again.
    """
    root = trie._root
    old = rdcss_read_root(root)
    main = gcas_read(root, old)
    cn: CNode = main  # type: ignore[assignment]  # the first level of a trie is never tombed
    if cn.bitmap != 0:
        return NOT_FILLED
    filling: Filling = Filling.__new__(Filling)
    filling.separator = trie._plan.separator
    filling.one_word = trie._plan.dialect.one_word
    filling.many_words = trie._plan.dialect.many_words
    filling.exact = trie._plan.exact
    filling.filters = filters
    filling.strict = strict
    filling.gen = Gen()
    filling.count = 0
    level: INode | None = None
    try:  # noqa: SIM105 (without memory, Cython's `with` can end the process)
        level = filling.level(filling.by_next_word(rows, []), 0)
    except WordsCollide:
        pass
    if level is None:
        return NOT_FILLED
    # Success: the trie, which was empty until then, has all of them. Failure: another thread, or a subscriber's
    # `__eq__`, has subscribed or has taken a snapshot meanwhile.
    return filling.count if rdcss_root(root, old, main, level) else NOT_FILLED


class Filling:
    """Levels that are being made. `count` is the number of subscriptions that were not there."""

    __slots__ = ("count", "exact", "filters", "gen", "many_words", "one_word", "separator", "strict")
    separator: str
    one_word: str
    many_words: str | None
    exact: bool
    filters: list[Any]  # as they were given
    strict: bool
    gen: Gen
    count: int

    def level(self, groups: dict[str, Any], depth: int) -> INode:
        """Return the I-node of a level, below so many others, for rows grouped by their next words."""
        check_stack()
        if depth == DEEP:
            raise WordsCollide
        branches: list[Branch] = []
        for word, rows in groups.items():
            if len(branches) % EVERY == 0:
                check_signals()
            branches.append(self._branch(word, rows, depth + 1))
        count = len(branches)
        ordered = in_order(branches)
        try:
            for number in range(1, count):
                if hash_at(ordered, number) == hash_at(ordered, number - 1):
                    raise WordsCollide
            return new_inode(cnode_of(ordered, 0, count, 0, self.gen, None, False, []), self.gen)
        finally:
            let_go(ordered, count)  # an error leaves some branches

    def _hash(self, word: str, depth: int) -> int:
        if depth == 1 and self.exact and word == "":
            return MARKED
        if word == self.one_word:
            return ONE_WORD
        return MANY_WORDS if word == self.many_words else word_hash(word)

    def _branch(self, word: str, rows: Any, depth: int) -> Branch:
        """Return the branch of rows that go on with the same word: of a list, or of one."""
        hash = self._hash(word, depth)
        if not isinstance(rows, list):
            row: Row = rows
            if row.rest is None and hash == MARKED:
                raise WordsCollide
            path = (word,) if row.rest is None else (word, row.rest[row.at :])
            return new_branch(path, self.separator, hash, self._with_row(None, row), None)
        words = [word]
        ended: list[Row] = []
        groups = self.by_next_word(rows, ended)
        if ended and hash == MARKED:
            raise WordsCollide  # the filter of no words is not the mark
        while not ended and len(groups) == 1:
            ((word, rows),) = groups.items()
            words.append(word)
            groups = self.by_next_word(rows if isinstance(rows, list) else [rows], ended)
        audience: Any = None
        for number in range(len(ended)):
            if number % EVERY == 0:
                check_signals()
            audience = self._with_row(audience, ended[number])
        below = self.level(groups, depth) if groups else None
        return new_branch(tuple(words), self.separator, hash, audience, below)

    def by_next_word(self, rows: list[Row], ended: list[Row]) -> dict[str, Any]:
        """Return the rows by their next words: in a list, unless there is only one. Those that have none are added to
        `ended`."""
        separator = self.separator
        groups: dict[str, Any] = {}
        for number in range(len(rows)):
            if number % EVERY == 0:
                check_signals()
            row = rows[number]
            rest = row.rest
            if rest is None:
                ended.append(row)
                continue
            start = max(row.at, 0)
            end = -1 if row.at < 0 else rest.find(separator, start)
            if end < 0:
                end = len(rest)
                row.rest = None
            row.at = end + len(separator)
            word = rest[start:end]
            same = groups.get(word)
            if same is None:
                groups[word] = row
            elif isinstance(same, list):
                same.append(row)
            else:
                groups[word] = [same, row]
        return groups

    def _with_row(self, audience: Any, row: Row) -> Any:
        """Return the subscribers of a filter with that of a row."""
        entry = row.entry
        members = members_of(audience, row.group)
        present: Any = find_keyed(members, entry.key, entry.hash)
        if present is None:
            self.count += 1
        elif self.strict:
            raise RowError(row.number, f"subscriber {entry.key!r} is on {self.filters[row.number]!r} already")
        elif present.options is None and entry.options is None:
            return audience
        else:  # as in a dict, the first object stays
            entry = entry_of(present.key, entry)
        return with_members(audience, row.group, with_keyed(members, entry, present), entry, present)
