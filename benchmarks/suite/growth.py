"""Growth: the cost of a match as the number of filters, of words at a level, or of subscribers of a filter grows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

from benchmarks.matchers import INVERTED, LOCKED, NAIVE, OPTIMISED, PAHO, TRIE, filled, present
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.suite.throughput import call_each
from benchmarks.workloads import LATENCY_FILTER, LATENCY_TOPIC, growing_filters, long_filters

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
LARGEST = {TRIE: SIZES[-1], PAHO: 1_000_000, LOCKED: 1_000_000, OPTIMISED: 100_000, INVERTED: 10_000, NAIVE: 100_000}
"""The largest size for each: with more, it takes too much memory or time."""
PROBE = "dict.get of the whole topic"
MATCHES = 20_000
TOPICS = {NAIVE: 20, INVERTED: 200}
"""The number of different topics, for those that take long to match a topic or to learn it."""


def _groups(quick: bool) -> Iterator[Group]:
    sizes = (100, 1_000) if quick else SIZES
    group: Group = []
    for size in sizes:
        numbers = _sample(size)
        filters = list(growing_filters(size))
        topics = [filters[number].replace("*", "w7") for number in numbers]
        group.append(_contender(PROBE, dict.fromkeys(filters).get, topics, size))
        for entrant in present([entrant for entrant, largest in LARGEST.items() if size <= largest]):
            matcher = filled(entrant, filters)
            own = entrant.texts(topics[: TOPICS.get(entrant, MATCHES)])
            if entrant is INVERTED:
                own *= MATCHES // len(own)
            for number, topic in zip(numbers[: TOPICS.get(entrant, 500)], own, strict=False):
                check(number in matcher.match(topic), f"{entrant.name} at {size:,}: {topic}")
            group.append(_contender(entrant.name, matcher.match, own, size))
        group.append(_one_topic(size))
        if size <= 1_000_000:
            group += _wide(size, numbers)
    yield group


def _sample(size: int) -> list[int]:
    """Choose which of so many filters are matched."""
    return random.Random(size).choices(range(size), k=MATCHES)


def _one_topic(size: int) -> Contender:
    """Return a match of one topic again and again: the cost of more steps that read only the processor's cache."""
    trie = filled(TRIE, chain([LATENCY_FILTER], long_filters(size - 1)))
    check(trie.match(LATENCY_TOPIC) == (0,), f"the latency workload at {size:,}")
    return _contender(f"{TRIE.name}: latency workload, one topic", trie.match, [LATENCY_TOPIC] * MATCHES, size)


def _wide(size: int, numbers: Sequence[int]) -> Iterator[Contender]:
    """Yield a trie with that many words on one level, and one with that many subscribers on one filter."""
    level = filled(TRIE, (f"top.word{number}" for number in range(size)))
    topics = [f"top.word{number}" for number in numbers]
    check(all(level.match(topics[i]) == (numbers[i],) for i in range(100)), f"a level of {size:,} words")
    yield _contender(f"{TRIE.name}: one level of so many words", level.match, topics, size)
    fan = filled(TRIE, ("one.filter" for _ in range(size)))
    check(len(fan.match("one.filter")) == size, f"{size:,} subscribers of one filter")
    calls = ["one.filter"] * MATCHES
    yield _contender(f"{TRIE.name}: so many subscribers of one filter, has_match", fan.has_match, calls, size)


def _contender(series: str, call: Callable[[str], Any], topics: Sequence[str], size: int) -> Contender:
    return Contender(series, partial(timed, partial(call_each, call, topics)), len(topics), size)


BENCHMARKS = [
    Benchmark(
        name="growth",
        title="Cost of a match that hits, by the number of filters",
        operation="match",
        groups=_groups,
        x_label="filters, words or subscribers",
        plot="growth",
        note=(
            "Filters of five words, 100 different words at each level, every 10th filter with a wildcard. 20,000 topics"
            " in random order, but the same 200 for the inverted bitmap, which has to know them, and the same 20 for"
            " the naive matcher. One probe of a dict, which finds only literal filters, shows how much of the growth is"
            " due to memory. The latency workload, one topic again and again among filters of long random words, shows"
            " how much is due to the trie."
        ),
    )
]
