"""The OpenAMQ matching test: 2,000 filters, 2,000 topics, about 170 subscribers for each message."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from benchmarks.matchers import INVERTED, LOCKED, OPTIMISED, PAHO, TRIE, filled, present
from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.suite.throughput import call_each
from subtrie import SubscriptionTrie

TABLES = (
    ("gold", "oil", "pork", "chips", "bonds", "debt"),
    ("lon", "ny", "hk", "jo", "tk", "sg", "mo"),
    ("usd", "eur", "gbp", "jpy", "chy", "aud"),
    ("buy", "sell", "hold", "short", "long"),
    ("spot", "early", "late", "open", "close", "future"),
)
TOPICS = 2_000
WILD = 8 / 15
"""The probability that a filter's word is ``*``: the product of WILD + (1 - WILD) / n, for n words in a table, is
0.0858."""
ROLLED = 1 / 2
"""Chance of a filter's last wildcards to be written as one ``#``, which matches the same topics."""

Words = tuple[str, ...]


class Workload(NamedTuple):
    """Filters, topics, and for each topic the number of filters that match it, counted without any trie."""

    filters: list[str]
    topics: list[str]
    matching: list[int]


def openamq(filters: int, seed: int) -> Workload:
    """Make the workload with this many filters; the same seed makes the same workload."""
    chance = random.Random(seed)
    patterns = [
        tuple("*" if chance.random() < WILD else chance.choice(table) for table in TABLES) for _ in range(filters)
    ]
    topics = chance.sample(list(itertools.product(*TABLES)), TOPICS)
    return Workload(
        [_text(pattern, chance) for pattern in patterns],
        [".".join(topic) for topic in topics],
        matching_counts(patterns, topics),
    )


def _text(pattern: Words, chance: random.Random) -> str:
    words = list(pattern)
    if words[-1] == "*" and chance.random() < ROLLED:
        while words and words[-1] == "*":
            words.pop()
        words.append("#")
    return ".".join(words)


def matching_counts(patterns: Sequence[Words], topics: Sequence[Words]) -> list[int]:
    """The number of patterns that match each topic. All have five words, and ``*`` is the only wildcard.

    One bitmap of patterns for each position and word: a topic's matches are the AND of five.
    """
    bitmaps: dict[tuple[int, str], bytearray] = {}
    for number, pattern in enumerate(patterns):
        for cell in enumerate(pattern):
            bitmap = bitmaps.setdefault(cell, bytearray(len(patterns) // 8 + 1))
            bitmap[number // 8] |= 1 << number % 8
    sets = {cell: int.from_bytes(bitmap, "little") for cell, bitmap in bitmaps.items()}
    return [_common(sets, topic).bit_count() for topic in topics]


def _common(sets: dict[tuple[int, str], int], topic: Words) -> int:
    common = -1
    for position, word in enumerate(topic):
        common &= sets.get((position, word), 0) | sets.get((position, "*"), 0)
    return common


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
