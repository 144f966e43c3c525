"""Many subscriptions at once into an empty trie: its nodes are made from below, each once, and published by one RDCSS.

The filters are parted by their first words, those with the same first word by the next one, and so on. A branch takes
along all words that its filters have in common, as far as nobody is subscribed in between: so the levels are those that
subscribing one by one would have left (I6, branch.py).

This is the interpreted text; the compiled body (filling.pyx) keeps the words as C numbers, and sorts by their hashes.
"""

from __future__ import annotations

from typing import Any

from ctrie._bulk import cnode_of, collector_paused, in_order
from ctrie._cnode import Gen
from ctrie._nodes import INode, gcas_read, new_inode, rdcss_read_root, rdcss_root
from subtrie._trie.branch import Branch, new_branch
from subtrie._trie.match.questions_interpreted import Matchable, filter_path
from subtrie._trie.subscribers import Entry, find_entry, new_entry, subscriber_hash, with_entry
from subtrie.errors import TopicError

Row = tuple[tuple[str, ...], tuple[int, ...], Entry]


def fill(trie: Matchable, given: list[Any]) -> int:
    """Subscribe all of `given`, (filter, subscriber) or (filter, subscriber, options), if the trie is empty; return how
    many subscriptions that makes. -1 if nothing was done, since somebody is subscribed, or something is to be looked at
    one by one: whatever is wrong, and groups. Linearizes where the RDCSS commits. Lock-free: it does not try again.
    """
    old = rdcss_read_root(trie._root)
    main: Any = gcas_read(trie._root, old)  # the first level of a trie is never tombed
    if main.bitmap != 0:
        return -1
    with collector_paused():
        rows = [_row_of(trie, one) for one in given]
        if not rows or None in rows:
            return -1
        filling = _Filling(trie)
        filled = filling.level(rows, 0)
        # Success: the trie, in which nobody was until then, has all of them. Failure: another thread has subscribed
        # somebody or has taken a snapshot meanwhile.
        return len(rows) - filling.repeated if rdcss_root(trie._root, old, main, filled) else -1


def _row_of(trie: Matchable, one: Any) -> Any:
    """Return the words of a filter, their hashes, and the entry; None for what is to be looked at one by one."""
    if type(one) is not tuple or len(one) not in (2, 3) or type(one[0]) is not str:
        return None
    options = one[2] if len(one) == 3 else None
    if options is not None and (type(options) is not dict or any(type(name) is not str for name in options)):
        return None
    dialect = trie._plan.dialect
    if options and dialect.queue_groups and "queue" in options:
        return None
    try:
        words, hashes = filter_path(trie, one[0])
    except TopicError:
        return None
    if words[0] == dialect.share_prefix:
        return None
    if options:
        dialect.check_options(options)
    return words, hashes, new_entry(one[1], subscriber_hash(one[1]), dict(options) if options else None)


class _Filling:
    def __init__(self, trie: Matchable) -> None:
        self._separator: str = trie._plan.separator
        self._gen = Gen()
        self.repeated = 0

    def level(self, rows: list[Row], depth: int) -> INode:
        """Return the level for the words from `depth` on."""
        parted: dict[str, list[Row]] = {}
        for row in rows:
            parted.setdefault(row[0][depth], []).append(row)
        made = [self._branch(several, depth) for several in parted.values()]
        return new_inode(cnode_of(in_order(made), 0, len(made), 0, self._gen, None), self._gen)

    def _branch(self, rows: list[Row], depth: int) -> Branch:
        """Return the branch to filters that agree in their words up to number `depth`."""
        words, hashes, _ = rows[0]
        end = depth + 1
        while end < len(words) and all(row[0][end : end + 1] == words[end : end + 1] for row in rows):
            end += 1
        audience: Any = None
        longer = []
        for row in rows:
            if len(row[0]) > end:
                longer.append(row)
            else:
                audience = self._joined(audience, row[2])
        below = self.level(longer, end) if longer else None
        return new_branch(words[depth:end], self._separator, hashes[depth], audience, below)

    def _joined(self, audience: Any, entry: Entry) -> Any:
        present = find_entry(audience, entry.subscriber, entry.hash)
        if present is None:
            return with_entry(audience, entry, None)
        self.repeated += 1
        if present.options is None and entry.options is None:
            return audience
        # As in a dict, the first object stays.
        return with_entry(audience, new_entry(present.subscriber, entry.hash, entry.options), present)
