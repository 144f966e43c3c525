"""Many subscriptions at once into an empty trie: its nodes are made from below, each once, and published by one RDCSS.

The filters are parted by their first words, those with the same first word by the next one, and so on. A branch takes
along all words that its filters have in common, as far as nobody is subscribed in between: so the levels are those that
subscribing one by one would have left (I6, branch.py).
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

from ctrie._bulk import collector_paused
from subtrie.errors import TopicError

if not cython.compiled:
    from ctrie._bulk import cnode_of, in_order, let_go
    from ctrie._cnode import CNode, Gen
    from ctrie._nodes import INode, gcas_read, new_inode, rdcss_read_root, rdcss_root
    from subtrie._trie.branch import Branch, new_branch
    from subtrie._trie.match.questions_interpreted import Matchable, filter_path
    from subtrie._trie.subscribers import Entry, find_entry, new_entry, subscriber_hash, with_entry
else:
    from cython.cimports.ctrie._bulk import cnode_of, in_order, let_go
    from cython.cimports.ctrie._cnode import CNode, Gen
    from cython.cimports.ctrie._nodes import INode, gcas_read, new_inode, rdcss_read_root, rdcss_root
    from cython.cimports.subtrie._trie.branch import Branch, new_branch
    from cython.cimports.subtrie._trie.match.questions import Matchable, filter_path
    from cython.cimports.subtrie._trie.subscribers import Entry, find_entry, new_entry, subscriber_hash, with_entry


def fill(trie: Matchable, given: list[Any]) -> int:
    """Subscribe all of `given`, (filter, subscriber) or (filter, subscriber, options), if the trie is empty; return how
    many subscriptions that makes. -1 if nothing was done, since somebody is subscribed, or something is to be looked at
    one by one: whatever is wrong, and groups. Linearizes where the RDCSS commits. Lock-free: it does not try again.
    """
    root = trie._root
    old = rdcss_read_root(root)
    main = gcas_read(root, old)
    cn: CNode = main  # type: ignore[assignment]  # the first level of a trie is never tombed
    if cn.bitmap != 0:
        return -1
    rows: list[Any] = []
    with collector_paused():
        for one in given:
            row = _row_of(trie, one)
            if row is None:
                return -1
            rows.append(row)
        if not rows:
            return -1
        filling = new_filling(trie._plan.separator)
        filled = filling.level(rows, 0)
        # Success: the trie, in which nobody was until then, has all of them. Failure: another thread has subscribed
        # somebody or has taken a snapshot meanwhile.
        return len(rows) - filling.repeated if rdcss_root(root, old, main, filled) else -1


def _row_of(trie: Matchable, one: Any) -> tuple[Any, ...] | None:
    """Return the words of a filter, their hashes, and the entry; None for what is to be looked at one by one."""
    options: Any = None
    if type(one) is not tuple or not 2 <= len(one) <= 3 or type(one[0]) is not str:
        return None
    dialect = trie._plan.dialect
    if len(one) == 3 and not _is_plain(dialect, one[2]):
        return None
    try:
        path = filter_path(trie, one[0])
    except TopicError:
        return None
    if dialect.share_prefix is not None and path[0][0] == dialect.share_prefix:
        return None
    if len(one) == 3 and one[2]:
        dialect.check_options(one[2])
        options = dict(one[2])
    return path[0], path[1], new_entry(one[1], subscriber_hash(one[1]), options)


def _is_plain(dialect: Any, options: Any) -> bool:
    """Tell whether these are options of a subscription outside of all groups."""
    if type(options) is not dict or any([type(name) is not str for name in options]):  # noqa: C419 (a cdef function)
        return False
    return not dialect.queue_groups or "queue" not in options


class Filling:
    """Levels in the making; `repeated` counts the subscriptions that came again."""

    __slots__ = ("_gen", "_separator", "repeated")
    _gen: Gen
    _separator: str
    repeated: int

    def level(self, rows: list[Any], depth: int) -> INode:
        """Return the level for the words from number `depth` on."""
        parted: dict[Any, Any] = {}
        for row in rows:
            word = row[0][depth]
            several = parted.get(word)
            if several is None:
                parted[word] = [row]
            else:
                several.append(row)
        made: list[Any] = [self._branch(several, depth) for several in parted.values()]
        ordered = in_order(made)
        try:
            cn = cnode_of(ordered, 0, len(made), 0, self._gen, None)
        finally:
            let_go(ordered)
        return new_inode(cn, self._gen)

    def _branch(self, rows: list[Any], depth: int) -> Branch:
        """Return the branch to filters that agree in their words up to number `depth`."""
        words, hashes, entry = rows[0]
        end = len(words)
        if len(rows) == 1:
            return new_branch(words[depth:], self._separator, hashes[depth], entry, None)
        for row in rows:
            end = _agree_until(words, row[0], depth + 1, end)
        audience: Any = None
        longer: list[Any] = []
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


def _agree_until(words: tuple[str, ...], others: tuple[str, ...], start: int, end: int) -> int:
    """Return up to which number, `end` at most, two filters have the same words."""
    end = min(end, len(others))
    while start < end and words[start] == others[start]:
        start += 1
    return start


def new_filling(separator: str) -> Filling:
    filling: Filling = Filling.__new__(Filling)
    filling._gen = Gen()
    filling._separator = separator
    filling.repeated = 0
    return filling
