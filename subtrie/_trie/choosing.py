"""Which member of a group gets a message.

In turn, unless something else is asked for: who matched last with the same members, in the same trie, is followed by
the member at the next place. Then each of n members gets every n-th message. A turn (`turn` of a Group) says this:

    0                           nobody has matched yet
    key << 32 | rounds << 28 | place
                                `key` stands for who has taken the last turn: the trie, and the members among which it
                                chose; `place`: the next one; `rounds`: how many have ended, up to ENOUGH

If another key stands there, the members are not those of the last turn, or another trie took it. Then a place is drawn
by lot (draws.py), and the turns go on from there. So whatever comes and goes, and whatever topics and tries alternate,
every choice among n members falls on each with a probability of 1/n, and choices that follow one another without such a
change are in turn. Half of the groups, by their stamps, have their turns in the opposite order.

Whoever sees who is served knows who is next, and a change just then takes the turn away from it. Workers that leave
when they have got a message do that without wanting to: one that stays would get half of its share, or twice of it. So
members that have changed before they had ENOUGH rounds in turn are followed by members that have not `lasted`: among
these, every message is drawn by lot, which nobody foresees, for about as many messages as those rounds have. Then a
member can lose, or win, one turn of ENOUGH. Where changes are rarer, all is in turn. A member that cannot take the
message, because it is dead or is the sender, is passed over: in turn, the next one gets it, and the turns go on after
that one, so that no member gets what is passed over twice in a round; where a place was drawn, another one is drawn.

With weights, a member has as many places as its weight says, spread over the round (`_Wheel`). Groups of one name that
are one group, with members on several filters (NATS), have the places of all, one filter after the other.

A member whose exclusions have the topic is passed over like a dead one. If a group has, or had, a member with
exclusions, the topic counts among what `key` stands for. So topics for which different members are left out cannot
pass each other's turns on, which could leave out one member for ever; where topics alternate, places are drawn by lot.

By the hash of a key: the member whose hash, mixed with that of the key, is the greatest gets the message (rendezvous
hashing: Thaler, Ravishankar, "Using name-based mappings to increase hit rates", 1998). So a member that leaves gives
up its own keys, and a new one takes a fair part of everyone's; all other keys stay where they are.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from math import gcd
from typing import Any

import cython

if not cython.compiled:
    from math import log

    from ctrie._nodes import mix
    from ctrie._slot import borrow, borrowed, compare_and_set, is_exactly, load
    from subtrie._trie.draws import draw, draw_again
    from subtrie._trie.groups import Group, members_in, rounds_in, takes_turn, turn_of, weight_of
    from subtrie._trie.keyed import SetNode, branches_of, find_keyed, set_array_of, set_size, size_in
    from subtrie._trie.match.reading import Query, hash_of_topic, is_excluded
    from subtrie._trie.match.walk import item_of
    from subtrie._trie.subscribers import Entry, Excepting, living, subscriber_hash

from subtrie._trie.groups import ENOUGH
from subtrie._trie.keyed import iter_keyed

LAST = (1 << 28) - 1  # the greatest place
TRIES = 32  # draws before those who can take the message are counted


class Choice:
    """What is asked for besides a member: by a key's hash, not the sender, nobody whose exclusions have the topic."""

    __slots__ = ("by_key", "key_hash", "query", "sender", "sender_hash", "spares")
    by_key: bool
    key_hash: int
    spares: bool  # there is a sender, who gets the message only if nobody else can
    sender: Any
    sender_hash: int
    query: Query | None  # the topic, if a member may have exclusions


def new_choice(key: Any, sender: Any) -> Choice | None:
    """Return the choice that these two ask for, each of which may be None. TypeError if one has no hash."""
    if key is None and sender is None:
        return None
    choice: Choice = Choice.__new__(Choice)
    choice.by_key = key is not None
    choice.key_hash = subscriber_hash(key)
    choice.spares = sender is not None
    choice.sender = sender
    choice.sender_hash = subscriber_hash(sender)
    choice.query = None
    return choice


def choice_for(choice: Choice | None, query: Query) -> Choice:
    """Return what is asked for of groups in which a member may have exclusions."""
    other: Choice = Choice.__new__(Choice)
    other.by_key = choice is not None and choice.by_key
    other.key_hash = 0 if choice is None else choice.key_hash
    other.spares = choice is not None and choice.spares
    other.sender = None if choice is None else choice.sender
    other.sender_hash = 0 if choice is None else choice.sender_hash
    other.query = query
    return other


def _with_sender(choice: Choice) -> Choice | None:
    """Return what is asked for if the sender is as good as any other."""
    if choice.query is None:
        return None
    return choice_for(None, choice.query)


