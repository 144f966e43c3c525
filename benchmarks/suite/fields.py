"""Fields: content-based routing, by fields alone and by topic and fields (S4 of the founding papers)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from benchmarks import quamina
from benchmarks.model import Benchmark, Contender, Group, check, same, timed
from benchmarks.workloads import throughput_filters, throughput_topics
from subtrie import AMQP
from subtrie.fields import Criterion, Equals, FieldMatcher, OneOf, Present, RoutingMatcher, Within

_decode = json.JSONDecoder().raw_decode
READERS = {"from JSON text": json.loads, "from JSON text by raw_decode": lambda text: _decode(text)[0]}
"""Quamina takes only text. When our matchers get text, most of the time is for reading it."""
if find_spec("orjson"):  # it has no wheels for free-threaded interpreters
    READERS["from JSON text by orjson"] = import_module("orjson").loads

SUBSCRIPTIONS = 1_000
MESSAGES = 200
NAMES = ("market", "currency", "side", "price", "urgent")
VALUES = 10

Criteria = list[Criterion]
Message = dict[str, int]


def _criteria(rng: random.Random, ranges: bool = True) -> Criteria:
    """Return one to three criteria of any kind, or any but ranges, on different fields."""
    return [_criterion(rng, name, ranges) for name in rng.sample(NAMES, rng.randint(1, 3))]


def _criterion(rng: random.Random, name: str, ranges: bool) -> Criterion:
    value = rng.randrange(VALUES)
    kinds: Criteria = [
        Equals(name, value),
        OneOf(name, [value, rng.randrange(VALUES)]),
        Within(name, value, value + 2),
        Present(name),
    ]
    return rng.choices(kinds, weights=(6, 2, 2 if ranges else 0, 1))[0]


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
    matcher = _filled(subscriptions)
    for message in messages:
        same(matcher.match_all(message), _compared(subscriptions, message), f"match_all of {message}")
    texts = [json.dumps(message) for message in messages]
    group = [
        Contender(series, partial(timed, partial(_each, call, given)), len(messages))
        for series, call, given in (
            ("FieldMatcher.match_all", matcher.match_all, messages),
            ("FieldMatcher.match_all, from JSON text", lambda text: matcher.match_all(json.loads(text)), texts),
            ("FieldMatcher.deliveries", matcher.deliveries, messages),
            ("FieldMatcher.match_any", matcher.match_any, messages),
            ("fields compared one by one", partial(_compared, subscriptions), messages),
        )
    ]
    yield group + _routed(subscriptions, messages) + _quamina(subscriptions, messages)


def _filled(subscriptions: Sequence[Criteria]) -> FieldMatcher:
    matcher = FieldMatcher()
    for number, criteria in enumerate(subscriptions):
        matcher.subscribe(criteria, number)
    return matcher


def _quamina(
    subscriptions: Sequence[Criteria], messages: Sequence[Message], x: float | None = None, what: str = ""
) -> list[Contender]:
    if quamina.missing():
        return []
    _, counts = quamina.run(subscriptions, messages)
    matcher = _filled(subscriptions)
    check(counts == [len(matcher.match_all(message)) for message in messages], "Quamina's matches")
    series = f"{quamina.NAME}: {what}" if what else quamina.NAME
    return [Contender(series, lambda: quamina.run(subscriptions, messages)[0], len(messages), x)]


# ------------------------------------------------------------------------------------------------------------- growth


def rare(size: int, rng: random.Random) -> tuple[list[Criteria], list[Message]]:
    """A value that three subscriptions share, and one of three other values. A message has 1 match."""
    domain = max(1, size // 3)
    subscriptions: list[Criteria] = [
        [Equals("id", rng.randrange(domain)), Equals("side", rng.randrange(3))] for _ in range(size)
    ]
    return subscriptions, [{"id": rng.randrange(domain), "price": 7, "side": rng.randrange(3)} for _ in range(2_000)]


def _rare_in_range(size: int, rng: random.Random) -> tuple[list[Criteria], list[Message]]:
    """A rare value, and a range that half of the messages are in. A message has 1.4 matches."""
    domain = max(1, size // 3)
    subscriptions: list[Criteria] = []
    for _ in range(size):
        low = rng.randrange(1_000)
        subscriptions.append([Equals("id", rng.randrange(domain)), Within("price", low, low + 500)])
    messages = [{"id": rng.randrange(domain), "price": rng.randrange(300, 900), "side": 1} for _ in range(2_000)]
    return subscriptions, messages


def _ranges(size: int, rng: random.Random) -> tuple[list[Criteria], list[Message]]:
    """Only a range. A message has 3 matches."""
    subscriptions: list[Criteria] = []
    for _ in range(size):
        low = rng.randrange(1_000 * size)
        subscriptions.append([Within("price", low, low + rng.randrange(6_000))])
    return subscriptions, [{"price": rng.randrange(1_000 * size), "side": 1} for _ in range(2_000)]


GROWING = {"a value and another one": rare, "a value and a range": _rare_in_range, "a range": _ranges}


def _growth(quick: bool) -> Iterator[Group]:
    for size in (100,) if quick else (1_000, 10_000, 100_000):
        group: Group = []
        for series, make in GROWING.items():
            subscriptions, messages = make(size, random.Random(7))
            matcher = _filled(subscriptions)
            for message in messages[:20]:
                same(matcher.match_all(message), _compared(subscriptions, message), f"{series}: {message}")
            group.append(
                Contender(series, partial(timed, partial(_each, matcher.match_all, messages)), len(messages), size)
            )
            if make is rare:
                texts = [json.dumps(message) for message in messages]
                for reader, loads in READERS.items():
                    from_text = partial(_each_text, matcher.match_all, loads, texts)
                    group.append(Contender(f"{series}, {reader}", partial(timed, from_text), len(texts), size))
                group += _quamina(subscriptions, messages, size, series)
        yield [*group, _dict(size)]


def _dict(size: int) -> Contender:
    """Return the time of a plain lookup among as many keys: the growth that memory alone causes."""
    values = {f"key-{number * 2_654_435_761 % 2**32:x}": number for number in range(size)}
    asked = random.Random(1).sample(list(values), min(size, 2_000))
    return Contender("dict.get, as many keys", partial(timed, partial(_each, values.get, asked)), len(asked), size)


def _each(call: Any, messages: Sequence[Any]) -> None:
    for message in messages:
        call(message)


def _each_text(call: Any, loads: Any, texts: Sequence[str]) -> None:
    for text in texts:
        call(loads(text))


def _routed(subscriptions: Sequence[Criteria], messages: Sequence[Message]) -> Group:
    """Return contenders that match topic and fields, each subscription having a filter of the throughput workload."""
    filters = throughput_filters(count=len(subscriptions))
    topics = throughput_topics(filters, len(messages))
    routes = RoutingMatcher()
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
            ("RoutingMatcher.match", routes.match),
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
    ),
    Benchmark(
        name="fields-growth",
        title="Messages of three fields that few subscriptions want, by the number of subscriptions",
        operation="message",
        groups=_growth,
        unit="ns",
        x_label="subscriptions",
        plot="growth",
        note="Each subscription asks for what the series says; 1 to 3 matches a message. The dict is for comparison.",
    ),
]
