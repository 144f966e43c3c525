"""Groups: the shared subscriptions of MQTT and the queue groups of NATS. One member of a group gets each message.

As long as a filter has no groups, like most filters, the value of its branch (`value`, branch.py) is a persistent set
(keyed.py). Such a filter takes no more time or memory than without this module. With a group, the value is

    Shared(plain, groups)             plain: the set of subscribers in no group, or None
                                      groups: a set of Groups, by name
    Group(name, members, turn)        an entry, like that of a subscriber; members: a set, never empty

The turn is the only place in a trie that matching writes to. A match that takes a turn adds one to it; the turn, modulo
the number of members, is the place of the member that gets the message. So members take turns as long as none is added
or removed. The turn says nothing about subscriptions: snapshots and forks share it with their trie.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Iterator
from typing import Any

if not cython.compiled:
    from ctrie._slot import Slot, compare_and_set, initialise, load
    from subtrie._trie.keyed import Keyed, branches_of, find_keyed, set_size, with_keyed, without_keyed
    from subtrie._trie.subscribers import Entry, living, subscriber_hash

from subtrie._trie.keyed import changed_keyed, check_set, iter_keyed


class Shared:
    """The subscribers of a filter that has groups."""

    __slots__ = ("groups", "plain")
    plain: Any
    groups: Any


class Group(Keyed):
    """A group of one filter. Its key is its name."""

    __slots__ = ("members", "turn")
    members: Any
    turn: Slot


def members_of(value: Any, group: str | None) -> Any:
    """Return the set of the members of a group, or of the subscribers in no group if `group` is None."""
    if isinstance(value, Shared):
        shared: Shared = value
        if group is None:
            return shared.plain
        found: Any = find_keyed(shared.groups, group, subscriber_hash(group))
        return None if found is None else _members(found)
    return value if group is None else None


def with_members(value: Any, group: str | None, members: Any) -> Any:
    """Return the value of a branch with `members` instead of `members_of(value, group)`."""
    if group is None:
        return _new_shared(members, _groups_of(value)) if isinstance(value, Shared) else members
    groups = _groups_of(value)
    found: Any = find_keyed(groups, group, subscriber_hash(group))
    if members is not None:
        groups = with_keyed(groups, _new_group(group, members, found), found)
    elif found is not None:
        groups = without_keyed(groups, found)
    plain = members_of(value, None)
    return plain if groups is None else _new_shared(plain, groups)


def _groups_of(value: Any) -> Any:
    if isinstance(value, Shared):
        shared: Shared = value
        return shared.groups
    return None


def _members(entry: Any) -> Any:
    group: Group = entry
    return group.members


def _new_shared(plain: Any, groups: Any) -> Shared:
    shared: Shared = Shared.__new__(Shared)
    shared.plain = plain
    shared.groups = groups
    return shared


def _new_group(name: str, members: Any, present: Group | None) -> Group:
    group: Group = Group.__new__(Group)
    group.key = name
    group.hash = subscriber_hash(name)
    group.members = members
    if present is not None:
        group.turn = present.turn
    else:
        turn: Slot = Slot.__new__(Slot)
        initialise(turn, 0)
        group.turn = turn
    return group


# ------------------------------------------------------------------------------------------------------------- listing


def total(value: Any) -> int:
    """Return the number of subscriptions of a filter. O(groups)."""
    groups = iter_keyed(_groups_of(value))
    return set_size(members_of(value, None)) + sum(set_size(_members(group)) for group in groups)


def group_count(value: Any) -> int:
    """Return the number of groups of a filter. O(1)."""
    return set_size(_groups_of(value))


def sets_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (group, set of its members). The group is None for the subscribers in no group."""
    yield None, members_of(value, None)
    for group in iter_keyed(_groups_of(value)):
        yield group.key, _members(group)


def everybody(value: Any) -> Iterator[tuple[Any, Entry]]:
    """Yield (group, entry) for every subscription of a filter whose subscriber is alive."""
    for group, members in sets_of(value):
        for entry in iter_keyed(members):
            alive = living(entry)
            if alive is not None:
                yield group, alive