def choose(group: Group, asker: int, take_turn: bool, weak: bool, choice: Choice | None) -> Entry | None:
    """Return the member of a group that gets a message from `asker`, a number for the trie that is asked; None if none
    is alive. `weak`: members may be weakly held. O(log n)."""
    if isinstance(group.members, Entry):
        return None if _is_excluded(group.members, choice) else living(group.members)
    if choice is None and not group.weighted:  # and without exclusions: then there is a choice
        entry = next_member(borrow(group), asker, take_turn, weak)
        alive = None if entry is borrow(None) else living(borrowed(entry))
        if alive is not None:
            return alive
    return choose_among([group], asker, take_turn, choice)[1]


def next_member(group: Any, asker: int, take_turn: bool, weak: bool) -> Any:
    """Return the member whose turn it is in a group without weights and exclusions, borrowed from it. None: it is dead,
    and nobody's turn has been taken."""
    members = members_in(group)
    size = size_in(members)
    if size == 1:
        return members
    key = _key(asker)
    # Progress: a round that does not return found that another thread has taken a turn.
    while True:
        turn = turn_of(group)
        lots = _is_by_lot(group, turn, key)
        place = turn & LAST if turn >> 32 == key and not lots else draw(size)
        entry = entry_at(members, size - 1 - place if cython.cast(Group, group).stamp & 1 else place)
        if weak and living(borrowed(entry)) is None:
            return borrow(None)
        following = place + 1 if place + 1 < size else 0
        if not take_turn or takes_turn(group, turn, _turn_after(turn, key, lots, size, following)):
            return entry


def choose_among(groups: list[Group], asker: int, take_turn: bool, choice: Choice | None) -> tuple[int, Entry | None]:
    """Return the member of these groups together that gets the message, and the number of its group before it.

    O(groups + log n); O(n) by the hash of a key, after a change of weights, or if most members are dead."""
    if choice is not None and choice.by_key:
        return _by_key(groups, choice)
    sizes = _places_of(groups)
    total = sum(sizes)
    if choice is not None and choice.spares and not _is_member(groups, choice):
        choice = _with_sender(choice)
    key = _key(asker ^ _stamps(groups, choice))
    first = borrow(groups[0])
    # Progress: as in `next_member`.
    while True:
        turn = turn_of(first)
        lots = _is_by_lot(first, turn, key)
        follows = turn >> 32 == key and total <= LAST and not lots
        place = turn & LAST if follows else draw(total)
        place, at, entry = _first_able(groups, sizes, total, place, follows, choice)
        if entry is None and choice is not None and choice.spares:
            choice = _with_sender(choice)  # nobody but the sender
            continue
        following = (place + 1) % total & LAST
        if entry is None or not take_turn or takes_turn(first, turn, _turn_after(turn, key, lots, total, following)):
            return at, entry


def _is_by_lot(group: Any, turn: int, key: int) -> bool:
    """Return whether the next message is drawn by lot, although `key` may have taken the last turn."""
    if cython.cast(Group, group).lasted:
        return False
    return turn >> 32 != key or rounds_in(turn) < ENOUGH


def _turn_after(turn: int, key: int, lots: bool, size: int, place: int) -> int:
    """Return the next turn, at a place. A round by lot ends after `size` messages, on average."""
    rounds = rounds_in(turn) if turn >> 32 == key else 0
    if rounds < ENOUGH and (draw_again(size) == 0 if lots else turn >> 32 == key and place <= turn & LAST):
        rounds += 1
    return key << 32 | rounds << 28 | place


def _key(asker: int) -> int:
    """Return 32 bits of a number, never all 0."""
    return mix(asker) >> 32 | 1


def _stamps(groups: list[Group], choice: Choice | None) -> int:
    """Return a number for those among whom is chosen, besides the members of the first group, to whom the turn belongs:
    the other groups, in this order, a sender who is left out, and the topic, if that may leave members out."""
    stamps = 0
    if choice is not None and choice.spares:
        stamps = choice.sender_hash
    if choice is not None and choice.query is not None:
        stamps = mix(stamps ^ hash_of_topic(choice.query))
    for at in range(1, len(groups)):
        group: Group = groups[at]
        stamps = mix(stamps ^ group.stamp)
    return stamps


def _is_member(groups: list[Group], choice: Choice) -> bool:
    for at in range(len(groups)):
        group: Group = groups[at]
        if find_keyed(group.members, choice.sender, choice.sender_hash) is not None:
            return True
    return False


