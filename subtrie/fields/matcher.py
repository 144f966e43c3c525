# distutils: extra_compile_args = SMALL
"""`FieldMatcher`: who wants a message with these fields, for many threads at once.

All that a matcher knows is one immutable State (state.py) in one slot. A reader loads the slot once, and goes on with
the state of that instant. A writer loads it and makes the next state, which shares with it all but the paths to what
changes. Then it puts the next state in its place by compare-and-set. If another writer was faster, it starts again from
the state which that one made. A snapshot is the state.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

import cython

if not cython.compiled:
    from ctrie._machine import check_signals, check_stack
    from ctrie._slot import Slot, compare_and_set, initialise, load
    from subtrie._trie.keyed import find_keyed
    from subtrie._trie.match.scratch import leave
    from subtrie._trie.subscribers import is_held, subscriber_hash
    from subtrie.fields.combined import listed, values_named, ways_to_meet
    from subtrie.fields.criteria import Criterion
    from subtrie.fields.delivery import delivery_for
    from subtrie.fields.maps import untrack_entry
    from subtrie.fields.search import answers_for, clues_for, enter_search
    from subtrie.fields.state import (
        NO_ROWS,
        NOTHING,
        State,
        Subscribed,
        asks_the_same,
        distinct,
        find_in,
        with_rows,
    )

from ctrie._subclasses import attributes_of, not_to_be_changed, set_attributes
from ctrie._views import SUBSCRIPTED
from subtrie._trie.keyed import iter_keyed
from subtrie._trie.options import with_view
from subtrie._trie.weak_subscribers import Held, hold
from subtrie.dialects import check_free_option
from subtrie.fields.delivery import NO_OPTIONS, FieldDelivery, remade
from subtrie.fields.short import short
from subtrie.fields.state import (
    check_state,
    differences,
    subscriptions_in,
    with_many,
    with_nothing,
    with_replacement,
    with_subscription,
    without_owner,
    without_subscription,
)

Message: TypeAlias = Mapping[str, Any]
Answer = TypeVar("Answer")


class FieldSubscription(NamedTuple):
    """That `subscriber` asked for messages that meet `criteria`, with `options`, a read-only mapping."""

    criteria: frozenset[Any]
    subscriber: Any
    options: Mapping[str, Any] = NO_OPTIONS

    def __hash__(self) -> int:
        return hash((self.criteria, self.subscriber))  # options may hold what has no hash

    def __reduce__(self) -> tuple[Any, ...]:
        return remade, (type(self), self.criteria, self.subscriber, dict(self.options))


class FieldChange(NamedTuple):
    """A difference of two instants: `kind` is "added", "removed" or "updated" (other options)."""

    subscription: FieldSubscription
    kind: str


if not cython.compiled:  # borrowed; the compiled one (matcher.pxd) counts no reference
    slot_of = attrgetter("_slot")


class FieldMatcher:
    """FieldMatcher(max_criteria=64, *, max_values=4096, weak=False)\n--\n
    Subscriptions by criteria on fields, that any number of threads change and match messages against, without locks.

    `FieldMatcher(max_criteria=64, *, max_values=4096, weak=False)` holds (criteria, subscriber) pairs with options. A
    message is a mapping of field names to values; one without a hash counts as none. Subscribers are any hashable
    objects and are compared as dict keys are. A subscription has 1 to `max_criteria` criteria, and no more than
    `max_values` values in all its `OneOf` and `NotIn`.

    With `weak=True` the matcher keeps no subscriber alive: when nothing else refers to a subscriber, its subscriptions
    are gone. Snapshots and forks keep none alive either, and leave out those that are gone. `len` is then O(n).

    Every operation is linearizable and lock-free. A read takes effect when it loads the state, a change when its
    compare-and-set succeeds. A snapshot is O(1).

    To change: `subscribe`, `unsubscribe`, `replace`, `subscribe_many`, `unsubscribe_all`, `clear`
    To match: `match_all`, `match_any`, `match_many`, `deliveries`, `deliveries_many`, `hits`
    To list: `subscriptions`, iteration, `in`, `len`
    For an instant: `snapshot`, `fork`, `diff`
    For tests: `check`

    >>> from subtrie.fields import Equals, Present
    >>> matcher = FieldMatcher()
    >>> matcher.subscribe([Equals("currency", "USD"), Present("urgent")], "ann")
    True
    >>> matcher.match_all({"currency": "USD", "urgent": None}), matcher.match_all({"currency": "USD"})
    (('ann',), ())
    >>> matcher.match_any({"currency": "USD"})
    ('ann',)
    """

    __slots__ = ("__weakref__", "_home", "_max_criteria", "_max_values", "_readonly", "_slot")
    __class_getitem__ = SUBSCRIPTED
    _slot: Slot
    _home: Any  # a weak reference to itself, if subscribers are weakly held
    _readonly: bool
    _max_criteria: int
    _max_values: int

    if cython.compiled:

        def __cinit__(self, *_: object, **__: object) -> None:
            self._slot, self._readonly = _UNMADE, True
    else:

        def __new__(cls, *_: object, **__: object) -> FieldMatcher:  # noqa: D102
            self = object.__new__(cls)
            self._slot, self._readonly, self._home, self._max_criteria, self._max_values = _UNMADE, True, None, 0, 0
            return self

    def __init__(self, max_criteria: int = 64, *, max_values: int = 4096, weak: bool = False) -> None:
        if max_criteria < 1:
            raise ValueError(f"max_criteria must be 1 or more, not {max_criteria}")
        if max_values < 0:
            raise ValueError(f"max_values must be 0 or more, not {max_values}")
        if self._slot is not _UNMADE:
            raise TypeError("a FieldMatcher is initialised once; make another one")
        self._max_criteria = max_criteria
        self._max_values = max_values
        self._home = weakref.ref(self) if weak else None
        self._readonly = False
        self._slot = _new_slot(NOTHING)

    # ----------------------------------------------------------------------------------------------------- to change

    def subscribe(self, criteria: Iterable[Criterion], subscriber: Any, **options: Any) -> bool:
        """Add a subscription; tell whether it was not there. Two with the same criteria and subscriber are one; options
        replace the ones it had.

        Errors change nothing. O(criteria x log n), and O(log n) for each value of a `OneOf` that the subscription is
        filed under. Linearizes at its compare-and-set.

        Raises:
            ValueError: There are no criteria or too many.
            TypeError: One is no criterion or the subscriber has no hash.

        >>> from subtrie.fields import Present
        >>> matcher = FieldMatcher()
        >>> matcher.subscribe([Present("a")], 1), matcher.subscribe([Present("a")], 1, qos=2), len(matcher)
        (True, False, 1)
        """
        self._writable()
        asked = self._checked(criteria)
        owner_hash = subscriber_hash(subscriber)
        delivery = self._kept(subscriber, owner_hash, options)
        return self._change(with_subscription, (asked, delivery, owner_hash))

    def unsubscribe(self, criteria: Iterable[Criterion], subscriber: Any) -> bool:
        """Remove a subscription; tell whether it was there. Errors and cost as `subscribe`.

        >>> from subtrie.fields import Present
        >>> matcher = FieldMatcher()
        >>> matcher.subscribe([Present("a")], 1), matcher.unsubscribe([Present("a")], 1), len(matcher)
        (True, True, 0)
        """
        self._writable()
        asked = self._checked(criteria)
        return self._change(without_subscription, (asked, subscriber, subscriber_hash(subscriber)))

    def replace(self, old: Iterable[Criterion], new: Iterable[Criterion], subscriber: Any) -> bool:
        """Let a subscription ask for `new` instead of `old`, with the options that it has, in one change: no message
        finds both or none. Tell whether there was one with the old criteria; nothing changes otherwise.

        If the subscriber has one with the new criteria, too, the two become one, with the options of the replaced one.
        Errors and cost as `unsubscribe` and `subscribe`.

        >>> from subtrie.fields import AtLeast
        >>> matcher = FieldMatcher()
        >>> matcher.subscribe([AtLeast("total", 100)], "ann"), matcher.replace(
        ...     [AtLeast("total", 100)], [AtLeast("total", 50)], "ann")
        (True, True)
        >>> matcher.match_all({"total": 70})
        ('ann',)
        """
        self._writable()
        before, after = self._checked(old), self._checked(new)
        return self._change(with_replacement, (before, after, subscriber, subscriber_hash(subscriber)))

    def subscribe_many(self, subscriptions: Iterable[tuple[Any, ...]]) -> int:
        """Subscribe every (criteria, subscriber) or (criteria, subscriber, options) given, all at one instant; return
        how many were not there.

        All are checked before anything changes: a bad one raises as in `subscribe`. O(k) times `subscribe` for k of
        them. If other threads change the matcher meanwhile, what they changed is done once more, and those of the k
        that are for the same subscribers.

        Raises:
            ValueError: For a tuple of another size.

        >>> from subtrie.fields import Present
        >>> matcher = FieldMatcher()
        >>> matcher.subscribe_many([([Present("a")], 1), ([Present("b")], 2, {"qos": 1}), ([Present("a")], 1)])
        2
        """
        self._writable()
        given = [parts_of(subscription) for subscription in subscriptions]  # keeps alive what will be held weakly
        several = []
        for criteria, subscriber, options in given:
            check_signals()
            owner_hash = subscriber_hash(subscriber)
            kept = self._kept(subscriber, owner_hash, dict(options))
            several.append((self._checked(criteria), kept, owner_hash))
        return self._change(with_many, (several, []))

    def unsubscribe_all(self, subscriber: Any) -> int:
        """Remove all subscriptions of a subscriber, at one instant; return their number. O(log n) for each of them.

        Raises:
            TypeError: For an unhashable subscriber.

        >>> from subtrie.fields import Present
        >>> matcher = FieldMatcher()
        >>> matcher.subscribe_many([([Present("a")], 1), ([Present("b")], 1)]), matcher.unsubscribe_all(1), len(matcher)
        (2, 2, 0)
        """
        self._writable()
        return self._change(without_owner, (subscriber, subscriber_hash(subscriber)))

    def clear(self) -> None:
        """Remove everything, at one instant. O(1)."""
        self._writable()
        self._change(with_nothing, ())

    def _change(self, step: Callable[..., tuple[State, Answer]], arguments: tuple[Any, ...]) -> Answer:
        enter_search()
        try:
            # Progress: a round that does not return found that another thread's change has taken effect.
            while True:
                state: State = load(self._slot)
                changed, answer = step(state, *arguments)
                # Nothing to change: the answer is of the instant of the load.
                # Success: the matcher had the very state that the next one was made of, and has the next one from now
                # on. (The old one is still held here, so no other has its address.) Failure: another thread's state
                # came first.
                if changed is state or compare_and_set(self._slot, state, changed):
                    return answer
        finally:
            leave()

    # ------------------------------------------------------------------------------------------------------ to match

    def match_all(self, message: Message, /) -> tuple[Any, ...]:
        """Return the distinct subscribers with a subscription of which all criteria hold, in no particular order.

        A value without a hash counts as none. O(log n) for each field of the message, and O(1) for each subscription
        that is filed under its value, or under a range around it: those of which this was the rarest criterion.
        """
        return answers_for(state_of(self), as_dict(message), False)

    def match_many(self, messages: Iterable[Message]) -> list[tuple[Any, ...]]:
        """Return `match_all` of each message, all of one instant.

        >>> from subtrie.fields import Equals
        >>> matcher = FieldMatcher()
        >>> matcher.subscribe([Equals("a", 1)], "ann")
        True
        >>> matcher.match_many([{"a": 1}, {"a": 2}])
        [('ann',), ()]
        """
        return _answers_to_many(state_of(self), messages, False)

    def match_any(self, message: Message, /) -> tuple[Any, ...]:
        """Return the distinct subscribers with a subscription of which some criterion holds, in no particular order.

        A value without a hash counts as none. O(hits). The first call of `match_any` or `hits` makes the matcher
        keep, from then on, what it takes to count: O(criteria of all subscriptions), once; changes then cost about as
        much again for each of their criteria.
        """
        state = self._with_rows()
        return distinct(list(_hits_of(state, as_dict(message))))

    def hits(self, message: Message, /) -> dict[FieldSubscription, int]:
        """Return for each subscription how many of its criteria hold; those of which none holds are left out. Cost as
        `match_any`.

        >>> from subtrie.fields import Equals, Present
        >>> matcher = FieldMatcher()
        >>> matcher.subscribe([Equals("a", 1), Present("b")], "ann")
        True
        >>> list(matcher.hits({"a": 1}).values())
        [1]
        """
        state = self._with_rows()
        counted = _hits_of(state, as_dict(message)).items()
        return {found: count for entry, count in counted for found in _shown((entry,))}

    def deliveries(self, message: Message, /) -> tuple[Any, ...]:
        """Return a `FieldDelivery` for each subscription of which all criteria hold: its subscriber and its options. A
        subscriber is named as often as such subscriptions name it. Cost and progress as `match_all`.

        >>> from subtrie.fields import Present
        >>> matcher = FieldMatcher()
        >>> matcher.subscribe([Present("a")], "ann", qos=1)
        True
        >>> [(d.subscriber, dict(d.options)) for d in matcher.deliveries({"a": 0})]
        [('ann', {'qos': 1})]
        """
        return answers_for(state_of(self), as_dict(message), True)

    def deliveries_many(self, messages: Iterable[Message]) -> list[tuple[Any, ...]]:
        """Return `deliveries` of each message, all of one instant."""
        return _answers_to_many(state_of(self), messages, True)

    def _with_rows(self) -> State:
        """Return the present state, with rows; made now if there are none."""
        known: State = NO_ROWS
        # Progress: a round that does not return found that another thread's change has taken effect; what has been made
        # is kept, so that the next round has only what changed meanwhile to add.
        while True:
            state: State = load(self._slot)
            if state.clues is not None:
                return state
            known = with_rows(state, known)
            # Success: whoever changes the matcher keeps rows from now on. Failure: another thread's state came first.
            if compare_and_set(self._slot, state, known):
                return known

    # ------------------------------------------------------------------------------------------------------- to list

    def subscriptions(self, subscriber: Any = None) -> Iterator[FieldSubscription]:
        """Iterate over all subscriptions, or those of one subscriber (None: of all), at one instant fixed by the call.
        O(n); O(log n) and those of one subscriber.

        Raises:
            TypeError: For an unhashable subscriber.

        >>> from subtrie.fields import Present
        >>> matcher = FieldMatcher()
        >>> matcher.subscribe([Present("a")], 1)
        True
        >>> list(matcher.subscriptions(1))
        [FieldSubscription(criteria=frozenset({Present('a')}), subscriber=1, options=mappingproxy({}))]
        """
        return _shown(subscriptions_in(state_of(self), subscriber, subscriber_hash(subscriber)))

    def __iter__(self) -> Iterator[FieldSubscription]:
        return self.subscriptions()

    def __contains__(self, subscription: object) -> bool:
        """Return whether (criteria, subscriber) is there; options do not matter."""
        criteria, subscriber, _ = parts_of(subscription)
        asked = self._checked(criteria)
        return find_in(state_of(self), asked, subscriber, subscriber_hash(subscriber)) is not None

    def __len__(self) -> int:
        """The number of subscriptions at one instant. O(1); O(n) where subscribers are weakly held."""
        return state_of(self).count if self._home is None else sum(1 for _ in self)

    def approximate_len(self) -> int:
        """Return the number of subscriptions. O(1), and exact; where subscribers are weakly held, those that died
        stay counted until they are found."""
        return state_of(self).count

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None

    def __repr__(self) -> str:
        kind = "read-only, " if self._readonly else ""
        return f"<{type(self).__name__}: {kind}{len(self)} subscriptions>"

    # ----------------------------------------------------------------------------------------------------- an instant

    def snapshot(self) -> FieldMatcher:
        """Return the present content as a matcher that never changes; its mutators raise TypeError. O(1), lock-free."""
        return self if self._readonly else self._with_state(state_of(self), True)

    def fork(self) -> FieldMatcher:
        """Return the present content as a matcher of its own, which can be changed. O(1), lock-free."""
        return self._with_state(state_of(self), False)

    def diff(self, older: FieldMatcher) -> Iterator[FieldChange]:
        """Iterate over what has changed since `older`, a snapshot or fork of this matcher or an earlier instant of it;
        of each at one instant fixed by the call. Time is proportional to what changed.

        >>> from subtrie.fields import Present
        >>> matcher = FieldMatcher()
        >>> before = matcher.snapshot()
        >>> matcher.subscribe([Present("a")], 1)
        True
        >>> [(change.kind, change.subscription.subscriber) for change in matcher.diff(before)]
        [('added', 1)]
        """
        if not isinstance(older, FieldMatcher):
            raise TypeError(f"older must be a FieldMatcher, not {type(older).__name__}")
        return _changes(state_of(older), state_of(self))

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a matcher with the same subscriptions and equal options, each at one instant.
        Settings such as `max_criteria` do not matter. O(n)."""
        if not isinstance(other, FieldMatcher):
            return NotImplemented
        return self is other or _content(state_of(self)) == _content(state_of(other))

    def __hash__(self) -> int:
        """By identity, unlike `==`, as of a SubscriptionTrie."""
        return object.__hash__(self)

    def __copy__(self) -> FieldMatcher:
        return self.snapshot() if self._readonly else self.fork()

    def __reduce__(self) -> tuple[Any, ...]:
        limits = self._max_criteria, self._max_values, self._home is not None, self._readonly
        content = (type(self), *limits, [(s.criteria, s.subscriber, dict(s.options)) for s in self])
        return _rebuilt, content, attributes_of(self, FieldMatcher)

    def check(self) -> None:
        """Check every invariant, at rest only.

        Raises:
            AssertionError: One is broken; the error names it.
        """
        check_state(state_of(self))

    def _with_state(self, state: State, readonly: bool) -> FieldMatcher:
        cls = type(self)
        other: FieldMatcher = cls.__new__(cls)
        set_attributes(other, attributes_of(self, FieldMatcher))
        other._max_criteria = self._max_criteria
        other._max_values = self._max_values
        other._home = None if self._home is None else weakref.ref(other)
        other._readonly = readonly
        other._slot = _new_slot(state)
        return other

    def _writable(self) -> None:
        if self._readonly:
            made = self._slot is not _UNMADE
            raise not_to_be_changed("matcher", made, "take .fork() of it for one that can be changed")

    def _kept(self, subscriber: Any, owner_hash: int, options: dict[str, Any]) -> FieldDelivery:
        """Return the delivery that a subscription keeps."""
        kept = subscriber if self._home is None else hold(subscriber, owner_hash, ("", None), self._home)
        if not options:
            return delivery_for(kept, None, NO_OPTIONS)
        for name, value in options.items():
            check_free_option("a matcher by fields", name, value)
            if name == "but":
                wrong = f"but={short(value)}"
                raise ValueError(f"{wrong}: a matcher by fields has no exclusions; subscribe other criteria instead")
        known, view = with_view(options)
        return delivery_for(kept, known, view)

    def _checked(self, criteria: Iterable[Criterion]) -> frozenset[Criterion]:
        given = listed(criteria)
        checked: frozenset[Criterion] = criteria if type(criteria) is frozenset else frozenset(given)
        if not 1 <= len(checked) <= self._max_criteria:
            raise ValueError(f"a subscription has 1 to {self._max_criteria} criteria, not {len(checked)}")
        for criterion in checked:
            untrack_entry(criterion)
        values, ways = values_named(checked), ways_to_meet(checked)
        if values > self._max_values:
            raise ValueError(f"the criteria of a subscription name up to {self._max_values} values, not {values}")
        if ways > max(1, self._max_values):
            raise ValueError(f"the alternatives of a subscription make up to {self._max_values} ways, not {ways}")
        untrack_entry(checked)
        return checked

    def _let_go(self, held: Held) -> None:
        """The subscriber of a reference has died: its subscriptions go."""
        self._change(without_owner, (held, held.hash))


