"""Builds a trie that no other thread has yet from many subscriptions at once.

Rows whose filters begin with the same words are expected next to one another, as in the order of a trie's own walk or
in any order that is sorted by words. Then each node is made once, from below:

    path        the words of the last row. For each word: the subscribers of the filter that ends with it,
    open        and the finished branches of the level below it, by their first words

When a row leaves the path after some words, the rest of the path is finished: it becomes one branch of the level where
the row leaves. A branch takes in the words above it as long as it is alone in its level and there are no subscribers
above. So the levels are the same as after subscribing one by one (I6, branch.py).

A row that would enter a finished branch again waits, and is subscribed in the ordinary way when the trie is finished.
If too many rows wait, the trie is finished at once, and all further rows are subscribed one by one.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

if not cython.compiled:
    from ctrie._arrays import GROUPS, W, flag_at
    from ctrie._cnode import Gen, MainNode, new_cnode
    from ctrie._nodes import HASH_BITS, INode, new_inode, new_lnode, new_root, two_snodes
    from subtrie._trie.branch import Branch, new_branch
    from subtrie._trie.groups import members_of, with_members
    from subtrie._trie.keyed import find_keyed, with_keyed
    from subtrie._trie.subscribers import Entry, new_entry, subscriber_hash
    from subtrie._trie.trie import SubscriptionTrie
else:
    from ctrie._arrays import GROUPS

from subtrie._trie.trie import SubscriptionTrie as _SubscriptionTrie
from subtrie.dialects import Dialect
from subtrie.errors import TopicError

MOST_WAITING = 20_000


class RowError(ValueError):
    """A row that is not a subscription, or the same subscription as another row; `row` counts from 0."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(row, reason)
        self.row = row
        self.reason = reason

    def __str__(self) -> str:
        return f"row {self.row}: {self.reason}"


