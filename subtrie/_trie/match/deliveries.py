"""Deliveries: what a match says to a broker. Who gets the message, with which options, by which filter and group.

A traversal (matching.py) finds branches. What becomes of them is decided here, for both twins:

    delivered  one for each subscriber that gets the message: all outside groups, and a member of each group
    told       one for each subscriber of the branches found; for a branch with groups, one for all of them, which
               callers never see
    shown      of these, one for each subscription, including all members of groups; or one for each of a single
               subscriber, looked for in what was found, one for each branch
    merged     of several for one subscriber: all, any one, or the best

Each one refers to the entry of its subscriber (subscribers.py), which also holds the options and never changes, and to
a trail (trail.py), from which the text of the filter, and what its wildcards stood for, are made on request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import cython

if not cython.compiled:
    from ctrie._machine import check_stack, flag_at, leaf_after, new_leaf
    from subtrie._trie.choosing import Choice
    from subtrie._trie.keyed import find_keyed
    from subtrie._trie.match.audience import Audience, begin_audience, new_audience
    from subtrie._trie.match.plan import Matchable
    from subtrie._trie.match.trail import group_text_of, text_of, topic_of
    from subtrie._trie.subscribers import Entry, Sole, entry_alone, living, new_entry

from ctrie._views import SUBSCRIPTED
from subtrie._trie.groups import everybody, sets_of
from subtrie._trie.match.wildcards import stood_for

NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})
ALL = "all"
ONE = "one"
BEST = "best"
FEW = 16  # subscribers that are compared each with each


class ByHand(NamedTuple):
    """What stands for a trail in a delivery that no match has made."""

    filter: str
    words: tuple[Any, ...]


class Told:
    """One subscription in an answer. The text of its filter is made each time it is read. Immutable."""

    __slots__ = ("_at", "_group", "_hash", "_trail", "_who")
    __class_getitem__ = SUBSCRIPTED
    _who: Any  # an Entry; or the only subscriber of its filter, or a Sole
    _hash: int  # the subscriber's, unless `_who` is an Entry, else 0
    _group: str | None
    _trail: Any  # of trail.py; or the filter's text; or ByHand
    _at: int

    @property
    def subscriber(self) -> Any:
        return _subscriber(self)

    @property
    def options(self) -> Mapping[str, Any]:
        options = _options(self)
        return NO_OPTIONS if options is None else MappingProxyType(options)

    @property
    def filter(self) -> str:
        _check_made(self)
        if isinstance(self._trail, str):
            return self._trail
        if isinstance(self._trail, ByHand):
            return self._trail.filter
        if self._group is None:
            return text_of(self._trail, self._at)
        return group_text_of(self._trail, self._at, self._group)

    def as_dict(self) -> dict[str, Any]:
        """Return filter, subscriber and options as a plain dict, the options one of their own; of a delivery also its
        group.

        >>> Subscription("a.*", 1, {"qos": 1}).as_dict()
        {'filter': 'a.*', 'subscriber': 1, 'options': {'qos': 1}}
        """
        return {"filter": self.filter, "subscriber": self.subscriber, "options": dict(self.options)}

    def __hash__(self) -> int:
        return hash((self.filter, self.subscriber))  # options may hold what has no hash


class Subscription(Told):
    """Subscription(filter, subscriber, options={})\n--\n
    That `subscriber` is on `filter`, with `options`, a read-only mapping.

    Stands for the tuple of these three: it can be unpacked, indexed and sorted, and equals that tuple.

    >>> filter, subscriber, options = Subscription("a.*", "ann", {"qos": 1})
    >>> filter, subscriber, options["qos"]
    ('a.*', 'ann', 1)
    """

    __slots__ = ()

    def __init__(self, filter: str, subscriber: Any, options: Mapping[str, Any] = NO_OPTIONS) -> None:
        if not isinstance(filter, str):
            raise TypeError(f"the filter of a Subscription must be a str, not {type(filter).__name__}")
        _fill(self, new_entry(subscriber, 0, dict(options) or None), 0, None, filter, 0)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.filter, self.subscriber, self.options))

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: Any) -> Any:
        return (self.filter, self.subscriber, self.options)[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Subscription, tuple)):
            return NotImplemented
        return (*self,) == (*other,)

    def __hash__(self) -> int:
        return Told.__hash__(self)

    def __lt__(self, other: Any) -> bool:
        if not isinstance(other, (Subscription, tuple)):
            return NotImplemented
        return (*self,) < (*other,)

    def __repr__(self) -> str:
        return f"Subscription(filter={self.filter!r}, subscriber={self.subscriber!r}, options={self.options!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Subscription, (self.filter, self.subscriber, dict(self.options))


class Delivery(Told):
    """Delivery(filter, subscriber, options={}, group=None, words=())\n--\n
    That `subscriber` gets a message by its subscription to `filter`, which has `options`, a read-only mapping.

    `group` is the name of the group for which the subscriber was drawn, None if it is subscribed for itself. `words` is
    what the wildcards of the filter stood for in the topic. Two deliveries are equal if filter, subscriber, options and
    group are; `words` belongs to the message.

    >>> Delivery("a.*", "ann", {"qos": 1}).options["qos"]
    1
    """

    __slots__ = ()

    def __init__(
        self,
        filter: str,
        subscriber: Any,
        options: Mapping[str, Any] = NO_OPTIONS,
        group: str | None = None,
        words: tuple[Any, ...] = (),
    ) -> None:
        if not isinstance(filter, str):
            raise TypeError(f"the filter of a Delivery must be a str, not {type(filter).__name__}")
        if not isinstance(words, tuple):
            raise TypeError(f"the words of a Delivery must be a tuple, not {type(words).__name__}")
        entry = new_entry(subscriber, 0, dict(options) or None)
        _fill(self, entry, 0, group, ByHand(filter, words), 0)

    @property
    def group(self) -> str | None:
        return self._group

    @property
    def words(self) -> tuple[Any, ...]:
        """What each wildcard of the filter stood for in the topic, in order: a word for one that stands for one word, a
        tuple of words, maybe empty, for one that stands for many. `()` if the filter has no wildcard.

        If several answers are possible, each wildcard for many words, from the first on, stands for as few as it can.
        The prefix and the group of a shared subscription do not count. Words are those that the dialect has split the
        topic into. It is made each time it is read: O(words of the filter x words of the topic). A delivery that no
        match has made has the words that it was given.

        >>> from subtrie import MQTT, SubscriptionTrie
        >>> t = SubscriptionTrie(MQTT)
        >>> t.subscribe("site/+/door/#", "log")
        True
        >>> [one.words for one in t.deliveries("site/7/door/front/bell")]
        [('7', ('front', 'bell'))]
        >>> [one.words for one in t.deliveries("site/7/door")]
        [('7', ())]
        """
        _check_made(self)
        if isinstance(self._trail, ByHand):
            return self._trail.words
        return stood_for(text_of(self._trail, self._at), *topic_of(self._trail))

    def as_dict(self) -> dict[str, Any]:
        return {**Told.as_dict(self), "group": self.group}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Delivery):
            return NotImplemented
        return (self.filter, self.subscriber, self.options, self.group) == (
            other.filter,
            other.subscriber,
            other.options,
            other.group,
        )

    def __hash__(self) -> int:
        return Told.__hash__(self)

    def __repr__(self) -> str:
        shown = f"subscriber={self.subscriber!r}, options={dict(self.options)!r}, group={self.group!r}"
        return f"Delivery({shown}, filter={self.filter!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Delivery, (self.filter, self.subscriber, dict(self.options), self.group, self.words)


leaf_after(Subscription.__new__(Subscription))
leaf_after(Delivery.__new__(Delivery))


if not cython.compiled:  # the compiled body is in deliveries.pxd

    def leads_to(who: Any, group: Any) -> Any:
        """Return what one leads to that the collector may track; None if there is nothing."""
        return who if group is None else group


def new_told(delivers: bool, who: Any, hash: int, group: Any, trail: Any, at: int) -> Told:
    """Make a Delivery, or else a Subscription."""
    one: Told = new_leaf(Delivery if delivers else Subscription, leads_to(who, group), trail)
    _fill(one, who, hash, group, trail, at)
    return one


def _fill(one: Told, who: Any, hash: int, group: Any, trail: Any, at: int) -> None:
    one._who = who
    one._hash = hash
    one._group = group
    one._trail = trail
    one._at = at


def _check_made(one: Told) -> None:
    """Raise TypeError for what only `__new__` has made, as by a class whose `__init__` does not call this one's."""
    if one._trail is None:
        raise TypeError(f"this {type(one).__name__} has no content: its __init__ was not called")


