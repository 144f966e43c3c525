"""Content-based routing by several threads at once, on one shared matcher."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle, islice
from typing import Any

from benchmarks.model import Benchmark, Group, check, same
from benchmarks.suite.fields import Criteria, Message, rare
from benchmarks.suite.scaling import in_threads
from benchmarks.threads import THREADS, Work
from benchmarks.workloads import throughput_filters, throughput_topics
from subtrie.fields import FieldMatcher, RoutingMatcher

LOOP = "plain loop: a dict.get for each field"
WRITE_EVERY = 10


def _groups(quick: bool) -> Iterator[Group]:
    size, count = (100, 200) if quick else (10_000, 30_000)
    threads = THREADS[:2] if quick else THREADS
    subscriptions, messages = rare(size, random.Random(7))
    filters = throughput_filters(count=size)
    matcher, routes = FieldMatcher(), RoutingMatcher()
    for number, (filter, criteria) in enumerate(zip(filters, subscriptions, strict=True)):
        matcher.subscribe(criteria, number)
        routes.subscribe(filter, criteria, number)
    _verify(matcher, subscriptions, messages)
    group: Group = []
    for series, prepare in (
        ("FieldMatcher.match_all", partial(_matching, matcher, size, count)),
        ("FieldMatcher: 90 % match_all, 10 % subscribe and unsubscribe", partial(_mixed, matcher, size, count)),
        ("RoutingMatcher.match", partial(_routing, routes, filters, size, count)),
        (LOOP, partial(_loop, size, count)),
    ):
        group += in_threads(series, prepare, count, threads)
    yield group
    check(len(matcher) == size, "FieldMatcher has lost a write")


def _verify(matcher: FieldMatcher, subscriptions: Sequence[Criteria], messages: Sequence[Message]) -> None:
    for message in messages[:20]:
        wanting = [
            number
            for number, criteria in enumerate(subscriptions)
            if all(criterion.holds(message[criterion.name]) for criterion in criteria)
        ]
        same(matcher.match_all(message), wanting, f"match_all of {message}")


def _messages(size: int, count: int, thread: int) -> Iterable[Message]:
    return islice(cycle(rare(size, random.Random(100 + thread))[1]), count)


def _matching(matcher: FieldMatcher, size: int, count: int, thread: int) -> Work:
    return partial(_call_each, matcher.match_all, _messages(size, count, thread))


def _mixed(matcher: FieldMatcher, size: int, count: int, thread: int) -> Work:
    criteria = rare(size, random.Random(200 + thread))[0]
    return partial(_match_and_change, matcher, _messages(size, count, thread), cycle(criteria), thread)


def _match_and_change(
    matcher: FieldMatcher, messages: Iterable[Message], criteria: Iterator[Criteria], thread: int
) -> None:
    match, changes, subscribed = matcher.match_all, 0, None
    for number, message in enumerate(messages):
        if number % WRITE_EVERY:
            match(message)
        elif subscribed is None:
            subscribed = next(criteria)
            matcher.subscribe(subscribed, (thread, changes))
        else:
            check(matcher.unsubscribe(subscribed, (thread, changes)), "FieldMatcher has lost a write")
            changes, subscribed = changes + 1, None
    if subscribed is not None:
        matcher.unsubscribe(subscribed, (thread, changes))


def _routing(routes: RoutingMatcher, filters: Sequence[str], size: int, count: int, thread: int) -> Work:
    topics = throughput_topics(filters, count, seed=thread)
    return partial(_call_each_pair, routes.match, zip(topics, _messages(size, count, thread), strict=True))


def _loop(size: int, count: int, thread: int) -> Work:
    return partial(_get_each, dict.fromkeys(range(size)), _messages(size, count, thread))


def _get_each(values: dict[int, None], messages: Iterable[Message]) -> None:
    get = values.get  # an attribute that threads look up again and again is shared by all of them
    for message in messages:
        for name in message:
            get(message[name])


def _call_each(call: Callable[[Message], Any], messages: Iterable[Message]) -> None:
    for message in messages:
        call(message)


def _call_each_pair(call: Callable[[str, Message], Any], pairs: Iterable[tuple[str, Message]]) -> None:
    for topic, message in pairs:
        call(topic, message)


BENCHMARKS = [
    Benchmark(
        name="fields-scaling",
        title="Messages of three fields and 10,000 subscriptions, by several threads on one shared matcher",
        operation="message",
        groups=_groups,
        x_label="threads",
        plot="scaling",
        repeats=5,
        note="The messages of `fields-growth` that want a value and another one, 1 match each.",
    )
]
