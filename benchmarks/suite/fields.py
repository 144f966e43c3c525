"""Fields: content-based routing, by fields alone and by topic and fields (S4 of the founding papers)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from benchmarks.model import Benchmark, Contender, Group, same, timed
from benchmarks.workloads import throughput_filters, throughput_topics
from subtrie import AMQP, SubscriptionTrie
from subtrie.fields import Criterion, Equals, FieldMatcher, OneOf, Present, RoutingMatcher, Within

SUBSCRIPTIONS = 1_000
MESSAGES = 200
NAMES = ("market", "currency", "side", "price", "urgent")
VALUES = 10

Criteria = list[Criterion]
Message = dict[str, int]


def _criteria(rng: random.Random) -> Criteria:
    """Return one to three criteria of any kind on different fields."""
    return [_criterion(rng, name) for name in rng.sample(NAMES, rng.randint(1, 3))]


def _criterion(rng: random.Random, name: str) -> Criterion:
    value = rng.randrange(VALUES)
    kinds: Criteria = [
        Equals(name, value),
        OneOf(name, [value, rng.randrange(VALUES)]),
        Within(name, value, value + 2),
        Present(name),
    ]
    return rng.choices(kinds, weights=(6, 2, 2, 1))[0]


def _message(rng: random.Random) -> Message:
    return {name: rng.randrange(VALUES) for name in rng.sample(NAMES, rng.randint(2, len(NAMES)))}


def _holds(criteria: Criteria, message: Message) -> bool:
    return all(criterion.name in message and criterion.holds(message[criterion.name]) for criterion in criteria)


def _compared(subscriptions: Sequence[Criteria], message: Message) -> list[int]:
    return [number for number, criteria in enumerate(subscriptions) if _holds(criteria, message)]


def _groups(quick: bool) -> Iterator[Group]:
    rng = random.Random(6)
    subscriptions = [_criteria(rng) for _ in range(50 if quick else SUBSCRIPTIONS)]
    messages = [_message(rng) for _ in range(20 if quick else MESSAGES)]
    matcher = FieldMatcher()
    for number, criteria in enumerate(subscriptions):
        matcher.subscribe(criteria, number)
    for message in messages:
        same(matcher.match_all(message), _compared(subscriptions, message), f"match_all of {message}")
    group = [
        Contender(series, partial(timed, partial(_each, call, messages)), len(messages))
        for series, call in (
            ("FieldMatcher.match_all", matcher.match_all),
            ("FieldMatcher.match_any", matcher.match_any),
            ("fields compared one by one", partial(_compared, subscriptions)),
        )
    ]
    yield group + _routed(subscriptions, messages)


def _each(call: Any, messages: Sequence[Message]) -> None:
    for message in messages:
        call(message)


def _routed(subscriptions: Sequence[Criteria], messages: Sequence[Message]) -> Group:
    """Return contenders that match topic and fields, each subscription having a filter of the throughput workload."""
    filters = throughput_filters(count=len(subscriptions))
    topics = throughput_topics(filters, len(messages))
    routes = RoutingMatcher(SubscriptionTrie())
    for number, (filter, criteria) in enumerate(zip(filters, subscriptions, strict=True)):
        routes.subscribe(filter, criteria, number)
    split = [AMQP.split_filter(filter) for filter in filters]
    calls = list(zip(topics, messages, strict=True))
    for topic, message in calls:
        same(routes.match(topic, message), _compared_both(split, subscriptions, topic, message), topic)
    compare = partial(_compared_both, split, subscriptions)
    return [
        Contender(series, partial(timed, partial(_each_pair, call, calls)), len(calls))
        for series, call in (
            ("RoutingMatcher on a SubscriptionTrie", routes.match),
            ("topic and fields compared one by one", compare),
        )
    ]


def _compared_both(
    filters: Sequence[tuple[str, ...]], subscriptions: Sequence[Criteria], topic: str, message: Message
) -> list[int]:
    words = AMQP.split_topic(topic)
    wanting = (number for number, filter in enumerate(filters) if AMQP.matches(filter, words))
    return [number for number in wanting if _holds(subscriptions[number], message)]


def _each_pair(call: Any, calls: Sequence[tuple[str, Message]]) -> None:
    for topic, message in calls:
        call(topic, message)


BENCHMARKS = [
    Benchmark(
        name="fields",
        title=f"Messages of two to five fields, {SUBSCRIPTIONS:,} subscriptions with one to three criteria",
        operation="message",
        groups=_groups,
        baseline="FieldMatcher.match_all",
        unit="us",
    )
]