def _new_slot(state: State) -> Slot:
    slot = Slot()
    initialise(slot, state)
    return slot


def state_of(matcher: FieldMatcher) -> State:
    """Return what a matcher knows now."""
    return load(cython.cast(Slot, slot_of(matcher)))  # type: ignore[no-any-return]


def as_dict(message: Any) -> dict[Any, Any]:
    """Return a message as a dict, which may be the caller's own."""
    if type(message) is dict:
        return message
    if not isinstance(message, Mapping):
        raise TypeError(f"a message is a mapping of field names to values, not {type(message).__name__}")
    return dict(message)


def _answers_to_many(state: State, messages: Iterable[Message], delivers: bool) -> list[tuple[Any, ...]]:
    if isinstance(messages, Mapping):
        raise TypeError(f"{'deliveries' if delivers else 'match'}_many() takes several messages, and this is one")
    answers: list[tuple[Any, ...]] = []
    for message in messages:
        check_signals()
        answers.append(answers_for(state, as_dict(message), delivers))
    return answers


def parts_of(subscription: Any, names: str = "criteria, subscriber") -> tuple[Any, ...]:
    """Return the parts of one of many, with these names, and its options."""
    size = names.count(",") + 1
    if not isinstance(subscription, tuple) or len(subscription) not in (size, size + 1):
        raise ValueError(f"a subscription is ({names}) or ({names}, options), not {short(subscription)}")
    options = subscription[size] if len(subscription) > size else NO_OPTIONS
    if not isinstance(options, Mapping):
        raise TypeError(f"the options of a subscription are a mapping, not {short(options)}")
    for name in options:
        if not isinstance(name, str):
            raise TypeError(f"the name of an option is a str, not {short(name)}")
    return *subscription[:size], options