class Bulk:
    """A trie that is being built. `rows` is the number of rows added."""

    __slots__ = ("_from_below", "_gen", "_hashes", "_open", "_subscribers", "_trie", "_waiting", "_words", "rows")
    _trie: SubscriptionTrie
    rows: int
    _from_below: bool  # the trie has no nodes yet
    _gen: Gen
    _words: tuple[str, ...]  # the path
    _hashes: tuple[int, ...]
    _subscribers: list[Any]  # of the filters that end with each word of the path; None beyond it
    _open: list[dict[str, Any]]  # the finished branches of the first level, and of the level below each word
    _waiting: list[tuple[int, Any, Entry]]  # row, place, entry

    def add(self, filters: list[str], subscribers: list[Any], options: list[Any]) -> None:
        """Add subscriptions: their filters, as they were subscribed, their subscribers, and their options (None: no
        options; a dict is kept, and several subscriptions may share one). After an error the trie is unusable.

        Raises TopicError, with the row in its reason, for a text that is not a filter, and RowError for any other
        fault. O(rows x words), and O(words + log n) for each row that is not next to those with the same first words.
        """
        trie = self._trie
        queues = trie.dialect.queue_groups
        first = self.rows
        last: Any = None
        place: Any = None
        checked: Any = None
        for number in range(len(filters)):
            filter = filters[number]
            own = options[number]
            try:
                queue = own.get("queue") if queues and own is not None else None
                if place is None or queue is not None or last is None or filter != last:
                    place = trie._place(filter, queue)
                    last = filter if queue is None else None
                if own is not checked and own is not None:
                    trie.dialect.check_options(own)
                    checked = own
                subscriber = subscribers[number]
                entry = new_entry(subscriber, subscriber_hash(subscriber), own)
            except TopicError as error:
                raise TopicError(error.text, error.position, f"row {first + number}: {error.reason}") from None
            except (TypeError, ValueError) as error:
                raise RowError(first + number, str(error)) from error
            self._add(first + number, place, entry)
        self.rows = first + len(filters)

    def finished(self) -> Any:
        """Return the trie, which may be shared from now on."""
        self._finish()
        return self._trie

    def _add(self, row: int, place: Any, entry: Entry) -> None:
        if self._from_below:
            words = place[1]
            common = self._common(words)
            if common < len(words) and words[common] in self._open[common]:
                self._waiting.append((row, place, entry))
                if len(self._waiting) > MOST_WAITING:
                    self._finish()
                return
            self._follow(words, place[2], common)
            self._join(row, place, entry)
        elif not self._trie._put(place, entry):
            raise _twice(row, place, entry)

    def _common(self, words: tuple[str, ...]) -> int:
        """Return how many of the first words are those of the path."""
        path = self._words
        most = min(len(words), len(path))
        common = 0
        while common < most and words[common] == path[common]:
            common += 1
        return common

    def _follow(self, words: tuple[str, ...], hashes: tuple[int, ...], common: int) -> None:
        """Make `words` the path."""
        if common < len(self._words):
            self._close(common)
        self._words = words
        self._hashes = hashes
        while len(self._subscribers) < len(words):
            self._subscribers.append(None)
            self._open.append({})

    def _join(self, row: int, place: Any, entry: Entry) -> None:
        """Subscribe to the filter that is the path."""
        end = len(self._words) - 1
        group = place[3]
        audience = self._subscribers[end]
        if audience is None and group is None:
            self._subscribers[end] = entry
            return
        members = members_of(audience, group)
        if find_keyed(members, entry.key, entry.hash) is not None:
            raise _twice(row, place, entry)
        self._subscribers[end] = with_members(audience, group, with_keyed(members, entry, None))

    def _close(self, depth: int) -> None:
        """Finish the path from its word number `depth` on, as one branch."""
        words = self._words
        separator = self._trie._plan.separator
        stop = len(words)
        start = stop - 1
        below = self._level_at(stop)  # of longer filters that came before
        while True:
            level = self._open[start]
            above = self._subscribers[start - 1] if start > 0 else None
            if start > depth and len(level) == 0 and above is None:
                start -= 1  # alone
                continue
            level[words[start]] = new_branch(
                words[start:stop], separator, self._hashes[start], self._subscribers[stop - 1], below
            )
            if start == depth:
                break
            below = self._level_at(start)
            stop = start
            start -= 1
        for word in range(depth, len(words)):
            self._subscribers[word] = None

    def _level_at(self, depth: int) -> INode | None:
        """Make the level of the finished branches below the first `depth` words of the path, if there are any."""
        finished = self._open[depth]
        if len(finished) == 0:
            return None
        level = new_inode(_main_of(list(finished.values()), 0, self._gen), self._gen)
        finished.clear()
        return level

    def _finish(self) -> None:
        """Make the trie, unless that is done, and subscribe the waiting rows."""
        if not self._from_below:
            return
        self._from_below = False
        if len(self._words) > 0:
            self._close(0)
        top = list(self._open[0].values())
        self._trie._root = new_root(new_inode(_main_of(top, 0, self._gen), self._gen), False)
        self._open.clear()
        for row, place, entry in self._waiting:
            if not self._trie._put(place, entry):
                raise _twice(row, place, entry)
        self._waiting.clear()


def _main_of(nodes: list[Any], lev: int, gen: Gen) -> MainNode:
    """Make the main node for depth `lev` that holds these branches. Their hashes agree below `lev`."""
    if len(nodes) == 1:
        only: Branch = nodes[0]
        return new_cnode(flag_at(only.hash, lev), (only,))
    if len(nodes) == 2:
        return two_snodes(nodes[0], nodes[1], lev, gen)
    if lev >= HASH_BITS:
        return new_lnode(tuple(nodes))
    groups: list[Any] = [None] * GROUPS
    for node in nodes:
        branch: Branch = node
        group = branch.hash >> lev & GROUPS - 1
        if groups[group] is None:
            groups[group] = [branch]
        else:
            groups[group].append(branch)
    bitmap = 0
    array: list[Any] = []
    for group in range(GROUPS):
        held = groups[group]
        if held is not None:
            bitmap |= flag_at(group, 0)
            array.append(held[0] if len(held) == 1 else new_inode(_main_of(held, lev + W, gen), gen))
    return new_cnode(bitmap, tuple(array))


def _twice(row: int, place: Any, entry: Entry) -> RowError:
    return RowError(row, f"subscriber {entry.key!r} is on {place[0][0]!r} already")


def new_bulk(dialect: Dialect, exact: bool) -> Bulk:
    bulk: Bulk = Bulk.__new__(Bulk)
    bulk._trie = _SubscriptionTrie(dialect, exact=exact)
    bulk.rows = 0
    bulk._from_below = not exact  # with `exact`, most filters are one word of the first level
    bulk._gen = Gen()
    bulk._words = bulk._hashes = ()
    bulk._subscribers = []
    bulk._open = [{}]
    bulk._waiting = []
    return bulk
