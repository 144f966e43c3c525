"""Matching by fields: content-based routing.

A message is a mapping of field names to values; a subscription is a set of criteria on fields. Each different
criterion has one bitmap, of the subscriptions that name it. The bitmaps of the criteria that a message
satisfies are added up in a binary counter whose digits are bitmaps too, so that the hits of all subscriptions
are counted at once. Any hit makes an OR match; as many hits as the subscription has criteria make an AND
match.

The state is immutable and held by an atomic reference. Its maps are read-only snapshots of Ctries: a writer
forks them in O(1), changes its forks, and puts the result in place by compare-and-set; readers go on with the
state that they have loaded, and so see one instant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

from ctrie import AtomicReference, Ctrie
from subtrie.bitmap import Bitmap
from subtrie.matcher import Matcher, checked_filter

Message: TypeAlias = Mapping[str, Any]


def _check_equals_itself(value: Any) -> None:
    """Refuse a number that is none, and whatever else is not even equal to itself."""
    try:
        same = bool(value == value)
    except ArithmeticError:
        same = False
    if not same:
        raise ValueError(f"nothing is equal to {value!r}, not even itself")


@dataclass(frozen=True)
class Equals:
    """The field has this value.

    :raises ValueError: where no value could be equal to it, as to a float that is no number

    >>> Equals("currency", "USD").holds("USD")
    True
    """

    name: str
    value: Hashable

    def __post_init__(self) -> None:
        _check_equals_itself(self.value)

    def holds(self, value: Any) -> bool:
        """Say whether a value of the field satisfies this."""
        return bool(value == self.value)

    def clues(self) -> Iterator[Hashable]:
        """Yield what of a message leads to this criterion: the field together with the value."""
        yield self.name, self.value


@dataclass(frozen=True)
class Present:
    """The field is there, whatever its value.

    >>> Present("urgent").holds(None)
    True
    """

    name: str

    def holds(self, value: Any) -> bool:
        """Say whether a value of the field satisfies this: any does."""
        return True

    def clues(self) -> Iterator[Hashable]:
        """Yield what of a message leads to this criterion: the field."""
        yield (self.name,)


@dataclass(frozen=True, init=False)
class OneOf:
    """The field has one of these values.

    :raises ValueError: where nothing is equal to one of them

    >>> OneOf("currency", ["USD", "EUR"]).holds("EUR")
    True
    """

    name: str
    values: frozenset[Hashable]

    def __init__(self, name: str, values: Iterable[Hashable]) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", frozenset(values))
        for value in self.values:
            _check_equals_itself(value)

    def holds(self, value: Any) -> bool:
        """Say whether a value of the field satisfies this."""
        return value in self.values

    def clues(self) -> Iterator[Hashable]:
        """Yield what of a message leads to this criterion: the field together with any of the values."""
        for value in self.values:
            yield self.name, value


def _is_up_to(one: Any, other: Any) -> bool:
    """Say whether the two compare and the first is not the larger one."""
    try:
        return bool(one <= other)
    except (TypeError, ArithmeticError):  # of other kinds; of a decimal that is no number
        return False


@dataclass(frozen=True)
class Within:
    """The field has a value from ``low`` to ``high``, both included; None leaves that side open.

    Values that do not compare with the bounds are not within them.

    :raises ValueError: where no value could be within

    >>> Within("price", 10, 20).holds(20), Within("price", low=10).holds("dear")
    (True, False)
    """

    name: str
    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and not _is_up_to(self.low, self.high):
            raise ValueError(f"nothing lies within {self.low!r} and {self.high!r}")

    def holds(self, value: Any) -> bool:
        """Say whether a value of the field satisfies this."""
        above = self.low is None or _is_up_to(self.low, value)
        return above and (self.high is None or _is_up_to(value, self.high))

    def clues(self) -> Iterator[Hashable]:
        """Yield what of a message leads to this criterion: the field."""
        yield (self.name,)


Criterion: TypeAlias = Equals | Present | OneOf | Within


class FieldSubscription(NamedTuple):
    """A set of criteria, and who gave it."""

    criteria: frozenset[Criterion]
    subscriber: Any


class _Maps(NamedTuple):
    """The maps of a state. Those of a published state are read-only snapshots, those of a fork can be
    written."""

    criteria: Ctrie
    """Clue, a field or a field with its value, to the criteria that it leads to."""
    rows: Ctrie
    """Criterion to bitmap: the numbers of the subscriptions that name it."""
    numbers: Ctrie
    """Subscription to number."""
    subscriptions: Ctrie
    """Number to subscription."""

    def fork(self) -> _Maps:
        return _Maps(*(part.snapshot() for part in self))

    def frozen(self) -> _Maps:
        return _Maps(*(part.readonly_snapshot() for part in self))


class _State(NamedTuple):
    """What the matcher knows at one instant; never changed once published, neither are its parts."""

    maps: _Maps
    sizes: dict[int, Bitmap]
    """Number of criteria to bitmap: the numbers of the subscriptions that have so many."""
    used: Bitmap
    """All numbers."""


class FieldMatcher:
    """Subscriptions by criteria on fields.

    Thread-safe by copy-on-write. Readers are lock-free; a writer that finds another one faster starts anew
    (lock-free). A read takes effect when it loads the state, a change when its compare-and-set succeeds.

    :param max_criteria: most criteria of a subscription
    :raises ValueError: where that is less than one

    >>> matcher = FieldMatcher()
    >>> matcher.subscribe([Equals("currency", "USD"), Present("urgent")], "ann")
    True
    >>> matcher.match_all({"currency": "USD", "urgent": None}), matcher.match_all({"currency": "USD"})
    (('ann',), ())
    >>> matcher.match_any({"currency": "USD"})
    ('ann',)
    """

    def __init__(self, max_criteria: int = 64) -> None:
        if max_criteria < 1:
            raise ValueError(f"max_criteria must be 1 or more, not {max_criteria}")
        self._max_criteria = max_criteria
        maps = _Maps(Ctrie(), Ctrie(), Ctrie(), Ctrie())
        self._state = AtomicReference(_State(maps.frozen(), {}, Bitmap()))

    def subscribe(self, criteria: Iterable[Criterion], subscriber: Any) -> bool:
        """Add a subscription and say whether it is new; two with the same criteria and subscriber are one.

        :raises ValueError: where there are no criteria, or more than allowed
        :raises TypeError: where one is no criterion, or something in it or the subscriber is not hashable

        Complexity: for each criterion O(bitmap of that criterion) and, where nobody has it yet,
        O(criteria found by the same clue): for presence and ranges, those of all such on the same field.
        """
        subscription = FieldSubscription(self._checked(criteria), subscriber)
        return self._change(lambda state: _added(state, subscription))

    def unsubscribe(self, criteria: Iterable[Criterion], subscriber: Any) -> bool:
        """Remove a subscription and say whether it was there; its number goes to the next one that comes.

        :raises ValueError: where there are no criteria, or more than allowed
        :raises TypeError: where one is no criterion, or something in it or the subscriber is not hashable
        """
        subscription = FieldSubscription(self._checked(criteria), subscriber)
        return self._change(lambda state: _removed(state, subscription))

    def match_all(self, message: Message) -> tuple[Any, ...]:
        """Return the subscribers of whom some subscription has all its criteria satisfied, each once.

        :raises TypeError: where a value is not hashable

        Complexity: O(criteria satisfied x log of their number) operations on bitmaps; for ranges, all those
        on the message's fields are looked at.
        """
        state: _State = self._state.load()
        digits = _count(_satisfied(state, message))
        complete = (_with_count(digits, size, row) for size, row in state.sizes.items())
        return _subscribers(state, complete)

    def match_any(self, message: Message) -> tuple[Any, ...]:
        """Return the subscribers of whom some subscription has some criterion satisfied, each once.

        :raises TypeError: where a value is not hashable

        Complexity: O(criteria satisfied) operations on bitmaps; for ranges as :meth:`match_all`.
        """
        state: _State = self._state.load()
        return _subscribers(state, _satisfied(state, message))

    def hits(self, message: Message) -> dict[FieldSubscription, int]:
        """Return how many criteria of each subscription are satisfied, without those that have none.

        :raises TypeError: where a value is not hashable
        """
        state: _State = self._state.load()
        digits = _count(_satisfied(state, message))
        return {
            state.maps.subscriptions[number]: sum(1 << i for i, digit in enumerate(digits) if number in digit)
            for number in _union(digits)
        }

    def __len__(self) -> int:
        return len(self._state.load().used)

    def check(self) -> None:
        """Check that index, rows and numbers say what the subscriptions say, and nothing else."""
        (criteria_of, rows_of, numbers, subscriptions), sizes_of, used = self._state.load()
        assert sorted(subscriptions) == list(used), "numbers in use differ from those given"
        assert dict(numbers.items()) == {s: n for n, s in subscriptions.items()}, "wrong numbers"
        criteria: dict[Hashable, set[Criterion]] = defaultdict(set)
        rows: dict[Criterion, set[int]] = defaultdict(set)
        sizes: dict[int, set[int]] = defaultdict(set)
        for number, subscription in subscriptions.items():
            sizes[len(subscription.criteria)].add(number)
            for criterion in subscription.criteria:
                rows[criterion].add(number)
                for clue in criterion.clues():
                    criteria[clue].add(criterion)
        assert {size: set(row) for size, row in sizes_of.items()} == sizes, "wrong sizes"
        assert {criterion: set(row) for criterion, row in rows_of.items()} == rows, "wrong rows"
        assert {clue: set(found) for clue, found in criteria_of.items()} == criteria, "wrong criteria"

    def _checked(self, criteria: Iterable[Criterion]) -> frozenset[Criterion]:
        checked = _criteria(criteria)
        if not 1 <= len(checked) <= self._max_criteria:
            raise ValueError(f"a subscription has 1 to {self._max_criteria} criteria, not {len(checked)}")
        return checked

    def _change(self, change: Callable[[_State], _State | None]) -> bool:
        while True:
            state: _State = self._state.load()
            changed = change(state)
            if changed is None:
                return False
            if self._state.compare_and_set(state, changed):
                return True


class RoutingMatcher:
    """Subscriptions by topic and fields at once: a filter and, on top of it, criteria that must all hold.

    The topic is matched by any :class:`~subtrie.matcher.Matcher`, which holds the criteria together with the
    subscribers; so a match sees one instant just as that matcher does, and is thread-safe in the same way. Shared
    subscriptions are refused: the matcher would hand the message to one member of a group before anybody has
    asked whether it wants it.

    :param topics: the matcher for topics, empty, and left alone from here on

    >>> from subtrie.locked import LockedTrie
    >>> matcher = RoutingMatcher(LockedTrie())
    >>> matcher.subscribe("forex.#", [Within("price", high=1.1)], "ann")
    True
    >>> matcher.match("forex.eur", {"price": 1.07}), matcher.match("forex.eur", {"price": 1.2})
    (('ann',), ())
    """

    def __init__(self, topics: Matcher) -> None:
        self._topics = topics

    def subscribe(self, filter: str, criteria: Iterable[Criterion], subscriber: Any) -> bool:
        """Add a subscription and say whether it is new; without criteria the topic alone decides.

        :raises TopicError: where the filter is bad, or a shared subscription
        :raises TypeError: where the filter is no str, or the subscriber or something in a criterion not
            hashable
        """
        checked_filter(self._topics.dialect, filter, subscriber)
        return self._topics.subscribe(filter, FieldSubscription(_criteria(criteria), subscriber))

    def unsubscribe(self, filter: str, criteria: Iterable[Criterion], subscriber: Any) -> bool:
        """Remove a subscription and say whether it was there.

        :raises TopicError: where the filter is bad, or a shared subscription
        :raises TypeError: where the filter is no str, or the subscriber or something in a criterion not
            hashable
        """
        checked_filter(self._topics.dialect, filter, subscriber)
        return self._topics.unsubscribe(filter, FieldSubscription(_criteria(criteria), subscriber))

    def match(self, topic: str, message: Message) -> tuple[Any, ...]:
        """Return the subscribers that want a message under a topic, each once.

        :raises TopicError: where the topic is bad
        :raises TypeError: where the topic is no str, or a value of the message not hashable

        Complexity: that of matching the topic, plus the criteria of the subscriptions found.
        """
        _check(message)
        known: dict[Criterion, bool] = {}
        wanting = set()
        for criteria, subscriber in self._topics.match(topic):
            if all(_holds(criterion, message, known) for criterion in criteria):
                wanting.add(subscriber)
        return tuple(wanting)

    def __len__(self) -> int:
        return len(self._topics)

    def check(self) -> None:
        """Check the matcher for topics."""
        self._topics.check()


def _criteria(criteria: Iterable[Criterion]) -> frozenset[Criterion]:
    checked = frozenset(criteria)
    for criterion in checked:
        if not isinstance(criterion, Equals | Present | OneOf | Within):
            kind = type(criterion).__name__
            raise TypeError(f"a criterion must be Equals, Present, OneOf or Within, not {kind}")
    return checked


def _added(state: _State, subscription: FieldSubscription) -> _State | None:
    """Return the state with another subscription, None where it is there already."""
    if subscription in state.maps.numbers:
        return None
    maps = state.maps.fork()
    number = state.used.first_zero()
    maps.numbers[subscription] = number
    maps.subscriptions[number] = subscription
    for criterion in subscription.criteria:
        row = maps.rows.get(criterion)
        maps.rows[criterion] = _with(row, number)
        for clue in criterion.clues() if row is None else ():
            maps.criteria[clue] = (*maps.criteria.get(clue, ()), criterion)
    size = len(subscription.criteria)
    sizes = {**state.sizes, size: _with(state.sizes.get(size), number)}
    return _State(maps.frozen(), sizes, _with(state.used, number))


def _removed(state: _State, subscription: FieldSubscription) -> _State | None:
    """Return the state without a subscription, None where it is not there."""
    number = state.maps.numbers.get(subscription)
    if number is None:
        return None
    maps = state.maps.fork()
    del maps.numbers[subscription], maps.subscriptions[number]
    for criterion in subscription.criteria:
        row = _without(maps.rows[criterion], number)
        _put(maps.rows, criterion, row)
        for clue in () if row else criterion.clues():
            _put(maps.criteria, clue, tuple(c for c in maps.criteria[clue] if c != criterion))
    size = len(subscription.criteria)
    sizes = {**state.sizes, size: _without(state.sizes[size], number)}
    if not sizes[size]:
        del sizes[size]
    return _State(maps.frozen(), sizes, _without(state.used, number))


def _put(map: Ctrie, key: Hashable, value: Bitmap | tuple[Criterion, ...]) -> None:
    """Keep what is not empty."""
    if value:
        map[key] = value
    else:
        del map[key]


def _with(row: Bitmap | None, number: int) -> Bitmap:
    changed = Bitmap() if row is None else row.copy()
    changed.add(number)
    return changed


def _without(row: Bitmap, number: int) -> Bitmap:
    changed = row.copy()
    changed.discard(number)
    return changed


def _check(message: Message) -> None:
    for name, value in message.items():
        try:
            hash(value)
        except TypeError:
            kind = type(value).__name__
            raise TypeError(f"the value of field {name!r} must be hashable, not {kind}") from None


def _satisfied(state: _State, message: Message) -> Iterator[Bitmap]:
    """Yield the bitmap of each criterion that a message satisfies."""
    _check(message)
    for name, value in message.items():
        for clue in ((name,), (name, value)):
            for criterion in state.maps.criteria.get(clue, ()):
                if criterion.holds(value):
                    yield state.maps.rows[criterion]


def _count(rows: Iterable[Bitmap]) -> list[Bitmap]:
    """Count for each number the rows that it is in; return the binary digits of the counts, lowest first."""
    digits: list[Bitmap] = []
    for carry in rows:
        for i, digit in enumerate(digits):
            digits[i], carry = digit ^ carry, digit & carry
        if carry:
            digits.append(carry)
    return digits


def _with_count(digits: list[Bitmap], count: int, among: Bitmap) -> Bitmap:
    """Return those among the numbers whose count is this one."""
    if count.bit_length() > len(digits):
        return Bitmap()
    for i, digit in enumerate(digits):
        among = among & digit if count >> i & 1 else among - digit
    return among


def _union(rows: Iterable[Bitmap]) -> Bitmap:
    return reduce(Bitmap.__or__, rows, Bitmap())


def _subscribers(state: _State, rows: Iterable[Bitmap]) -> tuple[Any, ...]:
    return tuple({state.maps.subscriptions[number].subscriber for number in _union(rows)})


def _holds(criterion: Criterion, message: Message, known: dict[Criterion, bool]) -> bool:
    """Say whether a criterion holds, and remember it for the next subscription that asks."""
    held = known.get(criterion)
    if held is None:
        held = criterion.name in message and criterion.holds(message[criterion.name])
        known[criterion] = held
    return held
