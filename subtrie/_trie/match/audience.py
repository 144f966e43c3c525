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

from typing import Any

import cython

if not cython.compiled:
    from ctrie._slot import borrow, borrowed, is_exactly
    from subtrie._trie.choosing import Choice, any_member, choose_among, new_choice
    from subtrie._trie.groups import Group, Shared, groups_in, plain_in
    from subtrie._trie.keyed import SetNode, hash_in, key_in, set_array_of
    from subtrie._trie.match.plan import Matchable, plan_of, query_again
    from subtrie._trie.match.reading import Query, is_excluded
    from subtrie._trie.match.scratch import Question, drop_shared, is_shared_at, put_taken, taken_shared
    from subtrie._trie.match.walk import item_of, size_of
    from subtrie._trie.subscribers import Entry, Excepting, living


class Audience:
    """How a message looks for its receivers. What is to become of a receiver is a matter of the class (`add`)."""

    __slots__ = (
        "_query",
        "choice",
        "entries",
        "topic",
        "trie",
        "united",
        "weak",
    )
    trie: Matchable
    topic: Any
    _query: Query | None  # made when exclusions are met
    weak: bool
    choice: Choice | None
    united: dict[str, Any] | None  # by name, the groups met, each with its filter: one, or a list of several
    entries: list[Entry]  # of the receivers found

    def add(self, entry: Entry, group: str | None, trail: Any, at: int) -> int:
        """Somebody gets the message, by the filter of a record of a trail (trail.py), as the member of a group or in
        none."""
        self.entries.append(entry)
        return 0

    def receive(self, value: Any, trail: Any, at: int) -> int:
        """Add the receivers by a filter with these subscribers, which are borrowed, but for those of united groups."""
        if not is_exactly(value, Shared):
            return self._add_plain(value, trail, at)
        if plain_in(value) is not borrow(None):
            self._add_plain(plain_in(value), trail, at)
        if groups_in(value) is not borrow(None):
            self._add_groups(groups_in(value), trail, at)
        return 0

    def receive_united(self) -> int:
        """Add the receivers in the groups of several filters, after the last filter."""
        if self.united is not None:
            for name, same in self.united.items():
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
                if self.choice is None:
                    self.choice = new_choice(None, None, None)
                self.choice.query = self._asked()
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
        elif self.united is None:
            self._add_chosen(groups, trail, at)
        else:
            self._unite(borrowed(groups), (borrowed(groups), trail, at))
        return 0

    def _unite(self, group: Group, one: tuple[Group, Any, int]) -> int:
        same = self.united.get(group.key)  # type: ignore[union-attr]
        if type(same) is list:
            same.append(one)
        else:
            self.united[group.key] = one if same is None else [same, one]  # type: ignore[index]
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
    audience.weak = trie._home is not None
    audience.choice = choice
    audience.united = {} if filters > 1 and trie._plan.unites else None
    audience.entries = []
    return 0


def put_receivers(q: Question, trie: Matchable, topic: Any) -> int:
    """Put the receivers in the places of the Shared among the subscribers taken."""
    filters = 0
    count = q.subscribers.count
    for i in range(0, count, 2):
        filters += is_shared_at(q, i)
    audience = new_audience(trie, topic, filters)
    for i in range(0, count, 2):
        if is_shared_at(q, i):
            audience.receive(taken_shared(q, i), None, 0)
    audience.receive_united()
    for entry in audience.entries:
        put_taken(q, key_in(borrow(entry)), hash_in(borrow(entry)))
    drop_shared(q, count)
    return 0


def _several(members: Any) -> Any:
    """Return the array of a set of several, or None."""
    if is_exactly(members, SetNode):
        return set_array_of(members)
    return members if is_exactly(members, tuple) else borrow(None)
