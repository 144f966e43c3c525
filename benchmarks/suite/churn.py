"""Churn: what it costs to subscribe, in tries of different shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.matchers import LOCKED, PAHO, TRIE, Entrant, present
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.workloads import growing_filters

Subscription = tuple[str, int]


@dataclass(frozen=True)
class Shape:
    """The standing subscriptions of a matcher, and those that are added and removed."""

    name: str
    standing: list[Subscription]
    changing: list[Subscription]
    topic: str
    """A topic that the first of the standing subscriptions matches."""


def _shapes(quick: bool) -> Iterator[Shape]:
    changes = 200 if quick else 2_000
    for count in (1_000, 10_000 if quick else 1_000_000):
        filters = growing_filters(count + changes)
        numbered = [(filter, number) for number, filter in enumerate(filters)]
        topic = numbered[0][0].replace("*", "w0")
        yield Shape(f"{count:,} filters", numbered[:count], numbered[count:], topic)
    count = 1_000 if quick else 100_000
    words = [(f"top.word{number}", number) for number in range(count + changes)]
    yield Shape(f"{count:,} words under one word", words[:count], words[count:], "top.word0")
    fans = [("one.filter", number) for number in range(count + changes)]
    yield Shape(f"{count:,} subscribers on one filter", fans[:count], fans[count:], "one.filter")


def _groups(quick: bool) -> Iterator[Group]:
    group: Group = []
    for shape in _shapes(quick):
        for entrant in present([TRIE, LOCKED, PAHO]):
            standing, changing = _translated(entrant, shape.standing), _translated(entrant, shape.changing)
            matcher = entrant.make()
            for filter, number in standing:
                matcher.subscribe(filter, number)
            _verify(entrant, matcher, shape, changing)
            series = f"{entrant.name}: {shape.name}"
            group.append(Contender(series, partial(_subscribe, matcher, changing), len(changing)))
    yield group


def _translated(entrant: Entrant, subscriptions: Sequence[Subscription]) -> list[Subscription]:
    return [(entrant.text(filter), number) for filter, number in subscriptions]


def _verify(entrant: Entrant, matcher: Any, shape: Shape, changing: Sequence[Subscription]) -> None:
    before = matcher.match(entrant.text(shape.topic))
    check(shape.standing[0][1] in before, f"{entrant.name}: {shape.topic} is not matched")
    for change in (matcher.subscribe, matcher.unsubscribe):
        changed = sum(change(*subscription) for subscription in changing)
        check(changed == len(changing), f"{entrant.name}: {change.__name__} changes nothing")
    check(set(matcher.match(entrant.text(shape.topic))) == set(before), f"{entrant.name}: something is left")


def _call_all(change: Callable[[str, int], bool], subscriptions: Sequence[Subscription]) -> None:
    for filter, subscriber in subscriptions:
        change(filter, subscriber)


def _subscribe(matcher: Any, changing: Sequence[Subscription]) -> float:
    seconds = timed(partial(_call_all, matcher.subscribe, changing))
    _call_all(matcher.unsubscribe, changing)
    return seconds


BENCHMARKS = [
    Benchmark(
        name="subscribe",
        title="Cost of subscribe, by what is there already",
        operation="subscribe",
        groups=_groups,
        baseline="SubscriptionTrie: 1,000 filters",
    )
]
