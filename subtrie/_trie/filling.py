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
    from subtrie._trie.branch import Branch, Place, new_branch
    from subtrie._trie.groups import members_of, with_members
    from subtrie._trie.keyed import find_keyed, with_keyed
    from subtrie._trie.match.plan import Matchable, Plan
    from subtrie._trie.subscribers import Entry, entry_of

NOT_FILLED = -1

DEEP = 100
"""Below so many levels, rows are subscribed one by one, which takes no more stack for more words. A thread with a stack
of 256 kB has room for five times as many, and so many calls of the interpreted twin are within what Python allows."""


class Row:
    """A filter and its subscriber's entry."""

    __slots__ = ("at", "entry", "group", "hash", "number", "rest", "word")
    number: int  # which of the given ones it is
    entry: Entry
    group: str | None
    word: str  # the first word, and its hash
    hash: int
    rest: str | None  # the words after it; None: no more than those that have been grouped by
    at: int  # where in `rest` the next word begins


def new_row(number: int, place: Place, entry: Entry, separator: str) -> Row:
    row: Row = Row.__new__(Row)
    row.number = number
    row.entry = entry
    row.group = place.group
    row.word = place.words[0]
    row.hash = place.hashes[0]
    row.rest = separator.join(place.words[1:]) if len(place.words) > 1 else None
    row.at = 0
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
    filling.plan = trie._plan
    filling.filters = filters
    filling.strict = strict
    filling.gen = Gen()
    filling.count = 0
    try:
        level = filling.first_level(rows)
    except WordsCollide:
        return NOT_FILLED
    # Success: the trie, which was empty until then, has all of them. Failure: another thread, or a subscriber's
    # `__eq__`, has subscribed or has taken a snapshot meanwhile.
    return filling.count if rdcss_root(root, old, main, level) else NOT_FILLED


class Filling:
    """Levels that are being made. `count` is the number of subscriptions that were not there."""

    __slots__ = ("count", "filters", "gen", "plan", "strict")
    plan: Plan
    filters: list[Any]  # as they were given
    strict: bool
    gen: Gen
    count: int

    def first_level(self, rows: list[Row]) -> INode:
        """Return the level of the rows' first words."""
        groups: dict[int, list[Row]] = {}
        for number in range(len(rows)):
            if number % EVERY == 0:
                check_signals()
            row = rows[number]
            same = groups.get(row.hash)
            if same is None:
                groups[row.hash] = [row]
            elif same[0].word != row.word:
                raise WordsCollide
            else:
                same.append(row)
        made: list[Branch] = []
        for same in groups.values():
            first: Row = same[0]
            made.append(self._branch(first.word, first.hash, same, 1))
        return self._inode(made)

    def _level(self, groups: dict[str, list[Row]], depth: int) -> INode:
        check_stack()
        if depth == DEEP:
            raise WordsCollide
        made: list[Branch] = []
        for word, rows in groups.items():
            if len(made) % EVERY == 0:
                check_signals()
            made.append(self._branch(word, self.plan.hash_in_filter(word), rows, depth + 1))
        return self._inode(made)

    def _inode(self, branches: list[Branch]) -> INode:
        """Return the I-node of a level with these branches."""
        count = len(branches)
        ordered = in_order(branches)
        try:
            for number in range(1, count):
                if hash_at(ordered, number) == hash_at(ordered, number - 1):
                    raise WordsCollide
            return new_inode(cnode_of(ordered, 0, count, 0, self.gen, None, False, []), self.gen)
        finally:
            let_go(ordered, count)  # an error leaves some branches

    def _branch(self, word: str, hash: int, rows: list[Row], depth: int) -> Branch:
        """Return the branch of rows that go on with the same word."""
        words = [word]
        ended: list[Row] = []
        groups = self._by_next_word(rows, ended)
        while not ended and len(groups) == 1:
            ((word, rows),) = groups.items()
            words.append(word)
            groups = self._by_next_word(rows, ended)
        audience: Any = None
        for number in range(len(ended)):
            if number % EVERY == 0:
                check_signals()
            audience = self._with_row(audience, ended[number])
        below = self._level(groups, depth) if groups else None
        return new_branch(tuple(words), self.plan.separator, hash, audience, below)

    def _by_next_word(self, rows: list[Row], ended: list[Row]) -> dict[str, list[Row]]:
        """Return the rows by their next words; those that have none are added to `ended`. The rest of a row that is
        alone counts as one word."""
        separator = self.plan.separator
        groups: dict[str, list[Row]] = {}
        for number in range(len(rows)):
            if number % EVERY == 0:
                check_signals()
            row = rows[number]
            rest = row.rest
            if rest is None:
                ended.append(row)
                continue
            end = -1 if len(rows) == 1 else rest.find(separator, row.at)
            if end < 0:
                word = rest[row.at :]
                row.rest = None
            else:
                word = rest[row.at : end]
                row.at = end + len(separator)
            same = groups.get(word)
            if same is None:
                groups[word] = [row]
            else:
                same.append(row)
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
