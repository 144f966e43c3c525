"""The OpenAMQ matching test: 2,000 filters, 2,000 topics, about 170 subscribers for each message."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.matchers import INVERTED, LOCKED, OPTIMISED, PAHO, TRIE, filled, present
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.suite.throughput import call_each
from examples.demo.workload import openamq
from subtrie import SubscriptionTrie

FILTERS = 2_000
SEED = 1


def _matching(quick: bool) -> Iterator[Group]:
    workload = openamq(100 if quick else FILTERS, SEED)
    passes = 1 if quick else 500
    group: Group = []
    for entrant in present([TRIE, INVERTED, OPTIMISED, LOCKED, PAHO]):
        matcher = filled(entrant, workload.filters)
        topics = entrant.texts(workload.topics)
        for topic, expected in zip(topics, workload.matching, strict=True):
            check(len(matcher.match(topic)) == expected, f"{entrant.name}: {topic}")
        times = passes if entrant is TRIE else max(1, passes // 100)
        matches = sum(workload.matching) * times
        one_by_one = partial(call_each, matcher.match, topics * times)
        group.append(Contender(entrant.name, partial(timed, one_by_one), matches))
        if entrant is TRIE:
            many = partial(_match_many, matcher, topics, times)
            group.append(Contender(f"{TRIE.name}.match_many", partial(timed, many), matches))
    yield group


def _match_many(matcher: SubscriptionTrie, topics: list[str], times: int) -> None:
    for _ in range(times):
        matcher.match_many(topics)


BENCHMARKS = [
    Benchmark(
        name="openamq",
        title="OpenAMQ matching test: 2,000 filters, 1,000,000 messages, about 170 matches each",
        operation="delivered match",
        groups=_matching,
        baseline="SubscriptionTrie",
        repeats=5,
        note="All contenders except the subscription trie get 10,000 of the messages.",
    ),
]
