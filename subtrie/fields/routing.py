# distutils: extra_compile_args = SMALL
"""`RoutingMatcher`: subscriptions by topic and fields at once.

A filter is a criterion on the words of a topic (`Topic` in topics.py), and a `FieldMatcher` does the rest: a
subscription is found through whatever is rarest, words of its filter or one of its criteria on fields. It is one state,
and no `SubscriptionTrie` with fields behind it. A match, `subscribe_many`, `unsubscribe_all` and `diff` are each of one
instant of topics and fields, and a trie's branches change one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import cython

if not cython.compiled:
    from ctrie._machine import check_signals
    from subtrie._trie.match.plan import Plan
    from subtrie.fields.equals import one_of_words
    from subtrie.fields.matcher import FieldMatcher, as_dict, state_of
    from subtrie.fields.search import answers_on_topic
    from subtrie.fields.state import State
    from subtrie.fields.topics import Topic

from ctrie._subclasses import attributes_of, set_attributes
from ctrie._views import SUBSCRIPTED
from subtrie.dialects import AMQP, Dialect
from subtrie.fields.combined import listed
from subtrie.fields.criteria import Criterion
from subtrie.fields.delivery import NO_OPTIONS, remade
from subtrie.fields.matcher import FieldSubscription, Message, parts_of
from subtrie.fields.short import short
from subtrie.matcher import checked_filter


class Route(NamedTuple):
    """That `subscriber` asked for messages on `filter` that meet `criteria`, with `options`, a read-only mapping."""

    filter: str
    criteria: frozenset[Any]
    subscriber: Any
    options: Mapping[str, Any] = NO_OPTIONS

    def __hash__(self) -> int:
        return hash((self.filter, self.criteria, self.subscriber))  # options may hold what has no hash

    def __reduce__(self) -> tuple[Any, ...]:
        return remade, (type(self), self.filter, self.criteria, self.subscriber, dict(self.options))


class RouteChange(NamedTuple):
    """A difference of two instants: `kind` is "added", "removed" or "updated" (other options)."""

    subscription: Route
    kind: str


if not cython.compiled:  # borrowed; the compiled ones (routing.pxd) count no reference
    fields_of = attrgetter("_fields")
    plan_of = attrgetter("_plan")
    dialect_of = attrgetter("dialect")


class RoutingMatcher:
    """RoutingMatcher(dialect=..., *, max_criteria=64, max_values=4096, weak=False)\n--\n
    Subscriptions by topic and fields: a filter and, on top of it, criteria that must all hold; there may be none.

    `RoutingMatcher(dialect=AMQP, *, max_criteria=64, max_values=4096, weak=False)`. A matcher for topics may be given
    instead of a dialect: then its dialect is taken. Thread-safe, lock-free and of one instant as
    :class:`FieldMatcher`, whose limits it has. Shared subscriptions and queue groups are refused: a group's turn would
    go to members that do not want the message.

    >>> from subtrie.fields import Within
    >>> matcher = RoutingMatcher()
    >>> matcher.subscribe("forex.#", [Within("price", high=1.1)], "ann")
    True
    >>> matcher.match("forex.eur", {"price": 1.07}), matcher.match("forex.eur", {"price": 1.2})
    (('ann',), ())
    """

    __slots__ = ("__weakref__", "_fields", "_plan", "dialect")
    __class_getitem__ = SUBSCRIPTED
    dialect: Dialect
    _fields: FieldMatcher
    _plan: Plan | None  # None: the dialect's own method splits topics, since it may do so in its own way

    if cython.compiled:

        def __cinit__(self, *_: object, **__: object) -> None:
            self.dialect, self._fields = AMQP, _UNMADE
    else:

        def __new__(cls, *_: object, **__: object) -> RoutingMatcher:  # noqa: D102
            self = object.__new__(cls)
            self.dialect, self._fields, self._plan = AMQP, _UNMADE, None
            return self

    def __init__(
        self,
        dialect: Any = AMQP,
        *,
        max_criteria: int = 64,
        max_values: int = 4096,
        weak: bool = False,
    ) -> None:
        if self._fields is not _UNMADE:
            raise TypeError("a RoutingMatcher is initialised once; make another one")
        fields = FieldMatcher(max_criteria + 1, max_values=max_values, weak=weak)
        self._begin(dialect if isinstance(dialect, Dialect) else dialect.dialect, fields)

    def _begin(self, dialect: Dialect, fields: FieldMatcher) -> None:
        self.dialect = dialect
        self._plan = _plan_for(dialect) if type(dialect) is Dialect else None
        self._fields = fields

    # ----------------------------------------------------------------------------------------------------- to change

    def subscribe(self, filter: str, criteria: Iterable[Criterion], subscriber: Any, **options: Any) -> bool:
        """Add a subscription; tell whether it was not there. Options replace the ones it had.

        Errors change nothing. For other options it raises what the dialect raises (`Dialect.check_options`), and
        otherwise as :meth:`FieldMatcher.subscribe`.

        Raises:
            TopicError: The filter is bad or a shared subscription.
            TypeError: The filter is not a str.
            ValueError: For a queue group.
        """
        self._check_options(options)
        return self._fields.subscribe(self._asked(filter, criteria), subscriber, **options)

    def unsubscribe(self, filter: str, criteria: Iterable[Criterion], subscriber: Any) -> bool:
        """Remove a subscription; tell whether it was there. Errors and cost as `subscribe`."""
        return self._fields.unsubscribe(self._asked(filter, criteria), subscriber)

    def replace(self, filter: str, old: Iterable[Criterion], new: Iterable[Criterion], subscriber: Any) -> bool:
        """Let a subscription on a filter ask for `new` instead of `old`, in one change: :meth:`FieldMatcher.replace`.

        >>> from subtrie.fields import Present
        >>> matcher = RoutingMatcher()
        >>> matcher.subscribe("a.*", [Present("f")], 1), matcher.replace("a.*", [Present("f")], [], 1)
        (True, True)
        """
        return self._fields.replace(self._asked(filter, old), self._asked(filter, new), subscriber)

    def subscribe_many(self, subscriptions: Iterable[tuple[Any, ...]]) -> int:
        """Subscribe every (filter, criteria, subscriber) or (filter, criteria, subscriber, options) given, all at one
        instant; return how many were not there. All are looked at before anything is changed.

        >>> from subtrie.fields import Present
        >>> RoutingMatcher().subscribe_many([("a.*", [], 1), ("b", [Present("f")], 2, {"qos": 1})])
        2
        """
        return self._fields.subscribe_many([self._parts_of(one) for one in subscriptions])

    def unsubscribe_all(self, subscriber: Any) -> int:
        """Remove all subscriptions of a subscriber, at one instant; return their number."""
        return self._fields.unsubscribe_all(subscriber)

    def clear(self) -> None:
        """Remove everything, at one instant. O(1).

        >>> matcher = RoutingMatcher()
        >>> matcher.subscribe("a", [], 1), matcher.clear(), matcher.match("a", {})
        (True, None, ())
        """
        self._fields.clear()

    # ------------------------------------------------------------------------------------------------------ to match

    def match(self, topic: str, message: Message) -> tuple[Any, ...]:
        """Return the distinct subscribers that want a message under a topic, in no particular order.

        A value without a hash counts as none. Cost as :meth:`FieldMatcher.match_all`, of a message with one more field
        for each word of the topic.

        Raises:
            TopicError: The topic is bad.
            TypeError: The topic is not a str.
        """
        state = state_of(cython.cast(FieldMatcher, fields_of(self)))
        return self._answers(state, topic, message, False)

    def match_many(self, messages: Iterable[tuple[str, Message]]) -> list[tuple[Any, ...]]:
        """Return `match` of each (topic, message), all of one instant.

        >>> RoutingMatcher().match_many([("a", {}), ("b", {"f": 1})])
        [(), ()]
        """
        return self._answers_to_many(messages, False)

    def deliveries(self, topic: str, message: Message) -> tuple[Any, ...]:
        """Return a `FieldDelivery`, subscriber and options, for each subscription that wants a message under a topic.

        >>> matcher = RoutingMatcher()
        >>> matcher.subscribe("a.*", [], "ann", qos=1)
        True
        >>> [(d.subscriber, dict(d.options)) for d in matcher.deliveries("a.b", {})]
        [('ann', {'qos': 1})]
        """
        state = state_of(cython.cast(FieldMatcher, fields_of(self)))
        return self._answers(state, topic, message, True)

    def deliveries_many(self, messages: Iterable[tuple[str, Message]]) -> list[tuple[Any, ...]]:
        """Return `deliveries` of each (topic, message), all of one instant."""
        return self._answers_to_many(messages, True)

    # ------------------------------------------------------------------------------------------------------- to list

    def subscriptions(self, subscriber: Any = None) -> Iterator[Route]:
        """Iterate over all subscriptions, or those of one subscriber (None: of all), at one instant fixed by the
        call."""
        return map(_route, self._fields.subscriptions(subscriber))

    def __iter__(self) -> Iterator[Route]:
        return map(_route, self._fields)

    def __contains__(self, subscription: object) -> bool:
        """Return whether (filter, criteria, subscriber) is there; options do not matter."""
        if not isinstance(subscription, tuple) or len(subscription) < 3:
            return False
        filter, criteria, subscriber = subscription[:3]
        return (self._asked(filter, criteria), subscriber) in self._fields

    def __len__(self) -> int:
        return len(self._fields)

    def __bool__(self) -> bool:
        return bool(self._fields)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.dialect.name}, {len(self)} subscriptions>"

    # ----------------------------------------------------------------------------------------------------- an instant

    def snapshot(self) -> RoutingMatcher:
        """Return the present content as a matcher that never changes; its mutators raise TypeError. O(1), lock-free."""
        return self._with(self._fields.snapshot())

    def fork(self) -> RoutingMatcher:
        """Return the present content as a matcher of its own, which can be changed. O(1), lock-free."""
        return self._with(self._fields.fork())

    def diff(self, older: RoutingMatcher) -> Iterator[RouteChange]:
        """Iterate over what has changed since `older`; as :meth:`FieldMatcher.diff`.

        >>> matcher = RoutingMatcher()
        >>> before = matcher.snapshot()
        >>> matcher.subscribe("a.*", [], 1)
        True
        >>> [(change.kind, change.subscription.filter) for change in matcher.diff(before)]
        [('added', 'a.*')]
        """
        if not isinstance(older, RoutingMatcher):
            raise TypeError(f"older must be a RoutingMatcher, not {type(older).__name__}")
        changes = self._fields.diff(cython.cast(RoutingMatcher, older)._fields)
        return (RouteChange(_route(found), kind) for found, kind in changes)

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a matcher of the same dialect with the same subscriptions and equal options, each
        at one instant. O(n)."""
        if not isinstance(other, RoutingMatcher):
            return NotImplemented
        same_dialect = self is other or self.dialect == other.dialect
        return bool(same_dialect and self._fields == cython.cast(RoutingMatcher, other)._fields)

    def __hash__(self) -> int:
        """By identity, unlike `==`, as of a SubscriptionTrie."""
        return object.__hash__(self)

    def __copy__(self) -> RoutingMatcher:
        return self.snapshot() if cython.cast(FieldMatcher, fields_of(self))._readonly else self.fork()

    def __reduce__(self) -> Any:
        return _rebuilt, (type(self), self.dialect, self._fields), attributes_of(self, RoutingMatcher)

    def check(self) -> None:
        """Check every invariant, at rest only.

        Raises:
            AssertionError: One is broken; the error names it.
        """
        self._fields.check()

    def _asked(self, filter: str, criteria: Iterable[Criterion]) -> frozenset[Criterion]:
        words = checked_filter(self.dialect, filter, None)
        return frozenset((Topic(self.dialect, str.__str__(filter), one_of_words(words)), *listed(criteria)))

    def _parts_of(self, subscription: Any) -> tuple[Any, ...]:
        """Return one of many as `FieldMatcher.subscribe_many` takes it."""
        filter, criteria, subscriber, options = parts_of(subscription, "filter, criteria, subscriber")
        self._check_options(options)
        return self._asked(filter, criteria), subscriber, options

    def _check_options(self, options: Mapping[str, Any]) -> None:
        if options:
            self.dialect.check_options(options)
        if self.dialect.queue_groups and options.get("queue") is not None:
            raise ValueError(
                f"queue={short(options['queue'])}: a RoutingMatcher has no queue groups, since a group's turn would go "
                "to members that do not want the message"
            )

    def _answers(self, state: State, topic: str, message: Message, delivers: bool) -> tuple[Any, ...]:
        return answers_on_topic(
            state,
            as_dict(message),
            delivers,
            cython.cast(Plan, plan_of(self)),
            cython.cast(object, dialect_of(self)),
            topic,
        )

    def _answers_to_many(self, messages: Iterable[tuple[str, Message]], delivers: bool) -> list[tuple[Any, ...]]:
        state = state_of(cython.cast(FieldMatcher, fields_of(self)))
        answers: list[tuple[Any, ...]] = []
        for topic, message in messages:
            check_signals()
            answers.append(self._answers(state, topic, message, delivers))
        return answers

    def _with(self, fields: FieldMatcher) -> RoutingMatcher:
        other = _rebuilt(type(self), self.dialect, fields)
        set_attributes(other, attributes_of(self, RoutingMatcher))
        return other


@cache
def _plan_for(dialect: Dialect) -> Plan:
    return Plan(dialect, False)


def _rebuilt(kind: type[RoutingMatcher], dialect: Dialect, fields: FieldMatcher) -> RoutingMatcher:
    matcher: RoutingMatcher = kind.__new__(kind)
    matcher._begin(dialect, fields)
    return matcher


def _route(subscription: FieldSubscription) -> Route:
    criteria = subscription.criteria
    topic = next(criterion for criterion in criteria if isinstance(criterion, Topic))
    return Route(topic.filter, criteria - {topic}, subscription.subscriber, subscription.options)


# What a matcher has between __new__ and __init__; it is read-only, so that nothing can be lost in it.
_UNMADE: FieldMatcher = FieldMatcher.__new__(FieldMatcher)
