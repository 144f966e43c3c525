"""Which member of a group gets a message.

By lot, unless something else is asked for: for each message a member is drawn, each with a probability as its weight
(draws.py). So the shares are fair whoever comes and goes, whatever topics and tries are asked, and whatever somebody
does because of who was served: nothing is kept of earlier messages. Groups of one name that are one group, with members
on several filters (NATS), are drawn from together.

A member that cannot get the message is drawn in vain: it is dead, its exclusions have the topic, it is the sender, or
one of those without whom the message is delivered. A member is also drawn in vain as often as its weight is less than
the greatest in the group. Then another one is drawn from all. So among those who can get it each keeps its share. After
some draws in vain, those who can are listed, and one is drawn from the list.

By the hash of a key: the member whose hash, mixed with that of the key, is the greatest gets the message (rendezvous
hashing: Thaler, Ravishankar, "Using name-based mappings to increase hit rates", 1998). So a member that leaves gives
up its own keys, and a new one takes a fair part of everyone's; all other keys stay where they are.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import cython

if not cython.compiled:
    from math import log

    from ctrie._nodes import mix
    from ctrie._slot import borrow, borrowed, is_exactly
    from subtrie._trie.draws import draw
    from subtrie._trie.groups import Group, members_in, weight_of
    from subtrie._trie.keyed import SetNode, find_keyed, set_array_of, set_size, size_in
    from subtrie._trie.match.reading import Query, is_excluded
    from subtrie._trie.match.walk import item_of
    from subtrie._trie.subscribers import Entry, Excepting, living, subscriber_hash

from subtrie._trie.keyed import iter_keyed

if not cython.compiled:  # in choosing.pxd
    TRIES = 32  # draws before those who can get the message are listed


class Choice:
    """What is asked for besides a member: by a key's hash, not the sender, none of some, nobody whose exclusions have
    the topic."""

    __slots__ = ("by_key", "key_hash", "query", "sender", "sender_hash", "spares", "without")
    by_key: bool
    key_hash: int
    spares: bool  # there is a sender, who gets the message only if nobody else can
    sender: Any
    sender_hash: int
    query: Query | None  # the topic, if a member may have exclusions
    without: Any  # subscribers who do not get the message; None: there are none


def new_choice(key: Any, sender: Any, without: Any) -> Choice:
    """Return the choice that these ask for; None or nobody, if they do not matter. TypeError if one has no hash."""
    choice: Choice = Choice.__new__(Choice)
    choice.by_key = key is not None
    choice.key_hash = subscriber_hash(key)
    choice.spares = sender is not None
    choice.sender = sender
    choice.sender_hash = subscriber_hash(sender)
    choice.query = None
    choice.without = without or None
    return choice


# ------------------------------------------------------------------------------------------------------------- by lot


def any_member(group: Any) -> Any:
    """Return a member of a group, each as likely as the others; both are borrowed. O(log n)."""
    members = members_in(group)
    size = size_in(members)
    return members if size == 1 else entry_at(members, draw(size))


def choose_among(groups: list[Group], choice: Choice | None) -> tuple[int, Entry | None]:
    """Return the member of these groups together that gets the message, and the number of its group before it.

    O(groups + log n); O(n) by the hash of a key, or if most members cannot get the message or weigh little."""
    chosen = _chosen(groups, choice, True)
    if chosen[1] is None and choice is not None and choice.spares:
        return _chosen(groups, choice, False)  # nobody but the sender
    return chosen


def _chosen(groups: list[Group], choice: Choice | None, spares: bool) -> tuple[int, Entry | None]:
    """The same; not the sender, if it `spares` one."""
    heaviest = total = 0
    for at in range(len(groups)):
        group: Group = groups[at]
        heaviest = max(heaviest, group.heaviest)
        total += set_size(group.members)
    if choice is not None and choice.by_key:
        return _by_key(groups, choice, spares, heaviest > 1)
    for _ in range(min(TRIES, total)):
        at, entry = _member_at(groups, draw(total))
        able = _able(entry, choice, spares)
        lot = draw(heaviest) if heaviest > 1 else 0
        if able is not None and (heaviest == 1 or lot < weight_of(able)):
            return at, able
    return _among_listed(groups, choice, spares)


def _among_listed(groups: list[Group], choice: Choice | None, spares: bool) -> tuple[int, Entry | None]:
    """As `_chosen`, from a list of those who can get the message. O(n)."""
    listed: list[tuple[int, Entry]] = []
    ends: list[int] = []  # of the part of the weights that each has
    end = 0
    for at in range(len(groups)):
        group: Group = groups[at]
        for entry in iter_keyed(group.members):
            able = _able(entry, choice, spares)
            if able is not None:
                end += weight_of(able)
                listed.append((at, able))
                ends.append(end)
    return listed[bisect_right(ends, draw(end))] if listed else (0, None)


def _able(entry: Entry, choice: Choice | None, spares: bool) -> Entry | None:
    """Return the member if it can get the message: it is alive, it is none of those without whom the message is
    delivered, its exclusions do not have the topic, and it is not a sender that is spared."""
    able = living(entry)
    if able is None or choice is None:
        return able
    if choice.without is not None and able.key in choice.without:
        return None
    if choice.query is not None and isinstance(entry, Excepting) and is_excluded(entry, choice.query):
        return None
    if spares and choice.spares and find_keyed(able, choice.sender, choice.sender_hash) is not None:
        return None
    return able


def _member_at(groups: list[Group], number: int) -> tuple[int, Entry]:
    for at in range(len(groups)):
        group: Group = groups[at]
        size = set_size(group.members)
        if number < size:
            return at, borrowed(entry_at(borrow(group.members), number))
        number -= size
    raise IndexError(number)


def entry_at(members: Any, number: int) -> Any:
    """Return an entry of a set by its number in the order of iteration over its nodes, both borrowed. O(log n)."""
    while is_exactly(members, SetNode):
        array = set_array_of(members)
        at = 0
        size = size_in(item_of(array, at))
        while number >= size:
            number -= size
            at += 1
            size = size_in(item_of(array, at))
        members = item_of(array, at)
    return item_of(members, number) if is_exactly(members, tuple) else members


# ---------------------------------------------------------------------------------------------------------- by a key


def _by_key(groups: list[Group], choice: Choice, spares: bool, weighted: bool) -> tuple[int, Entry | None]:
    """As `_chosen`: the member whose hash, mixed with that of the key, is the greatest. O(n)."""
    number = 0
    best: Entry | None = None
    greatest = 0.0
    for at in range(len(groups)):
        group: Group = groups[at]
        for entry in iter_keyed(group.members):
            score = _score(entry, choice, weighted)
            if best is None or score > greatest:
                able = _able(entry, choice, spares)
                if able is not None:
                    number, best, greatest = at, able, score
    return number, best


def _score(entry: Entry, choice: Choice, weighted: bool) -> float:
    """Return a number whose order among equal weights is that of the mixed hashes. A member's chance to have the
    greatest is as its weight (Efraimidis, Spirakis, "Weighted random sampling with a reservoir", 2006)."""
    part = ((mix(entry.hash ^ choice.key_hash) >> 11) + 1) / 9007199254740993.0  # 2**53 + 1
    return log(part) / weight_of(entry) if weighted else part
