"""Events with lists: what one costs that nobody asks for, and what one costs that all ask for, beside a plain loop."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.model import Benchmark, Contender, Group, same, timed
from benchmarks.suite.fields import Criteria, _each, _filled
from subtrie.fields import AtLeast, Equals, GreaterThan

_Event = dict[str, Any]
_Loop = Callable[[_Event], list[int]]


def _unasked(rules: int) -> tuple[list[Criteria], dict[str, _Event], _Loop]:
    """Orders that all want, whose items nobody asks for."""
    plain = {"type": "order", "total": 99.5}
    items = [{"id": i, "n": i % 10} for i in range(200)]
    events = {
        "without a list": plain,
        "two items": {**plain, "items": items[:2]},
        "200 items": {**plain, "items": items},
    }

    def loop(event: _Event) -> list[int]:
        return [i for i in range(rules) if event.get("type") == "order" and event.get("total", -1) >= i % 100]

    return [[Equals("type", "order"), AtLeast("total", i % 100)] for i in range(rules)], events, loop


def _one_list(rules: int) -> tuple[list[Criteria], dict[str, _Event], _Loop]:
    """Two fields of one item."""
    events = {f"{n} items": {"items": [{"id": j % 50, "n": j % 10} for j in range(n)]} for n in (200, 5_000)}

    def loop(event: _Event) -> list[int]:
        return [i for i in range(rules) if any(one["id"] == i % 50 and one["n"] > 5 for one in event["items"])]

    return [[Equals("items.id", i % 50), GreaterThan("items.n", 5)] for i in range(rules)], events, loop


def _two_lists(rules: int) -> tuple[list[Criteria], dict[str, _Event], _Loop]:
    """Two fields of each of two lists, which nothing meets."""
    rng = random.Random(5)
    event = {name: [{"x": rng.randrange(60), "y": rng.randrange(60)} for _ in range(60)] for name in "ab"}

    def loop(event: _Event) -> list[int]:
        return [
            i
            for i in range(rules)
            if all(any(one["x"] >= i % 30 and one["y"] == 60 + i for one in event[name]) for name in "ab")
        ]

    asked: list[Criteria] = [
        [each for name in "ab" for each in (AtLeast(f"{name}.x", i % 30), Equals(f"{name}.y", 60 + i))]
        for i in range(rules)
    ]
    return asked, {"two lists of 60": event}, loop


def _groups(quick: bool) -> Iterator[Group]:
    for make in (_unasked, _one_list, _two_lists):
        asked, events, loop = make(50 if quick else 1_000)
        matcher = _filled(asked)
        group: Group = []
        for what, event in events.items():
            same(matcher.match_all(event), loop(event), what)
            for series, call in (("match_all", matcher.match_all), ("a loop over all", loop)):
                group.append(Contender(f"{series}, {what}", partial(timed, partial(_each, call, [event] * 3)), 3))
        yield group


BENCHMARKS = [
    Benchmark(
        name="fields-lists",
        title="Events with lists of objects and 1,000 subscriptions",
        operation="event",
        groups=_groups,
        unit="us",
        repeats=5,
        note="Nobody asks for the items of the events that stand beside one without a list. Of the others, each "
        "subscription asks for two fields of an element of each list; nothing wants the event with two lists.",
    )
]
