"""Throughput: the cost of a match on one thread, beside the cheapest operation that Python can do with a topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from benchmarks import sublist
from benchmarks.matchers import (
    CACHED,
    FILTERING,
    INVERTED,
    LOCKED,
    NAIVE,
    OPTIMISED,
    PAHO,
    TRIE,
    filled,
    present,
    verify,
)
from benchmarks.model import Benchmark, Contender, Group, same, timed
from benchmarks.workloads import DIGITS, throughput_filters, throughput_topics
from subtrie import AMQP, SubscriptionTrie

LOOP = "loop: split, d.get(word)"
PROBE = "loop: d.get(topic)"
MANY = f"{TRIE.name}.match_many"
MANY_ONE_BY_ONE = f"{MANY}, topics one by one"


def _groups(quick: bool) -> Iterator[Group]:
    filters = throughput_filters(count=100 if quick else 1_000)
    topics = throughput_topics(filters, 2_000 if quick else 100_000)
    group = [
        Contender(LOOP, partial(timed, partial(split_and_get, dict.fromkeys(DIGITS), topics)), len(topics)),
        Contender(PROBE, partial(timed, partial(call_each, dict.fromkeys(topics).get, topics)), len(topics)),
    ]
    for entrant in present([TRIE, CACHED, INVERTED, OPTIMISED, LOCKED, PAHO, FILTERING, NAIVE]):
        matcher = filled(entrant, filters)
        verify(entrant, matcher, filters, topics[:: len(topics) // 200])
        own = entrant.texts(topics[:: 500 if entrant.is_slow else 1])
        group.append(Contender(entrant.name, partial(timed, partial(call_each, matcher.match, own)), len(own)))
        if entrant is TRIE:
            for one, many in zip(map(matcher.match, own), matcher.match_many(own), strict=True):
                same(one, many, "match_many")
            for name, topics_of in ((MANY, list), (MANY_ONE_BY_ONE, iter)):
                group.append(Contender(name, partial(timed, partial(_match_many, matcher, topics_of, own)), len(own)))
    yield group + _sublist(filters, topics)


def _sublist(filters: list[str], topics: list[str]) -> Group:
    if (missing := sublist.missing()) is not None:
        print(f"NATS' sublist left out: {missing}")
        return []
    shown = topics[:200]
    words = [AMQP.split_filter(filter) for filter in filters]
    group = []
    for name in (sublist.PLAIN, sublist.CACHED):
        for topic, found in zip(shown, sublist.run(name, filters, shown, len(shown))[1], strict=True):
            split = AMQP.split_topic(topic)
            same(found, [n for n, filter in enumerate(words) if AMQP.matches(filter, split)], f"{name}: {topic}")
        group.append(Contender(name, partial(_seconds, name, filters, topics), len(topics)))
    return group


def _seconds(name: str, filters: list[str], topics: list[str]) -> float:
    return sublist.run(name, filters, topics)[0]


def call_each(call: Callable[[Any], object], topics: Iterable[Any]) -> None:
    for topic in topics:
        call(topic)


def _match_many(matcher: SubscriptionTrie, topics_of: Callable[[list[str]], Iterable[str]], topics: list[str]) -> None:
    matcher.match_many(topics_of(topics))


def split_and_get(words: dict[str, None], topics: Iterable[str]) -> None:
    for topic in topics:
        for word in topic.split("."):
            words.get(word)


BENCHMARKS = [
    Benchmark(
        name="throughput",
        title="Throughput workload, one thread: 1,000 filters, about 3 matches a message",
        operation="message",
        groups=_groups,
        baseline=LOOP,
        note="Slow matchers get every 500th message. In a list, match_many looks up each different topic once; topics"
        " from an iterator are all looked up. A cache remembers the answers to recurring topics, here to all of them.",
    )
]
