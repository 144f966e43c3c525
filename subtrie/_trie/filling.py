"""Many filters at once: their words are cut and hashed, and sorted into the order of a trie; levels are made of them
from below, each node once.

    row        a filter, split into words, its subscriber, and its group, if any
    ordered    the rows, in the order in which a trie has their words

The rows are sorted by their first words. Rows with the same first word are then adjacent, and become one branch. Below
it they are sorted by their next words, and so on. A row that is alone becomes a branch with all its remaining words. A
branch takes all words that its filters have in common, as far as no filter ends in between. So the levels are the same
as after subscribing one by one (I6, branch.py).

An empty trie gets all levels by one RDCSS (`fill_empty`). One that has filters is changed row by row (changeable.py).

Words are compared by their hashes. If two different words have the same hash, which nobody can provoke, the rows
are subscribed one by one. Compiled rows and their words are not Python objects (filling.pxd).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cython

from subtrie._trie.exclusions import BUT, checked
from subtrie._trie.options import one_of_equals
from subtrie.dialects import Dialect
from subtrie.errors import RowError, TopicError

if not cython.compiled:
    from ctrie._bulk import cnode_of, hash_at, in_order
    from ctrie._cnode import CNode, Gen
    from ctrie._machine import EVERY, check_signals, check_stack
    from ctrie._nodes import INode, gcas_read, new_inode, rdcss_read_root, rdcss_root
    from subtrie._trie.branch import Branch, Place, branch_of, lone_branch
    from subtrie._trie.groups import members_of, with_members
    from subtrie._trie.keyed import find_keyed, with_keyed
    from subtrie._trie.match.plan import Matchable
    from subtrie._trie.packed_key import set_key
    from subtrie._trie.subscribers import Entry, checked_entry, entry_of, subscriber_hash


if not cython.compiled:  # the compiled bodies (filling.pxd) keep rows as C structures

    class CutWord:
        """The place of a word in its filter, and its hash."""

        __slots__ = ("end", "hash", "start")

        def __init__(self, hash: int, start: int, end: int) -> None:
            self.hash, self.start, self.end = hash, start, end

    class CutFilter:
        """`number` tells which of the given ones it is, `text` holds the words. `hash` belongs to the word by which the
        row was last sorted."""

        __slots__ = ("group", "hash", "number", "options", "owner_hash", "size", "subscriber", "text", "words")
        number: int
        text: str
        words: list[CutWord]
        size: int
        subscriber: Any
        owner_hash: int
        options: dict[str, Any] | None
        group: str | None
        hash: int

    def make_room(filling: Filling) -> None:
        """Make room for all given rows."""
        filling._ordered = [None] * len(filling._filters)

    def let_go(filling: Filling) -> None:
        """For the compiled twin, which has to free memory."""

    def cut(filling: Filling, number: int, filter: str) -> bool:
        """Make row `number` if its words can be found without the dialect; return whether they can."""
        return False

    def new_row(filling: Filling, number: int, text: str, size: int) -> CutFilter:
        """Make row `number`, with room for `size` words."""
        row = CutFilter()
        row.number, row.text, row.size, row.words, row.group = number, text, size, [], None
        filling._ordered[number] = row
        return row

    def put_word(row: CutFilter, number: int, hash: int, start: int, end: int) -> None:
        """Set the hash and the place of one word of a new row."""
        row.words.append(CutWord(hash, start, end))

    def put_group(row: CutFilter, group: str) -> None:
        """Set the group. `_kept` keeps it alive."""
        row.group = group

    def group_of(row: CutFilter) -> str | None:
        """Return the group, or None."""
        return row.group

    def put_subscriber(row: CutFilter, subscriber: Any, options: dict[str, Any] | None) -> None:
        """Set the subscriber and its options. The lists of the filling keep these objects alive."""
        row.subscriber, row.owner_hash, row.options = subscriber, subscriber_hash(subscriber), options

    def subscriber_of(row: CutFilter) -> Any:
        """Return the subscriber."""
        return row.subscriber

    def options_of(row: CutFilter) -> dict[str, Any] | None:
        """Return the options of a subscription."""
        return row.options

    def order(filling: Filling, start: int, end: int, depth: int) -> None:
        """Sort rows number `start` to `end` by their words number `depth`, stably."""
        rows = filling._ordered[start:end]
        for row in rows:
            row.hash = row.words[depth].hash
        filling._ordered[start:end] = in_order(rows)

    def row_at(ordered: list[Any], number: int) -> CutFilter:
        """Return the row at a place."""
        return ordered[number]  # type: ignore[no-any-return]

    def put_row(ordered: list[Any], number: int, row: CutFilter) -> None:
        """Put a row at a place."""
        ordered[number] = row

    def put_branch(ordered: list[Any], number: int, branch: Branch) -> None:
        """Put a branch, which `cnode_of` will take, at a place."""
        ordered[number] = branch

    def drop_branches_at(ordered: list[Any], start: int, end: int) -> None:
        """Free the branches that nothing has taken. Only the compiled twin has such memory."""

    def agree(row: CutFilter, other: CutFilter, size: int) -> bool:
        """Return whether the first words of two rows are equal. Their hashes are."""
        return row.text[: row.words[size - 1].end] == other.text[: other.words[size - 1].end]

    def put_key(branch: Branch, row: CutFilter, depth: int, end: int) -> None:
        """Give a new branch the words number `depth` to `end` of a row."""
        set_key(branch, row.text[row.words[depth].start : row.words[end - 1].end])


NOT_FILLED = -1

DEEP = 100
"""Below so many words, rows are subscribed one by one, which takes no more stack for more words. A thread with a stack
of 256 kB has room for five times as many, and so many calls of the interpreted twin are within what Python allows."""


def fill_empty(
    trie: Matchable,
    place: Callable[[Any, Any], Any],
    filters: list[Any],
    subscribers: list[Any],
    options: list[Any],
    strict: bool,
) -> int:
    """Subscribe all rows if the trie is empty; return how many were not repeated, or NOT_FILLED. An error of a row
    changes nothing.

    The linearization point is the commit of the RDCSS. Lock-free: it does not try again.
    """
    root = trie._root
    old = rdcss_read_root(root)
    main = gcas_read(root, old)
    cn: CNode = main  # type: ignore[assignment]  # the first level of a trie is never tombed
    if cn.bitmap != 0 or not filters:
        return NOT_FILLED
    filling = new_filling(trie, place, filters, subscribers, options, strict)
    added = NOT_FILLED
    try:
        filling.read()
        # Success: the trie, which was empty until then, has all of them. Failure: another thread, or a subscriber's
        # `__hash__`, has subscribed or has taken a snapshot meanwhile.
        if rdcss_root(root, old, main, filling.level(0, len(filters), 0)):
            added = filling.count
    except WordsCollide:
        pass
    finally:
        let_go(filling)
    return added


class WordsCollide(Exception):
    """Different words have the same hash."""


class Filling:
    """Rows, and levels that are being made of them. `count` is the number of subscriptions that were not there."""

    __slots__ = (
        "_filters", "_gen", "_kept", "_options", "_ordered", "_place", "_strict", "_subscribers", "_trie", "count",
    )  # fmt: skip
    _trie: Matchable
    _place: Callable[[Any, Any], Any]  # the trie's: of a filter and a queue group
    _filters: list[Any]
    _subscribers: list[Any]
    _options: list[Any]  # a dict or None for each
    _strict: bool  # whether a repeated subscription is a RowError, and others name their row
    _kept: list[Any]  # other objects that rows lead to
    _ordered: Any
    _gen: Gen
    count: int

    def read(self) -> None:
        """Make the rows. Raises what the dialect raises about filters and options, and TypeError for a subscriber that
        has no hash. Nothing has changed then."""
        make_room(self)
        number = 0
        try:
            for number in range(len(self._filters)):
                if number % EVERY == 0:
                    check_signals()
                self._read_row(number)
        except TopicError as error:
            if not self._strict:
                raise
            raise TopicError(error.text, error.position, f"row {number}: {error.reason}") from None
        except (TypeError, ValueError) as error:
            if not self._strict:
                raise
            raise RowError(number, str(error)) from error

    def _read_row(self, number: int) -> None:
        dialect = self._trie._plan.dialect
        filter = self._filters[number]
        own = self._options[number]
        queue = None if own is None or not dialect.queue_groups else own.get("queue")
        if queue is not None or type(filter) is not str or not cut(self, number, filter):
            self._cut_by_dialect(number, filter, queue)
        if own is not None and (number == 0 or own is not self._options[number - 1]):
            dialect.check_options(own)
        if own is not None and BUT in own:
            self._options[number] = own = checked(dialect, filter, own) or None
        put_subscriber(row_at(self._ordered, number), self._subscribers[number], own)

    def _cut_by_dialect(self, number: int, filter: str, queue: str | None) -> None:
        """Do as `cut`, with the words that the dialect finds, and the group."""
        place: Place = self._place(filter, queue)
        words, hashes, group = place.words, place.hashes, place.group
        separator = self._trie._plan.separator
        text = separator.join(words)
        self._kept.append(text)
        row = new_row(self, number, text, len(words))
        if group is not None:
            self._kept.append(group)
            put_group(row, group)
        start = 0
        for at in range(len(words)):
            end = start + len(words[at])
            put_word(row, at, hashes[at], start, end)
            start = end + len(separator)

    def level(self, start: int, end: int, depth: int) -> INode:
        """Return the level for the words number `depth` of rows number `start` to `end`."""
        check_stack()
        if depth >= DEEP:
            raise WordsCollide
        order(self, start, end, depth)
        return self._inode(start, end, depth, 0)

    def _inode(self, start: int, end: int, depth: int, lev: int) -> INode:
        """Return the I-node for rows whose words number `depth` differ, but agree in the hash bits below `lev`."""
        ordered = self._ordered
        made: list[Any] = []
        at = start
        while start < end:
            if len(made) % EVERY == 0:
                check_signals()
            stop = self.end_of_word(start, end)
            made.append(self._of_one_word(start, stop, depth))
            start = stop
        stop = at
        for branch in made:
            put_branch(ordered, stop, branch)
            stop += 1
        try:
            return new_inode(cnode_of(ordered, at, stop, lev, self._gen, None, False, []), self._gen)
        finally:
            drop_branches_at(ordered, at, stop)  # an error leaves some

    def end_of_word(self, start: int, end: int) -> int:
        """Return the place after the rows that have the same word as the one at `start`."""
        hash = hash_at(self._ordered, start)
        start += 1
        while start < end and hash_at(self._ordered, start) == hash:
            start += 1
        return start

    def _of_one_word(self, start: int, stop: int, depth: int) -> Branch:
        if stop == start + 1:
            return self._alone(row_at(self._ordered, start), depth)
        return self._branch(start, stop, depth)

    def _alone(self, row: Any, depth: int) -> Branch:
        """Return the branch of a row that is alone from its word number `depth` on."""
        is_long = row.size > depth + 1
        group = group_of(row)
        options = options_of(row)
        if group is None and row.owner_hash != 0 and (options is None or BUT not in options):
            if options is not None:
                options = one_of_equals(options)
            branch = lone_branch(is_long, row.words[depth].hash, subscriber_of(row), row.owner_hash, options)
        else:
            entry = _entry_of(row, self._trie._plan.dialect)
            audience = with_members(None, group, entry, entry, None)
            branch = branch_of(is_long, row.words[depth].hash, audience, None)
        put_key(branch, row, depth, row.size)
        self.count += 1
        return branch

    def _branch(self, start: int, stop: int, depth: int) -> Branch:
        """Return the branch of rows whose words number `depth` have the same hash."""
        ordered = self._ordered
        first = row_at(ordered, start)
        end = first.size
        for number in range(start + 1, stop):
            if number % EVERY == 0:
                check_signals()
            end = _agree_until(first, row_at(ordered, number), depth + 1, end)
        audience: Any = None
        longer = start
        for number in range(start, stop):
            if number % EVERY == 0:
                check_signals()
            row = row_at(ordered, number)
            if not agree(first, row, end):
                raise WordsCollide
            if row.size > end:
                put_row(ordered, longer, row)
                longer += 1
            else:
                audience = self._with_row(audience, row)
        below: INode | None = None
        if longer > start:
            below = self.level(start, longer, end)
        branch = branch_of(end > depth + 1, first.words[depth].hash, audience, below)
        put_key(branch, first, depth, end)
        return branch

    def _with_row(self, audience: Any, row: Any) -> Any:
        """Return the subscribers of a filter with that of a row."""
        group = group_of(row)
        entry = _entry_of(row, self._trie._plan.dialect)
        members = members_of(audience, group)
        present: Any = find_keyed(members, entry.key, entry.hash)
        if present is None:
            self.count += 1
        elif self._strict:
            raise RowError(row.number, f"subscriber {entry.key!r} is on {self._filters[row.number]!r} already")
        elif present.options is None and entry.options is None:
            return audience
        else:  # as in a dict, the first object stays
            entry = entry_of(present.key, entry)
        return with_members(audience, group, with_keyed(members, entry, present), entry, present)


def _entry_of(row: Any, dialect: Dialect) -> Entry:
    return checked_entry(subscriber_of(row), row.owner_hash, options_of(row), dialect)


def _agree_until(row: Any, other: Any, start: int, end: int) -> int:
    """Return the number, at most `end`, up to which the words of two rows have the same hashes."""
    end = min(end, other.size)
    while start < end and row.words[start].hash == other.words[start].hash:
        start += 1
    return start


def new_filling(
    trie: Matchable,
    place: Callable[[Any, Any], Any],
    filters: list[Any],
    subscribers: list[Any],
    options: list[Any],
    strict: bool,
) -> Filling:
    filling: Filling = Filling.__new__(Filling)
    filling._trie = trie
    filling._place = place
    filling._filters = filters
    filling._subscribers = subscribers
    filling._options = options
    filling._strict = strict
    filling._kept = []
    filling._gen = Gen()
    filling.count = 0
    return filling
