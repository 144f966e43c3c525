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
    from subtrie._trie.keyed import SetNode, branches_of, find_keyed, set_array_of, set_size, size_in
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


def new_choice(key: Any, sender: Any, without: frozenset[Any]) -> Choice | None:
    """Return the choice that these ask for, of which key and sender may be None. TypeError if one has no hash."""
    if key is None and sender is None and not without:
        return None
    choice: Choice = Choice.__new__(Choice)
    choice.by_key = key is not None
    choice.key_hash = subscriber_hash(key)
    choice.spares = sender is not None
    choice.sender = sender
    choice.sender_hash = subscriber_hash(sender)
    choice.query = None
    choice.without = without or None
    return choice


def choice_for(choice: Choice | None, query: Query | None) -> Choice:
    """Return what is asked for of groups in which a member may have exclusions."""
    other: Choice = Choice.__new__(Choice)
    other.by_key = choice is not None and choice.by_key
    other.key_hash = 0 if choice is None else choice.key_hash
    other.spares = choice is not None and choice.spares
    other.sender = None if choice is None else choice.sender
    other.sender_hash = 0 if choice is None else choice.sender_hash
    other.query = query
    other.without = None if choice is None else choice.without
    return other


# ------------------------------------------------------------------------------------------------------------- by lot


def any_member(group: Any) -> Any:
    """Return a member of a group, each as likely as the others; both are borrowed. O(log n)."""
    members = members_in(group)
    size = size_in(members)
    return members if size == 1 else entry_at(members, draw(size))


def choose_among(groups: list[Group], choice: Choice | None) -> tuple[int, Entry | None]:
    """Return the member of these groups together that gets the message, and the number of its group before it.

    O(groups + log n); O(n) by the hash of a key, or if most members cannot get the message or weigh little."""
    if choice is not None and choice.by_key:
        return _by_key(groups, choice)
    heaviest = total = 0
    for at in range(len(groups)):
        group: Group = groups[at]
        heaviest = max(heaviest, group.heaviest)
        total += set_size(group.members)
    for _ in range(min(TRIES, total)):
        at, entry = _member_at(groups, draw(total))
        able = _able(entry, choice)
        lot = draw(heaviest) if heaviest > 1 else 0
        if able is not None and (heaviest == 1 or lot < weight_of(able)):
            return at, able
    return _among_listed(groups, choice)


def _among_listed(groups: list[Group], choice: Choice | None) -> tuple[int, Entry | None]:
    """As `choose_among`, from a list of those who can get the message. O(n)."""
    listed: list[tuple[int, Entry]] = []
    ends: list[int] = []  # of the part of the weights that each has
    end = 0
    for at in range(len(groups)):
        group: Group = groups[at]
        for entry in iter_keyed(group.members):
            able = _able(entry, choice)
            if able is not None:
                end += weight_of(able)
                listed.append((at, able))
                ends.append(end)
    if listed:
        return listed[bisect_right(ends, draw(end))]
    if choice is None or not choice.spares:
        return 0, None
    everyone = choice_for(choice, choice.query)
    everyone.spares = False  # the sender, too
    return _among_listed(groups, everyone)


def _able(entry: Entry, choice: Choice | None) -> Entry | None:
    """Return the member if it can get the message: it is alive, no exclusion keeps it from it, and it is not the
    sender."""
    able = living(entry)
    if able is None or choice is None:
        return able
    if _is_excluded(entry, able, choice) or (choice.spares and _is_sender(able, choice)):
        return None
    return able


def _is_excluded(entry: Entry, able: Entry, choice: Choice) -> bool:
    """Return whether a member is one of those without whom the message is delivered, or its exclusions have the
    topic."""
    if choice.without is not None and able.key in choice.without:
        return True
    return choice.query is not None and isinstance(entry, Excepting) and is_excluded(entry, choice.query)


def _is_sender(able: Entry, choice: Choice) -> bool:
    return find_keyed(able, choice.sender, choice.sender_hash) is not None


def _member_at(groups: list[Group], place: int) -> tuple[int, Entry]:
    for at in range(len(groups)):
        group: Group = groups[at]
        size = set_size(group.members)
        if place < size:
            return at, borrowed(entry_at(borrow(group.members), place))
        place -= size
    raise IndexError(place)


def entry_at(members: Any, place: int) -> Any:
    """Return the entry at a place of a set, in the order of iteration over its nodes, both borrowed. O(log n)."""
    while is_exactly(members, SetNode):
        array = set_array_of(members)
        at = 0
        size = size_in(item_of(array, at))
        while place >= size:
            place -= size
            at += 1
            size = size_in(item_of(array, at))
        members = item_of(array, at)
    return item_of(members, place) if is_exactly(members, tuple) else members


# ---------------------------------------------------------------------------------------------------------- by a key


def _by_key(groups: list[Group], choice: Choice) -> tuple[int, Entry | None]:
    """As `choose_among`. O(n)."""
    weighted = False
    for at in range(len(groups)):
        group: Group = groups[at]
        weighted |= group.heaviest > 1
    best = _Best(choice, weighted)
    for at in range(len(groups)):
        group = groups[at]
        best.look_at(group.members, at)
    return best.number, best.entry


class _Best:
    """A search for the member whose hash, mixed with that of a key, is the greatest. O(n)."""

    __slots__ = ("choice", "entry", "number", "score", "spared", "weighted")
    choice: Choice
    weighted: bool
    number: int  # of its group
    entry: Entry | None
    score: float
    spared: bool  # it is the sender

    def __init__(self, choice: Choice, weighted: bool) -> None:
        self.choice = choice
        self.weighted = weighted
        self.number = 0
        self.entry = None
        self.score = 0.0
        self.spared = False

    def look_at(self, members: Any, number: int) -> None:
        """Look at all members of a set."""
        if members is None:
            return
        if isinstance(members, Entry):
            self._look_at_one(members, number)
            return
        for branch in branches_of(members):
            self.look_at(branch, number)

    def _look_at_one(self, entry: Entry, number: int) -> None:
        score = self._score(entry)
        if self.entry is not None and not self.spared and score <= self.score:
            return
        able = living(entry)
        if able is None or _is_excluded(entry, able, self.choice):
            return
        spared = self.choice.spares and _is_sender(able, self.choice)
        if self.entry is None or (self.spared and not spared):
            better = True
        else:
            better = self.spared == spared and score > self.score
        if better:
            self.entry = able
            self.number = number
            self.score = score
            self.spared = spared

    def _score(self, entry: Entry) -> float:
        """Return a number whose order among equal weights is that of the mixed hashes. A member's chance to have the
        greatest is as its weight (Efraimidis, Spirakis, "Weighted random sampling with a reservoir", 2006)."""
        part = ((mix(entry.hash ^ self.choice.key_hash) >> 11) + 1) / 9007199254740993.0  # 2**53 + 1
        return log(part) / weight_of(entry) if self.weighted else part
