"""Literal: the cost of an exact match, with and without wildcard filters beside it (S13 of the founding papers)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.matchers import CACHED, EXACT, INVERTED, LOCKED, OPTIMISED, PAHO, TRIE, Entrant, filled, present
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.suite.throughput import PROBE, call_each
from benchmarks.workloads import growing_filters

TOPICS = 500
REPETITIONS = 20


def _groups(quick: bool) -> Iterator[Group]:
    count = 200 if quick else 10_000
    filters = list(growing_filters(count))
    literal = [filter for filter in filters if "*" not in filter]
    # Copies, since a message's topic is never the same string object as the filter.
    some = [".".join(filter.split(".")) for filter in random.Random(5).sample(literal, min(TOPICS, len(literal)))]
    topics = some * REPETITIONS
    group = [_contender(PROBE, dict.fromkeys(literal).get, topics)]
    for entrant in present([TRIE, EXACT, CACHED, INVERTED, OPTIMISED, LOCKED, PAHO]):
        for beside, chosen in (("literal filters only", literal), ("a tenth of the filters wild", filters)):
            group.append(_entered(entrant, beside, chosen, topics))
    yield group


def _entered(entrant: Entrant, beside: str, filters: list[str], topics: list[str]) -> Contender:
    matcher = filled(entrant, filters)
    number = {filter: number for number, filter in enumerate(filters)}
    for topic in topics[:TOPICS]:
        check(number[topic] in matcher.match(entrant.text(topic)), f"{entrant.name}: {topic}")
    return _contender(f"{entrant.name}: {beside}", matcher.match, entrant.texts(topics))


def _contender(series: str, call: Callable[[str], object], topics: list[str]) -> Contender:
    return Contender(series, partial(timed, partial(call_each, call, topics)), len(topics))


BENCHMARKS = [
    Benchmark(
        name="literal",
        title="A topic that hits a literal filter, among 10,000 filters",
        operation="match",
        groups=_groups,
        baseline=PROBE,
        note=f"Filters of five words, 100 different words at each level. All match the same {TOPICS} topics.",
    )
]