def _is_excluded(entry: Entry, choice: Choice | None) -> bool:
    """Return whether the exclusions of a member have the topic."""
    if choice is None or choice.query is None or not isinstance(entry, Excepting):
        return False
    return is_excluded(entry, choice.query)


def _is_able(entry: Entry, choice: Choice | None) -> Entry | None:
    """Return the member if it can get the message: it is alive, and is not the sender."""
    able = living(entry)
    if able is None or choice is None:
        return able
    if _is_excluded(entry, choice):
        return None
    if not choice.spares:
        return able
    return None if find_keyed(able, choice.sender, choice.sender_hash) is not None else able


def _first_able(
    groups: list[Group], sizes: list[int], total: int, place: int, follows: bool, choice: Choice | None
) -> tuple[int, int, Entry | None]:
    """Return the first place from `place` on, or the first one drawn, with a member that can get the message; the
    number of its group, and the member; None if nobody can."""
    for _tries in range(total if follows else TRIES):
        at, entry = _member_at(groups, sizes, total, place)
        able = _is_able(entry, choice)
        if able is not None:
            return place, at, able
        place = (place + 1) % total if follows else draw_again(total)
    if follows:
        return place, 0, None
    left = [place for place in range(total) if _is_able(_member_at(groups, sizes, total, place)[1], choice) is not None]
    if not left:
        return place, 0, None
    place = left[draw_again(len(left))]
    at, entry = _member_at(groups, sizes, total, place)
    return place, at, _is_able(entry, choice)


def _are_backwards(groups: list[Group]) -> bool:
    """Return whether these groups have their turns in the opposite order. Changes of members draw that anew."""
    stamps = 0
    for at in range(len(groups)):
        group: Group = groups[at]
        stamps ^= group.stamp
    return stamps & 1 != 0


def _member_at(groups: list[Group], sizes: list[int], total: int, place: int) -> tuple[int, Entry]:
    """Return the number of a group and its member at a place, counted through all groups in order."""
    if _have_weights(groups):
        place = place * _stride(total) % total
    if _are_backwards(groups):
        place = total - 1 - place
    for at in range(len(groups)):
        group: Group = groups[at]
        size = sizes[at]
        if place < size:
            return at, _wheel_of(group).entry_at(place) if group.weighted else _entry_of(group, place)
        place -= size
    raise IndexError(place)


def _entry_of(group: Group, place: int) -> Entry:
    return borrowed(entry_at(borrow(group.members), place))  # type: ignore[no-any-return]


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


# ------------------------------------------------------------------------------------------------------------- weights


class _Wheel:
    """The members of a group with weights: of each, where its places end; and how many places there are."""

    __slots__ = ("ends", "entries", "size")

    def __init__(self, members: Any) -> None:
        self.entries: list[Entry] = list(iter_keyed(members))
        self.ends = list(accumulate([weight_of(entry) for entry in self.entries]))
        self.size: int = max(self.ends)

    def entry_at(self, place: int) -> Entry:
        """Return the member at a place."""
        return self.entries[bisect_right(self.ends, place)]


def _wheel_of(group: Group) -> _Wheel:
    wheel = load(group.wheel)
    if wheel is None:
        # Success: all threads use this one. Failure: another thread has made one.
        compare_and_set(group.wheel, None, _Wheel(group.members))
        wheel = load(group.wheel)
    return wheel  # type: ignore[no-any-return]


def _have_weights(groups: list[Group]) -> bool:
    for at in range(len(groups)):
        group: Group = groups[at]
        if group.weighted:
            return True
    return False


def _places_of(groups: list[Group]) -> list[int]:
    """Return how many places each group has."""
    sizes: list[int] = []
    for at in range(len(groups)):
        group: Group = groups[at]
        sizes.append(_wheel_of(group).size if group.weighted else set_size(group.members))
    return sizes


def _stride(total: int) -> int:
    """Return how far apart places that follow one another are: about the golden section of all, so that the places of
    one member are spread evenly; without a common divisor with `total`, so that each place comes once."""
    stride = total * 5 // 8
    if stride == 0:
        stride = 1
    while gcd(stride, total) != 1:
        stride += 1
    return stride


# ---------------------------------------------------------------------------------------------------------- by a key


def _by_key(groups: list[Group], choice: Choice) -> tuple[int, Entry | None]:
    """As `choose_among`. O(n)."""
    best = _Best(choice, _have_weights(groups))
    for at in range(len(groups)):
        group: Group = groups[at]
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
        if able is None:
            return
        if _is_excluded(entry, self.choice):
            return
        spared = self.choice.spares and find_keyed(able, self.choice.sender, self.choice.sender_hash) is not None
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
