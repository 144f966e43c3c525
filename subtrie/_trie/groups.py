# distutils: extra_compile_args = SMALL
"""Groups: the shared subscriptions of MQTT and the queue groups of NATS. One member of a group gets each message.

As long as a filter has no groups, like most filters, the value of its branch (`value`, branch.py) is a persistent set
(keyed.py). Such a filter takes no more time or memory than without this module. With a group, the value is

    Shared(plain, groups)             plain: the set of subscribers in no group, or None
                                      groups: a set of Groups, by name, or None
    Group(name, members)              an entry, like that of a subscriber; members: a set, never empty

A subscription with exclusions (exclusions.py) gets messages on some topics of its filter only, as a group's member gets
some messages only. So the value is a Shared as long as there is one, whether or not there are groups.

A Group never changes: a change of the members makes another one. Which member gets a message is drawn anew each time
(choosing.py), so matching writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cython

if not cython.compiled:
    from subtrie._trie.keyed import Keyed, find_keyed, set_size, with_keyed, without_keyed
    from subtrie._trie.subscribers import Entry, Excepting, living, subscriber_hash

from ctrie._nodes import NODES
from subtrie._trie.keyed import SetNode, changed_keyed, check_set, iter_keyed

WEIGHT = "weight"
MOST_WEIGHT = 1_000


class Shared:
    """The subscribers of a filter that has groups, or subscriptions with exclusions."""

    __slots__ = ("excepting", "groups", "plain")
    plain: Any
    groups: Any
    excepting: int  # how many in `plain` have exclusions, and in how many groups somebody has, or had


class Group(Keyed):
    """A group of one filter. Its key is its name."""

    __slots__ = ("excepting", "heaviest", "members")
    members: Any
    excepting: bool  # a member has, or had, exclusions
    heaviest: int  # the greatest weight that a member has, or had


if not cython.compiled:  # views of what is borrowed; the compiled ones (groups.pxd) count no references

    def plain_in(shared: Any) -> Any:
        """Return the subscribers in no group."""
        return shared.plain

    def groups_in(shared: Any) -> Any:
        """Return the groups."""
        return shared.groups

    def members_in(group: Any) -> Any:
        """Return the members of a group."""
        return group.members

    def may_be_excluded_from(value: Any) -> bool:
        """Return whether a topic of the filter may be among the exclusions of subscribers."""
        return _excepting_in(value) > 0


# What a trie and its index are made of, below their roots: for `release` (ctrie/_machine.py).
PARTS: tuple[type[Any], ...] = (*NODES, Keyed, SetNode, Shared, tuple)


def members_of(value: Any, group: str | None) -> Any:
    """Return the set of the members of a group, or of the subscribers in no group if `group` is None."""
    if isinstance(value, Shared):
        shared: Shared = value
        if group is None:
            return shared.plain
        found: Any = find_keyed(shared.groups, group, subscriber_hash(group))
        return None if found is None else cython.cast(Group, found).members
    return value if group is None else None


def with_members(value: Any, group: str | None, members: Any, newest: Entry | None, gone: Entry | None) -> Any:
    """Return the value of a branch with `members` instead of `members_of(value, group)`. `newest` is the entry that
    has come to them, if one has, and `gone` the one that has left them."""
    if group is None:
        if not isinstance(value, Shared) and not isinstance(newest, Excepting):
            return members
        excepting = _excepting_in(value) + isinstance(newest, Excepting) - isinstance(gone, Excepting)
        return _with_groups(members, _groups_of(value), excepting)
    groups = _groups_of(value)
    excepting = _excepting_in(value)
    found: Any = find_keyed(groups, group, subscriber_hash(group))
    if found is not None:
        excepting -= cython.cast(Group, found).excepting
    if members is not None:
        changed = _new_group(group, members, found, newest)
        excepting += changed.excepting
        groups = with_keyed(groups, changed, found)
    elif found is not None:
        groups = without_keyed(groups, found)
    return _with_groups(members_of(value, None), groups, excepting)


def _with_groups(plain: Any, groups: Any, excepting: int) -> Any:
    if groups is None and excepting == 0:
        return plain
    shared: Shared = Shared.__new__(Shared)
    shared.plain = plain
    shared.groups = groups
    shared.excepting = excepting
    return shared


def _excepting_in(value: Any) -> int:
    if isinstance(value, Shared):
        shared: Shared = value
        return shared.excepting
    return 0


def _groups_of(value: Any) -> Any:
    if isinstance(value, Shared):
        shared: Shared = value
        return shared.groups
    return None


def _new_group(name: str, members: Any, present: Group | None, newest: Entry | None) -> Group:
    group: Group = Group.__new__(Group)
    group.key = name
    group.hash = subscriber_hash(name)
    group.members = members
    group.excepting = (present is not None and present.excepting) or isinstance(newest, Excepting)
    group.heaviest = max(
        1 if present is None else present.heaviest,
        1 if newest is None else weight_of(newest),
    )
    return group


def weight_of(entry: Entry) -> int:
    """Return how many messages a member gets, on average, where one without a weight gets one."""
    weight = 1 if entry.options is None else entry.options.get(WEIGHT, 1)
    number = int.__int__(weight) if isinstance(weight, int) else 1  # of an IntEnum, say
    return number if 1 <= number <= MOST_WEIGHT else 1


# ------------------------------------------------------------------------------------------------------------- listing


def total(value: Any) -> int:
    """Return the number of subscriptions of a filter. O(groups)."""
    groups = iter_keyed(_groups_of(value))
    return set_size(members_of(value, None)) + sum(set_size(group.members) for group in groups)


def group_count(value: Any) -> int:
    """Return the number of groups of a filter. O(1)."""
    return set_size(_groups_of(value))


def sets_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (group, set of its members). The group is None for the subscribers in no group."""
    yield None, members_of(value, None)
    for group in iter_keyed(_groups_of(value)):
        yield group.key, group.members


def is_member(value: Any, group: str | None, of_any: bool, subscriber: Any, hash: int) -> bool:
    """Tell whether a living subscriber is among `members_of(value, group)`, or `of_any` set of the filter."""
    if of_any and isinstance(value, Shared):
        return any(_is_in(members, subscriber, hash) for _, members in sets_of(value))
    return _is_in(members_of(value, group), subscriber, hash)


def _is_in(members: Any, subscriber: Any, hash: int) -> bool:
    entry = find_keyed(members, subscriber, hash)
    return entry is not None and living(entry) is not None


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
            None if before is None else before.members, None if after is None else after.members
        ):
            yield either.key, old, new


def check_value(value: Any) -> None:
    """Raise AssertionError if the subscribers of a filter are ill-formed."""
    check_set(members_of(value, None))
    if isinstance(value, Shared):
        excepting = sum(isinstance(entry, Excepting) for entry in iter_keyed(members_of(value, None)))
        excepting += sum(group.excepting for group in iter_keyed(_groups_of(value)))
        assert _excepting_in(value) == excepting, f"{_excepting_in(value)} with exclusions, not {excepting}"
        assert _groups_of(value) is not None or excepting, "shared, without a group or exclusions"
    else:
        assert not any(isinstance(entry, Excepting) for entry in iter_keyed(value)), "exclusions, but not shared"
    check_set(_groups_of(value))
    for group in iter_keyed(_groups_of(value)):
        assert group.members is not None, f"nobody is in the group {group.key!r}"
        check_set(group.members)
        some = any(isinstance(entry, Excepting) for entry in iter_keyed(group.members))
        assert group.excepting or not some, f"exclusions in the group {group.key!r}, which does not know of them"
