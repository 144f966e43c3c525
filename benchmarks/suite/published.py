"""The published table: what subscribe, unsubscribe and lookup cost, in an empty matcher and among 1,000
filters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.matchers import INVERTED, LOCKED, NAIVE, OPTIMISED, PAHO, TRIE, Entrant, present
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.workloads import LATENCY_FILTER, LATENCY_TOPIC, long_filters

FILTERS = 1_000
CHANGES = 100


def _groups(quick: bool) -> Iterator[Group]:
    lookups, filter_count = (50, 100) if quick else (2_000, FILTERS)
    filters = list(long_filters(filter_count + CHANGES))
    group: Group = []
    for operation in ("lookup", "subscribe", "unsubscribe"):
        for state, count in (("cold", 0), ("hot", filter_count)):
            for entrant in present([TRIE, NAIVE, INVERTED, OPTIMISED, LOCKED, PAHO]):
                matcher = _matcher(entrant, filters[:count])
                fresh = entrant.texts(filters[filter_count:])
                calls = (lookups // 50 if entrant.is_slow else lookups) if operation == "lookup" else CHANGES
                measures: dict[str, Callable[[], float]] = {
                    "lookup": partial(timed, partial(_look_up, matcher, entrant.text(LATENCY_TOPIC), calls)),
                    "subscribe": partial(_change, matcher.subscribe, matcher.unsubscribe, fresh),
                    "unsubscribe": partial(_change_back, matcher.subscribe, matcher.unsubscribe, fresh),
                }
                series = f"{operation}, {state}: {entrant.name}"
                group.append(Contender(series, measures[operation], calls))
    yield group


def _matcher(entrant: Entrant, filters: list[str]) -> Any:
    """Return a matcher with the filters and the one that is looked up; it has seen a topic for each of
    them."""
    matcher = entrant.make()
    for number, filter in enumerate([*filters, LATENCY_FILTER]):
        check(matcher.subscribe(entrant.text(filter), number), f"{entrant.name} has {filter} already")
    for number, topic in enumerate([*filters, LATENCY_TOPIC]):
        check(matcher.match(entrant.text(topic)) == (number,), f"{entrant.name}: {topic}")
    return matcher


def _look_up(matcher: Any, topic: str, calls: int) -> None:
    match = matcher.match
    for _ in range(calls):
        match(topic)


def _each(change: Callable[[str, int], bool], filters: list[str]) -> None:
    for filter in filters:
        change(filter, -1)


def _change(subscribe: Callable[..., bool], unsubscribe: Callable[..., bool], filters: list[str]) -> float:
    seconds = timed(partial(_each, subscribe, filters))
    _each(unsubscribe, filters)
    return seconds


def _change_back(subscribe: Callable[..., bool], unsubscribe: Callable[..., bool], filters: list[str]) -> float:
    _each(subscribe, filters)
    return timed(partial(_each, unsubscribe, filters))


BENCHMARKS = [
    Benchmark(
        name="published",
        title="The published table: cold (empty) and hot (1,000 random filters of five long words)",
        operation="operation",
        groups=_groups,
        baseline="lookup, hot: SubscriptionTrie",
        repeats=15,
        note=(
            f"The topic of a lookup is {LATENCY_TOPIC}, which only {LATENCY_FILTER} matches: the latency workload."
            " Even a matcher that is called empty has that filter."
            " The inverted bitmap knows one topic for each filter."
        ),
    )
]
