"""Fills an empty trie with many subscriptions: makes its nodes from below, each once, and publishes them by one RDCSS.

    row        a filter, split into words, and its subscriber
    ordered    the rows, in the order in which a trie has their words

The rows are sorted by their first words. Rows with the same first word are then adjacent, and become one branch. Below
it they are sorted by their next words, and so on. A row that is alone becomes a branch with all its remaining words. A
branch takes all words that its filters have in common, as far as no filter ends in between. So the levels are the same
as after subscribing one by one (I6, branch.py).

Words are compared by their hashes. If two different words have the same hash, which nobody can provoke, all rows are
subscribed one by one instead. Compiled rows and their words are not Python objects (filling.pxd).
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from typing import Any

from ctrie._bulk import pause_collector, resume_collector
from subtrie.errors import TopicError

if not cython.compiled:
    from ctrie._bulk import cnode_of, hash_at, in_order
    from ctrie._cnode import CNode, Gen
    from ctrie._nodes import INode, gcas_read, new_inode, rdcss_read_root, rdcss_root
    from ctrie._signals import EVERY, check_signals
    from subtrie._trie.branch import Branch, blank_branch, filled_branch, lone_branch
    from subtrie._trie.keyed import find_keyed, with_keyed
    from subtrie._trie.match.plan import Matchable, filter_path
    from subtrie._trie.packed_key import set_key
    from subtrie._trie.subscribers import Entry, new_entry, subscriber_hash

if not cython.compiled:  # the compiled bodies (filling.pxd) keep rows as C structures

    class Word:
        """The place of a word in its filter, and its hash."""

        __slots__ = ("end", "hash", "start")

        def __init__(self, hash: int, start: int, end: int) -> None:
            self.hash, self.start, self.end = hash, start, end

    class Row:
        """`text` holds the words. `hash` belongs to the word by which the row was last sorted."""

        __slots__ = ("hash", "options", "owner_hash", "size", "subscriber", "text", "words")
        text: str
        words: list[Word]
        size: int
        subscriber: Any
        owner_hash: int
        options: dict[str, Any] | None
        hash: int

    def make_room(filling: Filling) -> None:
        """Make room for all given rows."""
        filling._ordered = [None] * len(filling._given)

    def let_go(filling: Filling) -> None:
        """For the compiled twin, which has to free memory."""

    def cut(filling: Filling, number: int, filter: str) -> bool:
        """Make row `number` if its words can be found without the dialect; return whether they can."""
        return False

    def new_row(filling: Filling, number: int, text: str, size: int) -> Row:
        """Make row `number`, with room for `size` words."""
        row = Row()
        row.text, row.size, row.words = text, size, []
        filling._ordered[number] = row
        return row

    def put_word(row: Row, number: int, hash: int, start: int, end: int) -> None:
        """Set the hash and the place of one word of a new row."""
        row.words.append(Word(hash, start, end))

    def put_subscriber(row: Row, subscriber: Any, options: dict[str, Any] | None) -> None:
        """Set the subscriber and its options. `_given` and `_kept` keep these objects alive."""
        row.subscriber, row.owner_hash, row.options = subscriber, subscriber_hash(subscriber), options

    def subscriber_of(row: Row) -> Any:
        """Return the subscriber."""
        return row.subscriber

    def options_of(row: Row) -> dict[str, Any] | None:
        """Return the options of a subscription."""
        return row.options

    def order(filling: Filling, start: int, end: int, depth: int) -> None:
        """Sort rows number `start` to `end` by their words number `depth`, stably."""
        rows = filling._ordered[start:end]
        for row in rows:
            row.hash = row.words[depth].hash
        filling._ordered[start:end] = in_order(rows)

    def row_at(ordered: list[Any], number: int) -> Row:
        """Return the row at a place."""
        return ordered[number]  # type: ignore[no-any-return]

    def put_row(ordered: list[Any], number: int, row: Row) -> None:
        """Put a row at a place."""
        ordered[number] = row

    def put_branch(ordered: list[Any], number: int, branch: Branch) -> None:
        """Put a branch, which `cnode_of` will take, at a place."""
        ordered[number] = branch

    def drop_branches_at(ordered: list[Any], start: int, end: int) -> None:
        """Free the branches that nothing has taken. Only the compiled twin has such memory."""

    def agree(row: Row, other: Row, size: int) -> bool:
        """Return whether the first words of two rows are equal. Their hashes are."""
        return row.text[: row.words[size - 1].end] == other.text[: other.words[size - 1].end]

    def put_key(branch: Branch, row: Row, depth: int, end: int) -> None:
        """Give a new branch the words number `depth` to `end` of a row."""
        set_key(branch, row.text[row.words[depth].start : row.words[end - 1].end])


def fill(trie: Matchable, given: list[Any]) -> int:
    """Subscribe all of `given`, each (filter, subscriber) or (filter, subscriber, options), if the trie is empty.

    Return how many subscriptions that makes. Return -1 if nothing was done: the trie is not empty, or some of `given`
    must be subscribed one by one, because it is faulty or in a group. The linearization point is the commit of the
    RDCSS. Lock-free: it does not try again.
    """
    root = trie._root
    old = rdcss_read_root(root)
    main = gcas_read(root, old)
    cn: CNode = main  # type: ignore[assignment]  # the first level of a trie is never tombed
    if cn.bitmap != 0 or not given:
        return -1
    filling = new_filling(trie, given)
    paused = pause_collector()
    try:
        make_room(filling)
        if not filling.read():
            return -1
        filled = filling.level(0, len(given), 0)
        # Success: the trie, which was empty until then, has all of them. Failure: another thread has subscribed or has
        # taken a snapshot meanwhile.
        return len(given) - filling.repeated if rdcss_root(root, old, main, filled) else -1
    except _OneByOne:
        return -1
    finally:
        let_go(filling)
        resume_collector(paused)


class _OneByOne(Exception):
    """Some row must be subscribed by itself."""


class Filling:
    """Levels that are being made. `repeated` counts the subscriptions that occurred before."""

    __slots__ = ("_gen", "_given", "_kept", "_ordered", "_trie", "repeated")
    _trie: Matchable
    _given: list[Any]
    _kept: list[Any]  # other objects that rows lead to
    _ordered: Any
    _gen: Gen
    repeated: int

    def read(self) -> bool:
        """Make the rows; return False if one must be subscribed by itself."""
        dialect = self._trie._plan.dialect
        for number in range(len(self._given)):
            if number % EVERY == 0:
                check_signals()
            one = self._given[number]
            if type(one) is not tuple or not 2 <= len(one) <= 3 or type(one[0]) is not str:
                return False
            options: Any = None
            if len(one) == 3 and one[2] != {}:
                if not _is_plain(dialect, one[2]):
                    return False
                dialect.check_options(one[2])
                options = dict(one[2])
                self._kept.append(options)
            if not cut(self, number, one[0]):
                self._cut_by_dialect(number, one[0])
            put_subscriber(row_at(self._ordered, number), one[1], options)
        return True

    def _cut_by_dialect(self, number: int, filter: str) -> None:
        """Do as `cut`, with the words that the dialect finds."""
        try:
            words, hashes = filter_path(self._trie, filter)
        except TopicError:
            raise _OneByOne from None
        plan = self._trie._plan
        if plan.share is not None and words[0] == plan.share:
            raise _OneByOne
        text = plan.separator.join(words)
        self._kept.append(text)
        row = new_row(self, number, text, len(words))
        start = 0
        for place in range(len(words)):
            end = start + len(words[place])
            put_word(row, place, hashes[place], start, end)
            start = end + len(plan.separator)

    def level(self, start: int, end: int, depth: int) -> INode:
        """Return the level for the words number `depth` of rows number `start` to `end`."""
        ordered = self._ordered
        made: list[Any] = []
        place = start
        order(self, start, end, depth)
        while start < end:
            if len(made) % EVERY == 0:
                check_signals()
            hash = hash_at(ordered, start)
            stop = start + 1
            while stop < end and hash_at(ordered, stop) == hash:
                stop += 1
            branch = (
                self._alone(row_at(ordered, start), depth) if stop == start + 1 else self._branch(start, stop, depth)
            )
            made.append(branch)
            start = stop
        stop = place
        for branch in made:
            put_branch(ordered, stop, branch)
            stop += 1
        try:
            return new_inode(cnode_of(ordered, place, stop, 0, self._gen, None, False), self._gen)
        finally:
            drop_branches_at(ordered, place, stop)  # an error leaves some

    def _alone(self, row: Any, depth: int) -> Branch:
        """Return the branch of a row that is alone from its word number `depth` on."""
        is_long = row.size > depth + 1
        if options_of(row) is None and row.owner_hash != 0:
            branch = lone_branch(is_long, row.words[depth].hash, subscriber_of(row), row.owner_hash)
        else:
            entry = _entry_of(row)
            branch = filled_branch(blank_branch(is_long, entry, None), row.words[depth].hash, entry, None)
        put_key(branch, row, depth, row.size)
        return branch

    def _branch(self, start: int, stop: int, depth: int) -> Branch:
        """Return the branch of rows whose words number `depth` have the same hash."""
        ordered = self._ordered
        first = row_at(ordered, start)
        end = first.size
        for number in range(start + 1, stop):
            end = _agree_until(first, row_at(ordered, number), depth + 1, end)
        audience: Any = None
        longer = start
        for number in range(start, stop):
            row = row_at(ordered, number)
            if not agree(first, row, end):
                raise _OneByOne
            if row.size > end:
                put_row(ordered, longer, row)
                longer += 1
            else:
                audience = self._joined(audience, _entry_of(row))
        below: INode | None = None
        if longer > start:
            below = self.level(start, longer, end)
        branch = filled_branch(blank_branch(end > depth + 1, audience, below), first.words[depth].hash, audience, below)
        put_key(branch, first, depth, end)
        return branch

    def _joined(self, audience: Any, entry: Entry) -> Any:
        if audience is None:
            return entry
        present = find_keyed(audience, entry.key, entry.hash)
        if present is None:
            return with_keyed(audience, entry, None)
        self.repeated += 1
        if present.options is None and entry.options is None:
            return audience
        # As in a dict, the first object stays.
        return with_keyed(audience, new_entry(present.key, entry.hash, entry.options), present)


def _is_plain(dialect: Any, options: Any) -> bool:
    """Return whether these are valid options of a subscription that is in no group."""
    if type(options) is not dict or any([type(name) is not str for name in options]):  # noqa: C419 (a cdef function)
        return False
    return not dialect.queue_groups or "queue" not in options


def _entry_of(row: Any) -> Entry:
    return new_entry(subscriber_of(row), row.owner_hash, options_of(row))


def _agree_until(row: Any, other: Any, start: int, end: int) -> int:
    """Return the number, at most `end`, up to which the words of two rows have the same hashes."""
    end = min(end, other.size)
    while start < end and row.words[start].hash == other.words[start].hash:
        start += 1
    return start


def new_filling(trie: Matchable, given: list[Any]) -> Filling:
    filling: Filling = Filling.__new__(Filling)
    filling._trie = trie
    filling._given = given
    filling._kept = []
    filling._gen = Gen()
    filling.repeated = 0
    return filling