def _subscriber(one: Told) -> Any:
    _check_made(one)
    if type(one._who) is Sole:
        sole: Sole = one._who
        return sole.subscriber
    if one._hash != 0:
        return one._who
    entry: Entry = one._who
    return entry.key


def _options(one: Told) -> dict[str, Any] | None:
    _check_made(one)
    if type(one._who) is Sole:
        sole: Sole = one._who
        return sole.options
    if one._hash != 0:
        return None
    entry: Entry = one._who
    return entry.options


# ---------------------------------------------------------------------------------------------------- what was found


class Recipients(Audience):
    """An audience whose `answer` is deliveries."""

    __slots__ = ("answer",)
    answer: list[Told]

    def add(self, entry: Entry, group: str | None, trail: Any, at: int) -> int:
        self.answer.append(new_told(True, entry, 0, group, trail, at))
        return 0


def new_recipients(trie: Matchable, topic: Any, filters: int, choice: Choice | None) -> Recipients:
    """Make one for a message on a topic, which reaches so many filters."""
    recipients: Recipients = Recipients.__new__(Recipients)
    begin_audience(recipients, trie, topic, filters, choice)
    recipients.answer = []
    return recipients


def shown_entries(found: tuple[Told, ...], trie: Matchable, topic: Any, delivers: bool) -> tuple[Told, ...]:
    """Return all subscriptions to a topic, without subscribers that have died, as deliveries or subscriptions."""
    audience = new_audience(trie, topic, len(found))
    answer: list[Told] = []
    for one in found:
        for group, entry in everybody(_value(one)):
            if not audience.excludes(entry):
                answer.append(_given(delivers, entry, group, one))
    return tuple(answer)


