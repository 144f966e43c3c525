"""Places where many subscriptions are filed: what they ask next is looked for, in any order of criteria and of changes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from subtrie import MQTT
from subtrie.fields import (
    Absent,
    AnyOf,
    Criterion,
    Equals,
    FieldMatcher,
    GreaterThan,
    NotIn,
    OneOf,
    Prefix,
    Present,
    RoutingMatcher,
    Suffix,
    Within,
)
from subtrie.fields.index import CROWDED
from subtrie.fields.matcher import state_of
from tests.fields.test_matcher import left_in


def some_criteria(rng: random.Random) -> list[Criterion]:
    """Common ones, so that crowds come together at several places, one after the other."""
    low = rng.randrange(20)
    kinds: list[Callable[[], Criterion]] = [
        lambda: Equals("type", rng.choice(["order", "order", "bill"])),
        lambda: OneOf("state", rng.sample("abc", 2)),
        lambda: Within("price", low, low + rng.choice([1, 10])),
        lambda: GreaterThan("size", rng.randrange(20)),
        lambda: Present("urgent"),
        lambda: Absent("cancelled"),
        lambda: NotIn("state", ["c"]),
        lambda: Prefix("name", rng.choice("xy")),
        lambda: Suffix("name", rng.choice("xy")),
        lambda: AnyOf(Equals("type", "bill"), Present("urgent")),
        lambda: OneOf("none", []),
    ]
    return [make() for make in rng.sample(kinds, rng.randint(1, 4))]


def some_message(rng: random.Random) -> dict[str, Any]:
    message = {
        "type": rng.choice(["order", "bill"]),
        "state": rng.choice(["a", "b", "c", ["a", "b"]]),
        "price": rng.randrange(25),
        "size": rng.choice([rng.randrange(25), "large"]),
        "urgent": None,
        "cancelled": True,
        "name": rng.choice(["x", "xy", "yx", "z"]),
    }
    return {name: value for name, value in message.items() if rng.random() < 0.7}


def is_wanted(criteria: list[Criterion], message: dict[str, Any]) -> bool:
    values = {name: value if isinstance(value, list) else [value] for name, value in message.items()}
    return all(_is_met(criterion, values) for criterion in criteria)


def _is_met(criterion: Any, values: dict[str, list[Any]]) -> bool:
    if isinstance(criterion, AnyOf):
        return any(all(_is_met(one, values) for one in way) for way in criterion.alternatives)
    if isinstance(criterion, Absent):
        return criterion.name not in values
    return any(criterion.holds(value) for value in values.get(criterion.name, ()))


@pytest.mark.parametrize("seed", range(4))
def test_crowds_come_and_go(seed: int) -> None:
    rng = random.Random(seed)
    matcher = FieldMatcher()
    present: dict[int, list[Criterion]] = {}
    for number in range(700):
        present[number] = some_criteria(rng)
        assert matcher.subscribe(present[number], number)
        if rng.random() < 0.3:
            gone = rng.choice(list(present))
            assert matcher.unsubscribe(present.pop(gone), gone)
        if rng.random() < 0.1:
            assert not matcher.subscribe(present[number], number, qos=number) if number in present else True
        if number % 70 == 69:
            compare(matcher, present, rng)
    older, before = matcher.snapshot(), dict(present)
    numbers = list(present)
    rng.shuffle(numbers)
    for gone in numbers:
        assert matcher.unsubscribe(present.pop(gone), gone)
        if rng.random() < 0.02:
            compare(matcher, present, rng)
    assert left_in(matcher) == []
    compare(older, before, rng)


def compare(matcher: FieldMatcher, present: dict[int, list[Criterion]], rng: random.Random) -> None:
    matcher.check()
    assert len(matcher) == len(present)
    for _ in range(10):
        message = some_message(rng)
        expected = sorted(number for number, criteria in present.items() if is_wanted(criteria, message))
        assert sorted(matcher.match_all(message)) == expected, message


class Counted(int):
    """A number that counts how often it is compared."""

    asked = 0

    def __lt__(self, other: Any) -> bool:
        Counted.asked += 1
        return bool(int(self) < other)

    def __le__(self, other: Any) -> bool:
        Counted.asked += 1
        return bool(int(self) <= other)

    def __gt__(self, other: Any) -> bool:
        Counted.asked += 1
        return bool(int(self) > other)

    def __ge__(self, other: Any) -> bool:
        Counted.asked += 1
        return bool(int(self) >= other)

    __hash__ = int.__hash__


def asked_for(call: Callable[[], Any]) -> int:
    Counted.asked = 0
    call()
    return Counted.asked


@pytest.mark.parametrize("ranges_first", [False, True])
def test_thresholds_that_nobody_reaches_are_not_looked_at(ranges_first: bool) -> None:
    """By a value or a topic, whichever criterion is named first; a message that nobody wants, of that type or another."""
    matcher, routes = FieldMatcher(), RoutingMatcher(MQTT)
    for number in range(1000):
        threshold: list[Criterion] = [GreaterThan("v", number + 10)]
        both = [*threshold, Equals("type", "order")] if ranges_first else [Equals("type", "order"), *threshold]
        matcher.subscribe(both, number)
        routes.subscribe("sensors/+/heat", threshold, number)
    matcher.check()
    routes.check()
    assert asked_for(lambda: matcher.match_all({"type": "bill", "v": Counted(10_000)})) == 0
    assert asked_for(lambda: routes.match("weather/7/wind", {"v": Counted(10_000)})) == 0
    assert matcher.match_all({"type": "order", "v": 10}) == routes.match("sensors/1/heat", {"v": 10}) == ()
    assert asked_for(lambda: matcher.match_all({"type": "order", "v": Counted(5)})) < 100
    assert asked_for(lambda: routes.match("sensors/1/heat", {"v": Counted(5)})) < 100
    assert len(matcher.match_all({"type": "order", "v": 510})) == 500


def test_filters_with_words_in_common_are_a_crowd() -> None:
    """Two words side by side that many filters have, or one: the words before and after them tell these apart."""
    rng = random.Random(2)
    routes = RoutingMatcher(MQTT)
    filters = {f"a/b/+/{i % 40}/{i}" for i in range(200)} | {f"{i}/+/b/c/+/{i % 7}" for i in range(200)}
    filters |= {f"{i % 9}/+/x/+/{i}/#" for i in range(200)} | {"#", "+/#", "+/+/+/+/+"}
    for filter in filters:
        criteria: list[Criterion] = [GreaterThan("v", 1)] if rng.random() < 0.5 else []
        assert routes.subscribe(filter, criteria, (filter, bool(criteria)))
    routes.check()
    topics = [f"a/b/q/{i % 40}/{i}" for i in range(60)] + [f"{i}/q/b/c/q/{i % 7}" for i in range(60)]
    topics += [f"{i % 9}/q/x/q/{i}{end}" for i in range(60) for end in ("", "/y", "/y/z")] + ["$a/b/q/1/1", "a"]
    split = [(MQTT.split_filter(filter), filter, asks) for filter, _, (_, asks), _ in routes]
    assert len(split) == len(filters)
    for topic in topics:
        words = MQTT.split_topic(topic)
        reached = {(filter, asks) for parts, filter, asks in split if MQTT.matches(parts, words)}
        for value in (1, 2):
            expected = {(filter, asks) for filter, asks in reached if value > 1 or not asks}
            assert set(routes.match(topic, {"v": value})) == expected, topic
    for filter, criteria_, subscriber, _ in list(routes):
        assert routes.unsubscribe(filter, criteria_, subscriber)
    routes.check()
    assert not routes


def test_a_crowd_with_nothing_more_to_ask_stays_as_it_is() -> None:
    matcher: Any = FieldMatcher()
    for number in range(4 * CROWDED):
        matcher.subscribe([Equals("type", "order")], number)
    (field,) = [cell.value for cell in [state_of(matcher).index.fields]]
    assert not hasattr(field.values.value, "whole")
    assert len(matcher.match_all({"type": "order"})) == 4 * CROWDED
    matcher.check()
