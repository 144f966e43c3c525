# distutils: extra_compile_args = FAST
"""The receivers of a message: all subscribers in no group, and from each group the member that is chosen (choosing.py).

Not those, in either case, whose exclusions have the topic (exclusions.py).

What a question has taken of a filter with groups or exclusions is the value of its branch, a Shared (groups.py), which
never changes. After the pin has ended, the receivers are put in its place: here for `match`, in deliveries.py for
deliveries. What is taken keeps the sets that it leads to, so these are borrowed: to count their uses would take as long
as all the rest, and all threads would write to these counts.

In a dialect with queue groups, groups of one name are one group, whatever their filters. Then a member is chosen only
when all filters are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import cython

if not cython.compiled:
    from ctrie._slot import borrow, borrowed, is_exactly
    from subtrie._trie.branch import Branch, subscribers_of
    from subtrie._trie.choosing import Choice, any_member, choice_for, choose_among
    from subtrie._trie.groups import Group, Shared, groups_in, is_weighted, may_be_excluded_from, plain_in
    from subtrie._trie.keyed import SetNode, hash_in, key_in, set_array_of
    from subtrie._trie.match.plan import Matchable, holds_weakly, joins_groups, plan_of, query_again
    from subtrie._trie.match.reading import Query, is_excluded
    from subtrie._trie.match.scratch import Scratch, drop_shared, is_shared_at, put_taken, taken_shared
    from subtrie._trie.match.walk import item_of, size_of
    from subtrie._trie.subscribers import Entry, Excepting, living

from subtrie._trie.keyed import iter_keyed


class Audience:
    """How a message looks for its receivers. What is to become of a receiver is a matter of the class (`add`)."""

    __slots__ = (
        "_excepting_choice",
        "_query",
        "choice",
        "entries",
        "joined",
        "topic",
        "trie",
        "weak",
    )
    trie: Matchable
    topic: Any
    _query: Query | None  # made when exclusions are met
    _excepting_choice: Choice | None  # the same
    weak: bool
    choice: Choice | None
    joined: dict[str, Any] | None  # by name, the groups met, each with its filter: one, or a list of several
    entries: list[Entry]  # of the receivers found

    def add(self, entry: Entry, group: str | None, trail: Any, at: int) -> int:
        """Somebody gets the message, by the filter at a place of a trail (trail.py), as the member of a group or in
        none."""
        self.entries.append(entry)
        return 0

    def receivers(self, value: Any) -> list[Entry]:
        """Return the receivers by a filter with these subscribers, but for those of joined groups."""
        self.receive(borrow(value), None, 0)
        return self._found()

    def joined_receivers(self) -> list[Entry]:
        """Return the receivers in the groups of several filters, after the last filter."""
        self.receive_joined()
        return self._found()

    def _found(self) -> list[Entry]:
        found = self.entries
        self.entries = []
        return found

    def receive(self, value: Any, trail: Any, at: int) -> int:
        """Add the receivers by a filter with these subscribers, which are borrowed, but for those of joined groups."""
        if not is_exactly(value, Shared):
            return self._add_plain(value, trail, at)
        if plain_in(value) is not borrow(None):
            self._add_plain(plain_in(value), trail, at)
        if groups_in(value) is not borrow(None):
            self._add_groups(groups_in(value), trail, at)
        return 0

    def receive_joined(self) -> int:
        """Add the receivers in the groups of several filters, after the last filter."""
        if self.joined is not None:
            for name, same in self.joined.items():
                if type(same) is tuple:
                    self._add_chosen(borrow(same[0]), same[1], same[2])
                    continue
                groups = [each[0] for each in same]
                number, entry = choose_among(groups, self._choice_in(groups))
                if entry is not None:
                    self.add(entry, name, same[number][1], same[number][2])
        return 0

    def excludes(self, entry: Entry) -> bool:
        """Return whether the exclusions of a subscription have the topic."""
        return isinstance(entry, Excepting) and is_excluded(entry, self._asked())

    def _asked(self) -> Query:
        query = self._query
        if query is None:
            query = self._query = query_again(plan_of(self.trie), self.topic)
        return query

    def _choice_in(self, groups: list[Group]) -> Choice | None:
        """Return what is asked for of these groups together."""
        for at in range(len(groups)):
            group: Group = groups[at]
            if group.excepting:
                if self._excepting_choice is None:
                    self._excepting_choice = choice_for(self.choice, self._asked())
                return self._excepting_choice
        return self.choice

    def _add_plain(self, subscribers: Any, trail: Any, at: int) -> int:
        array = _several(subscribers)
        if array is borrow(None):
            alive = living(borrowed(subscribers)) if self.weak else borrowed(subscribers)
            if alive is not None and not self.excludes(alive):
                self.add(alive, None, trail, at)
            return 0
        for i in range(size_of(array)):
            self._add_plain(item_of(array, i), trail, at)
        return 0

    def _add_groups(self, groups: Any, trail: Any, at: int) -> int:
        array = _several(groups)
        if array is not borrow(None):
            for i in range(size_of(array)):
                self._add_groups(item_of(array, i), trail, at)
        elif self.joined is None:
            self._add_chosen(groups, trail, at)
        else:
            self._join(borrowed(groups), (borrowed(groups), trail, at))
        return 0

    def _join(self, group: Group, one: tuple[Group, Any, int]) -> int:
        same = self.joined.get(group.key)  # type: ignore[union-attr]
        if type(same) is list:
            same.append(one)
        else:
            self.joined[group.key] = one if same is None else [same, one]  # type: ignore[index]
        return 0

    def _add_chosen(self, borrowed_group: Any, trail: Any, at: int) -> int:
        group = cython.cast(Group, borrowed_group)
        if group.heaviest > 1 or group.excepting or self.weak or self.choice is not None:
            groups = [group]
            entry = choose_among(groups, self._choice_in(groups))[1]
            if entry is None:
                return 0
        else:
            entry = borrowed(any_member(borrowed_group))
        return self.add(entry, group.key, trail, at)


def new_audience(trie: Matchable, topic: Any, filters: int) -> Audience:
    """Make one for a message on a topic, which reaches so many filters."""
    audience: Audience = Audience.__new__(Audience)
    begin_audience(audience, trie, topic, filters, None)
    return audience


def begin_audience(audience: Audience, trie: Matchable, topic: Any, filters: int, choice: Choice | None) -> int:
    """Begin with one."""
    audience.trie = trie
    audience.topic = topic
    audience._query = None
    audience._excepting_choice = None
    audience.weak = holds_weakly(trie)
    audience.choice = choice
    audience.joined = {} if filters > 1 and joins_groups(trie) else None
    audience.entries = []
    return 0


# ------------------------------------------------------------------------------------------------------------ in place


def put_receivers(s: Scratch, trie: Matchable, topic: Any) -> int:
    """Put the receivers in the places of the Shared among the subscribers taken."""
    joined = None
    filters = 0
    count = s.subscribers.count
    for i in range(0, count, 2):
        filters += is_shared_at(s, i)
    if filters > 1 and joins_groups(trie):
        joined = new_audience(trie, topic, filters)
    excepting = joined  # for filters with exclusions
    for i in range(0, count, 2):
        if is_shared_at(s, i):
            shared = taken_shared(s, i)
            if may_be_excluded_from(shared):
                if excepting is None:
                    excepting = new_audience(trie, topic, filters)
                for entry in excepting.receivers(borrowed(shared)):
                    _put(s, borrow(entry))
                continue
            if plain_in(shared) is not borrow(None):
                _put_plain(s, plain_in(shared))
            if joined is not None:
                joined._add_groups(groups_in(shared), None, 0)
            else:
                _put_chosen(s, groups_in(shared))
    if joined is not None:
        for entry in joined.joined_receivers():
            _put(s, borrow(entry))
    drop_shared(s, count)
    return 0


def _put(s: Scratch, entry: Any) -> int:
    return put_taken(s, key_in(entry), hash_in(entry))


def _put_plain(s: Scratch, subscribers: Any) -> int:
    array = _several(subscribers)
    if array is borrow(None):
        return _put(s, subscribers)
    for i in range(size_of(array)):
        _put_plain(s, item_of(array, i))
    return 0


def _put_chosen(s: Scratch, groups: Any) -> int:
    array = _several(groups)
    if array is not borrow(None):
        for i in range(size_of(array)):
            _put_chosen(s, item_of(array, i))
        return 0
    if not s.weak and not is_weighted(groups):
        return _put(s, any_member(groups))
    entry = choose_among([cython.cast(Group, groups)], None)[1]
    return 0 if entry is None else _put(s, borrow(entry))


def _several(members: Any) -> Any:
    """Return the array of a set of several, or None."""
    if is_exactly(members, SetNode):
        return set_array_of(members)
    return members if is_exactly(members, tuple) else borrow(None)


# ---------------------------------------------------------------------------------------------------------- one by one


class Distinct:
    """The subscribers named so far. Users' `__hash__` is not called; `__eq__` only if two hashes are equal."""

    __slots__ = ("_audience", "_by_hash")

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._by_hash: dict[int, list[Any]] = {}

    def named_by(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yield the new ones among those that get a message by filters with these subscribers."""
        for value in values:
            yield from self.by(value)
        yield from self._new(self._audience.joined_receivers())

    def by(self, value: Any) -> Iterator[Any]:
        """Yield the new ones of a filter with these subscribers, but for those of joined groups."""
        return self._new(self._audience.receivers(value))

    def among(self, members: Any) -> Iterator[Any]:
        """Yield the new ones in a set of subscribers in no group, each when it is asked for."""
        for entry in iter_keyed(members):
            alive = living(entry)
            if alive is not None and self.is_new(alive.key, alive.hash):
                yield alive.key

    def _new(self, receivers: list[Entry]) -> Iterator[Any]:
        for entry in receivers:
            if self.is_new(entry.key, entry.hash):
                yield entry.key

    def is_new(self, subscriber: Any, hash: int) -> bool:
        """Return whether the subscriber is new, and note it."""
        same_hash = self._by_hash.setdefault(hash, [])
        for other in same_hash:
            if other is subscriber or other == subscriber:
                return False
        same_hash.append(subscriber)
        return True


def distinct_subscribers(found: list[tuple[Branch, Any]], trie: Matchable, topic: Any) -> tuple[Any, ...]:
    """Return every subscriber of the branches that a reading has found, once; of each group, one member."""
    distinct = Distinct(new_audience(trie, topic, len(found)))
    return tuple(distinct.named_by([subscribers_of(branch) for branch, _ in found]))
