"""Content-based routing, what a message costs by the shape of the subscriptions: what does not match should cost
nothing, however much of it there is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.model import Benchmark, Contender, Group, same, timed
from benchmarks.suite.fields import Criteria, _each, _each_pair, _filled, _holds
from subtrie import MQTT
from subtrie.fields import (
    Equals,
    EqualsIgnoringCase,
    GreaterThan,
    Prefix,
    RoutingMatcher,
    Suffix,
    Wildcard,
    Within,
)

_Shape = tuple[list[Criteria], list[dict[str, Any]]]
SIZES = (1_000, 16_000, 100_000)


def _of_another_type(size: int, rng: random.Random) -> _Shape:
    """Thresholds of one type, messages of another one: nobody wants them."""
    subscriptions: list[Criteria] = [[GreaterThan("amount", i), Equals("type", "order")] for i in range(size)]
    return subscriptions, [{"type": "bill", "amount": size + i} for i in range(1_000)]


def _below(size: int, rng: random.Random) -> _Shape:
    """Thresholds of one type, messages of that type that reach none of them."""
    subscriptions: list[Criteria] = [[GreaterThan("amount", i), Equals("type", "order")] for i in range(size)]
    return subscriptions, [{"type": "order", "amount": -i} for i in range(1_000)]


def _two_ranges(size: int, rng: random.Random) -> _Shape:
    """Two ranges, each of 3 of 100 values. A thousandth of the subscriptions wants a message."""
    subscriptions: list[Criteria] = []
    for _ in range(size):
        a, b = rng.randrange(970), rng.randrange(970)
        subscriptions.append([Within("a", a, a + 30), Within("b", b, b + 30)])
    return subscriptions, [{"a": rng.randrange(1_000), "b": rng.randrange(1_000)} for _ in range(200)]


def _two_ranges_that_differ(size: int, rng: random.Random) -> _Shape:
    """As `_two_ranges`, of which no two begin or end at the same value."""
    subscriptions: list[Criteria] = []
    for _ in range(size):
        a, b = rng.random() * 970, rng.random() * 970
        subscriptions.append([Within("a", a, a + 30), Within("b", b, b + 30)])
    return subscriptions, [{"a": rng.random() * 1_000, "b": rng.random() * 1_000} for _ in range(200)]


def _texts(make: Callable[[str], Any]) -> Callable[[int, random.Random], _Shape]:
    def shape(size: int, rng: random.Random) -> _Shape:
        names = [f"{rng.randrange(16**6):06x}" for _ in range(size)]
        subscriptions: list[Criteria] = [[make(name)] for name in names]
        return subscriptions, [{"file": f"{name}-{name}"} for name in rng.choices(names, k=1_000)]

    return shape


SHAPES: dict[str, Callable[[int, random.Random], _Shape]] = {
    "thresholds of another type": _of_another_type,
    "thresholds that are not reached": _below,
    "two ranges": _two_ranges,
    "two ranges that differ": _two_ranges_that_differ,
    "Prefix": _texts(lambda name: Prefix("file", f"{name}-")),
    "Suffix": _texts(lambda name: Suffix("file", f"-{name}")),
    "Wildcard": _texts(lambda name: Wildcard("file", f"*{name}-*")),
    "EqualsIgnoringCase": _texts(lambda name: EqualsIgnoringCase("file", f"{name}-{name}".upper())),
}


def _groups(quick: bool) -> Iterator[Group]:
    for size in (100,) if quick else SIZES:
        group: Group = []
        for series, make in SHAPES.items():
            subscriptions, messages = make(size, random.Random(7))
            matcher = _filled(subscriptions)
            for message in messages[:3]:
                wanted = [number for number, criteria in enumerate(subscriptions) if _holds(criteria, message)]
                same(matcher.match_all(message), wanted, f"{series}: {message}")
            group.append(
                Contender(series, partial(timed, partial(_each, matcher.match_all, messages)), len(messages), size)
            )
        yield [*group, _routed(size)]


def _routed(size: int) -> Contender:
    routes = RoutingMatcher(MQTT)
    routes.subscribe_many([("sensors/+/heat", [GreaterThan("v", i)], i) for i in range(size)])
    calls = [("weather/7/wind", {"v": size + i}) for i in range(1_000)]
    same(routes.match(*calls[0]), [], "a message of another topic")
    return Contender(
        "thresholds of another topic", partial(timed, partial(_each_pair, routes.match, calls)), 1_000, size
    )


BENCHMARKS = [
    Benchmark(
        name="fields-shapes",
        title="Messages that few subscriptions want or none, by what the subscriptions ask for",
        operation="message",
        groups=_groups,
        unit="us",
        x_label="subscriptions",
        plot="growth",
        repeats=5,
        note="Nobody wants the messages at thresholds. A thousandth of the subscriptions wants one of the two ranges, "
        "and one subscription each of the others.",
    ),
]
