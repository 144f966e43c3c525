"""Subscriptions of two ranges, which are filed as boxes: found exactly where both hold, whatever the values are."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from subtrie.fields import (
    Absent,
    AtLeast,
    AtMost,
    Criterion,
    Elements,
    Equals,
    FieldMatcher,
    GreaterThan,
    LessThan,
    Within,
    flattened,
)


def some_range(rng: random.Random, name: str, scale: float, whole: bool) -> Criterion:
    def number() -> Any:
        value = rng.uniform(-scale, scale)
        return int(value) if whole else value

    kind = rng.random()
    if kind < 0.2:
        return rng.choice([GreaterThan, AtLeast, LessThan, AtMost])(name, number())
    if kind < 0.25:
        return Within(name, 2**60 + rng.randrange(9), 2**61)
    if kind < 0.3:
        return Within(name, Decimal(1), Decimal(5))
    low = number()
    high = low + abs(number()) * rng.choice([0.01, 1]) + 1
    return Within(name, low, high, rng.random() < 0.5, rng.random() < 0.5)


def some_value(rng: random.Random, scale: float) -> Any:
    if rng.random() < 0.6:
        return rng.uniform(-scale, scale)
    odd = [
        Elements([scale / 2, 0.5, "x"]),
        Fraction(rng.randrange(100), 7),
        Decimal("1.5"),
        2**60 + 4,
        10**400,
        -(10**400),
    ]
    return rng.choice([*odd, "a", None, True, math.nan, math.inf, -math.inf, 2**53 + 1, 0, -0.0])


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.once) for seed in range(5, 24))])
def test_any_ranges_on_two_fields(seed: int) -> None:
    rng = random.Random(seed)
    scale, whole = rng.choice([10, 1000, 1e6]), rng.random() < 0.5
    matcher = FieldMatcher()
    subscriptions: dict[int, list[Criterion]] = {}
    for number in range(rng.choice([50, 300, 900])):
        criteria = [some_range(rng, name, scale, whole) for name in rng.sample("abc", rng.choice([2, 2, 2, 3]))]
        if rng.random() < 0.2:
            criteria.append(Equals("t", rng.randrange(3)))  # a crowded place
        if rng.random() < 0.1:
            criteria.append(Absent("z"))
        if subscriptions and rng.random() < 0.25:
            criteria = list(rng.choice(list(subscriptions.values())))  # the very same box
        if subscriptions and rng.random() < 0.2:
            gone = rng.choice(list(subscriptions))
            assert matcher.unsubscribe(subscriptions.pop(gone), gone)
        matcher.subscribe(criteria, number)
        subscriptions[number] = criteria
    matcher.check()
    for _ in range(40):
        message = {name: some_value(rng, scale) for name in "abc" if rng.random() < 0.8}
        if rng.random() < 0.5:
            message["t"] = rng.randrange(3)
        if rng.random() < 0.3:
            message["z"] = 1
        wanted = {n for n, criteria in subscriptions.items() if all(one.met_by(message) for one in criteria)}
        assert set(matcher.match_all(message)) == wanted, message
        assert len(matcher.deliveries(message)) == len(wanted)
        assert set(matcher.match_many([message])[0]) == wanted
    for number, criteria in subscriptions.items():
        assert matcher.unsubscribe(criteria, number)
    matcher.check()
    assert not matcher


def test_boxes_are_met_by_what_belongs_together() -> None:
    matcher = FieldMatcher()
    matcher.subscribe([Within("l.a", 1, 2), Within("l.b", 1, 2)], "ann")
    assert matcher.match_all({"l": [{"a": 1, "b": 5}, {"a": 5, "b": 1}]}) == ()
    assert matcher.match_all({"l": [{"a": 1, "b": 5}, {"a": 2, "b": 2}]}) == ("ann",)
    assert matcher.match_all(flattened({"l": [{"a": 1, "b": 5}, {"a": 5, "b": 1}]}, together=False)) == ("ann",)
