"""Deliveries: the cost of options, of filters and of each client once, beside the names alone; and of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from benchmarks.matchers import PAHO, TRIE, filled, present
from benchmarks.model import Benchmark, Contender, Group, same, timed
from benchmarks.suite.throughput import call_each
from benchmarks.workloads import growing_filters, throughput_filters, throughput_topics
from subtrie import SubscriptionTrie

BASELINE = "SubscriptionTrie.match"
ONE_BY_ONE = "match one by one"


def _groups(quick: bool) -> Iterator[Group]:
    filters = throughput_filters(count=100 if quick else 1_000)
    topics = throughput_topics(filters, 2_000 if quick else 50_000)
    trie = SubscriptionTrie()
    for number, filter in enumerate(filters):
        trie.subscribe(filter, number, qos=number % 3)
    for topic in topics[:200]:
        same(trie.match(topic), [one.subscriber for one in trie.deliveries(topic)], "deliveries")
    ways: dict[str, Callable[[str], Any]] = {
        BASELINE: trie.match,
        "deliveries": trie.deliveries,
        "deliveries, each one's options": lambda topic: [one.options for one in trie.deliveries(topic)],
        "deliveries, merge='one'": partial(trie.deliveries, merge="one"),
        "deliveries, merge='best'": partial(trie.deliveries, merge="best"),
        "entries, read in a loop": partial(_read, trie.entries),
        "list(entries)": lambda topic: list(trie.entries(topic)),
        "list(match)": lambda topic: list(trie.match(topic)),
        "match, read in a loop": partial(_read, trie.match),
        "match_iter, read in a loop": partial(_read, trie.match_iter),
        "list(iter(match))": lambda topic: list(iter(trie.match(topic))),
        "list(match_iter)": lambda topic: list(trie.match_iter(topic)),
        "next(match_iter)": lambda topic: next(trie.match_iter(topic)),
    }
    group = [
        Contender(name, partial(timed, partial(call_each, way, topics)), len(topics)) for name, way in ways.items()
    ]
    for entrant in present([PAHO]):
        matcher = filled(entrant, filters)
        own = entrant.texts(topics[::10])
        group.append(Contender(entrant.name, partial(timed, partial(call_each, matcher.match, own)), len(own)))
    yield group


def _read(way: Callable[[str], Iterable[Any]], topic: str) -> None:
    for _ in way(topic):
        pass


def _batches(quick: bool) -> Iterator[Group]:
    for size in (1_000, 30_000) if quick else (1_000, 10_000, 30_000, 100_000, 1_000_000, 10_000_000):
        filters = list(growing_filters(size, words=max(6, round(size**0.25))))
        trie = filled(TRIE, filters)
        step = max(1, size // 30_000)
        topics = [filter.replace("*", "w1") for filter in filters[::step]]
        for many, each in ((trie.match_many, trie.match), (trie.deliveries_many, trie.deliveries)):
            for one, found in zip(map(each, topics[:500]), many(topics[:500]), strict=True):
                same(map(repr, one), map(repr, found), "a batch")
        ways: dict[str, Callable[[], object]] = {
            ONE_BY_ONE: partial(call_each, trie.match, topics),
            "match one by one, all answers kept": partial(_kept, trie.match, topics),
            "match_many": partial(trie.match_many, topics),
            "deliveries one by one": partial(call_each, trie.deliveries, topics),
            "deliveries one by one, all answers kept": partial(_kept, trie.deliveries, topics),
            "deliveries_many": partial(trie.deliveries_many, topics),
        }
        yield [Contender(name, partial(timed, work), len(topics), size) for name, work in ways.items()]


def _kept(match: Callable[[str], Any], topics: list[str]) -> list[Any]:
    return [match(topic) for topic in topics]


BENCHMARKS = [
    Benchmark(
        name="deliveries",
        title="Deliveries: options, filters and each client once, among 1,000 filters with one option each",
        operation="message",
        groups=_groups,
        baseline=BASELINE,
        note="The throughput workload, about 3 matches per message. Making a list takes longer from an iterator than "
        "from a tuple: `list(iter(match))` is a lower bound for `list(match_iter)`.",
    ),
    Benchmark(
        name="batches",
        title="Many topics at once: how much of the wait for memory a batch hides",
        operation="topic",
        groups=_batches,
        baseline=ONE_BY_ONE,
        x_label="filters",
        plot="growth",
        note="30,000 different topics in random order; filters of five words, a tenth of them with a wildcard.",
    ),
]