def changed_members(older: Any, newer: Any) -> Iterator[tuple[str | None, Entry | None, Entry | None]]:
    """Yield (group, old, new) for every subscriber whose entry differs, like `changed_keyed`."""
    for old, new in changed_keyed(members_of(older, None), members_of(newer, None)):
        yield None, old, new
    for before, after in changed_keyed(_groups_of(older), _groups_of(newer)):
        either: Any = before if after is None else after
        for old, new in changed_keyed(
            None if before is None else _members(before), None if after is None else _members(after)
        ):
            yield either.key, old, new


def check_value(value: Any) -> None:
    """Raise AssertionError if the subscribers of a filter are ill-formed."""
    check_set(members_of(value, None))
    if isinstance(value, Shared):
        assert _groups_of(value) is not None, "shared, without a group"
    check_set(_groups_of(value))
    for group in iter_keyed(_groups_of(value)):
        assert _members(group) is not None, f"nobody is in the group {group.key!r}"
        check_set(_members(group))


# ------------------------------------------------------------------------------------------------------------ matching


class Audience:
    """The receivers of a message: all subscribers in no group, and from each group the member whose turn it is.

    If `joined`, groups with the same name are one group, whatever their filters. Its member is known only after the
    last filter.
    """

    def __init__(self, joined: bool, take_turns: bool) -> None:
        self._take_turns = take_turns
        self._groups: dict[str, list[tuple[Any, Any]]] | None = {} if joined else None

    def by(self, value: Any, filter: Any) -> Iterator[tuple[Entry, str | None, Any]]:
        """Yield (entry, group, filter) for the receivers by a filter with these subscribers. `filter` may be any object
        that identifies it."""
        for entry in iter_keyed(members_of(value, None)):
            alive = living(entry)
            if alive is not None:
                yield alive, None, filter
        for group in iter_keyed(_groups_of(value)):
            if self._groups is None:
                yield from self._turn_of([(group, filter)])
            else:
                self._groups.setdefault(group.key, []).append((group, filter))

    def by_joined_groups(self) -> Iterator[tuple[Entry, str | None, Any]]:
        """Yield the same for the receivers by joined groups."""
        for groups in (self._groups or {}).values():
            yield from self._turn_of(groups)

    def _turn_of(self, groups: list[tuple[Any, Any]]) -> list[tuple[Entry, str | None, Any]]:
        number, member = whose_turn([group for group, _ in groups], self._take_turns)
        if member is None:
            return []
        group, filter = groups[number]
        return [(member, group.key, filter)]


def whose_turn(groups: list[Any], take_turns: bool) -> tuple[int, Entry | None]:
    """Return the member of these groups together whose turn it is, and the number of its group before it.

    The first group counts the turns. If the member is no longer alive, it is the next one that is; None if none is.
    """
    first: Group = groups[0]
    turn = _take_turn(first.turn) if take_turns else load(first.turn)
    size = sum([set_size(_members(group)) for group in groups])
    place = turn % size
    for after in range(size):
        number, entry = _member_at(groups, (place + after) % size)
        member = living(entry)
        if member is not None:
            return number, member
    return 0, None


def _member_at(groups: list[Any], place: int) -> tuple[int, Entry]:
    """Return the number of a group and its member at a place, counted through all groups in order."""
    for number, group in enumerate(groups):
        size = set_size(_members(group))
        if place < size:
            return number, _entry_at(_members(group), place)
        place -= size
    raise IndexError(place)


def _take_turn(turn: Slot) -> int:
    # Progress: a round that does not return found that another thread has taken a turn.
    while True:
        number: int = load(turn)
        # Success: this turn is ours. Failure: another thread has taken it.
        if compare_and_set(turn, number, number + 1):
            return number


def _entry_at(members: Any, place: int) -> Entry:
    """Return the entry at a place of a set, in the order of iteration over its nodes. O(log n)."""
    while not isinstance(members, Entry):
        for branch in branches_of(members):
            size = set_size(branch)
            if place < size:
                members = branch
                break
            place -= size
    return members