def _hits_of(state: State, message: dict[Any, Any]) -> dict[Subscribed, int]:
    """Return, of a state with rows, how many criteria of each subscription hold, without those that have none."""
    assert state.clues is not None, "hits are counted on a state with rows"
    counts: dict[Subscribed, int] = {}
    for clue in clues_for(state, message):
        row = find_keyed(state.rows, clue.key, clue.hash)
        for subscribed in iter_keyed(row.value):
            counts[subscribed] = counts.get(subscribed, 0) + 1
    return counts


def _shown(entries: Iterable[Any]) -> Iterator[FieldSubscription]:
    """Yield the subscriptions of entries, without those whose subscriber is gone."""
    for entry in entries:
        subscriber = entry.key
        if is_held(subscriber):
            subscriber = subscriber()
            if subscriber is None:
                continue
        yield FieldSubscription(frozenset(entry.asked), subscriber, entry.delivery.options)


def _content(state: State) -> dict[Any, Any]:
    return {(asked, subscriber): options for asked, subscriber, options in _shown(subscriptions_in(state))}


def _changes(older: State, newer: State) -> Iterator[FieldChange]:
    for old, new in differences(older, newer):
        check_stack()  # options may compare by asking for the differences again
        if old is not None and new is not None and asks_the_same(old, new):
            kinds = [("updated", new)] if old.delivery.options != new.delivery.options else []
        else:
            kinds = [(kind, entry) for kind, entry in (("removed", old), ("added", new)) if entry is not None]
        for kind, entry in kinds:
            for subscription in _shown((entry,)):
                yield FieldChange(subscription, kind)


def _rebuilt(
    kind: type[FieldMatcher],
    max_criteria: int,
    max_values: int,
    weak: bool,
    readonly: bool,
    subscriptions: list[tuple[Any, ...]],
) -> FieldMatcher:
    matcher = kind.__new__(kind)
    FieldMatcher.__init__(matcher, max_criteria, max_values=max_values, weak=weak)
    FieldMatcher.subscribe_many(matcher, subscriptions)
    return matcher.snapshot() if readonly else matcher


# The slot of a matcher between __new__ and __init__; it is read-only, so that nothing can be lost in it.
_UNMADE: Slot = _new_slot(NOTHING)