def deliveries_to(found: tuple[Told, ...], trie: Matchable, topic: Any, subscriber: Any, hash: int) -> tuple[Told, ...]:
    """Return the deliveries by the subscriptions of one subscriber, where each of `found` stands for a filter."""
    audience = new_audience(trie, topic, len(found))
    answer: list[Told] = []
    for one in found:
        for group, members in sets_of(_value(one)):
            entry = find_keyed(members, subscriber, hash)
            alive = None if entry is None else living(entry)
            if alive is not None and not audience.excludes(alive):
                answer.append(_given(True, alive, group, one))
    return tuple(answer)


def entries_later(found: tuple[Told, ...], trie: Matchable, topic: Any, merge: str, by: str) -> Iterator[Told]:
    """Iterate over the same, merged. A subscriber that dies before the first is asked for is left out, and is not kept
    alive."""
    yield from merged(shown_entries(found, trie, topic, False), merge, by)


def _value(one: Told | None) -> Any:
    """Return the set that one stands for."""
    if one is None:
        raise TypeError("None is no subscription")
    return one._who if one._hash == 0 else entry_alone(one._who, one._hash)


def _given(delivers: bool, entry: Entry, group: str | None, by: Told) -> Told:
    """Return the answer for a subscriber of the filter that another one has."""
    return new_told(delivers, entry, 0, group, by._trail, by._at)


# ------------------------------------------------------------------------------------------------------------ merging


def check_merge(merge: str, by: str) -> None:
    """Raise ValueError for an unknown rule, and TypeError if `by` is not a text."""
    if merge not in (ALL, ONE, BEST):
        raise ValueError(f"merge must be one of 'all', 'one', 'best', not {merge!r}")
    if not isinstance(by, str):
        raise TypeError(f"by is the name of an option, a str, not {by!r}")


def merged(found: tuple[Told, ...], merge: str, by: str) -> tuple[Told, ...]:
    """Of the subscriptions that a subscriber has outside groups, keep all, any one, or one whose option `by` is
    greatest. Those as a member of a group are all kept. Users' `__hash__` is not called; `__eq__` only if two hashes
    are equal."""
    if merge == ALL or len(found) < 2 or _are_distinct(found):
        return found
    kept: list[Told] = []
    indexes: dict[int, list[int]] | None = {} if len(found) > FEW else None
    for one in found:
        at = -1 if one._group is not None else _index_of(kept, one, indexes)
        if at < 0:
            kept.append(one)
        elif merge == BEST and _is_better(one, kept[at], by):
            kept[at] = one
    return found if len(kept) == len(found) else tuple(kept)


def _are_distinct(found: tuple[Told, ...]) -> bool:
    """Return whether the hashes outside groups all differ in their last six bits: the cheapest proof that no subscriber
    occurs twice."""
    met = 0
    for one in found:
        if one._group is None:
            flag = flag_at(_hash(one), 0)
            if met & flag:
                return False
            met |= flag
    return True


def _index_of(kept: list[Told], one: Told, indexes: dict[int, list[int]] | None) -> int:
    """Return the index of the subscriber among those kept outside groups. If it is not there, note it, and return
    -1."""
    hash = _hash(one)
    if indexes is None:
        for at in range(len(kept)):
            other = kept[at]
            if other._group is None and _hash(other) == hash and _are_one(other, one):
                return at
        return -1
    same_hash = indexes.setdefault(hash, [])
    for at in same_hash:
        if _are_one(kept[at], one):
            return at
    same_hash.append(len(kept))
    return -1


def _hash(one: Told) -> int:
    if one._hash != 0:
        return one._hash
    entry: Entry = one._who
    return entry.hash


def _are_one(one: Told, other: Told) -> bool:
    ours, theirs = _subscriber(one), _subscriber(other)
    check_stack()
    return ours is theirs or bool(ours == theirs)


def _is_better(one: Told, other: Told, by: str) -> bool:
    """Return whether an option is greater. A missing one, or None, is less than any other."""
    ours, theirs = _option(one, by), _option(other, by)
    if ours is None or theirs is None:
        return ours is not None
    try:
        return bool(ours > theirs)
    except TypeError as error:
        raise TypeError(f"merge='best' cannot tell the greater of {by}={ours!r} and {by}={theirs!r}") from error


def _option(one: Told, by: str) -> Any:
    options = _options(one)
    return None if options is None else options.get(by)
