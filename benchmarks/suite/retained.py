"""Retained messages: the topics of a store that a filter matches, beside a list of the same answers made in advance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product
from random import Random

from benchmarks.model import Benchmark, Contender, Group, same, timed
from subtrie import MQTT, TopicStore

PREPARED = "a prepared list"
Pairs = list[tuple[str, int]]


def _groups(quick: bool) -> Iterator[Group]:
    sizes = (20, 10, 5) if quick else (1_000, 100, 10)
    topics = [f"site{i}/room{j}/kind{k}" for i, j, k in product(*map(range, sizes))]
    Random(1).shuffle(topics)
    store = TopicStore(MQTT)
    for number, topic in enumerate(topics):
        store[topic] = number
    sites, _, kinds = sizes
    filters = [f"site{i}/+/kind{i % kinds}" for i in Random(2).sample(range(sites), sites)]
    prepared = {one: list(store.matching(one)) for one in filters}
    for one in filters[:3]:
        same(prepared[one], _naive(store, one), f"topics of {one}")
    ways: dict[str, Callable[[str], Iterable[tuple[str, int]]]] = {
        PREPARED: prepared.__getitem__,
        "TopicStore.matching": store.matching,
    }
    answers = sum(map(len, prepared.values()))
    yield [Contender(name, partial(timed, partial(_read_all, way, filters)), answers) for name, way in ways.items()]


def _naive(store: TopicStore[int], filter: str) -> Pairs:
    words = MQTT.split_filter(filter)
    return [pair for pair in store.items() if MQTT.matches(words, MQTT.split_topic(pair[0]))]


def _read_all(way: Callable[[str], Iterable[tuple[str, int]]], filters: list[str]) -> None:
    for one in filters:
        for _topic, _value in way(one):
            pass


BENCHMARKS = [
    Benchmark(
        name="retained-middle",
        title="Topics that site/+/kind matches, of 1,000,000 in a store",
        operation="answer",
        groups=_groups,
        baseline=PREPARED,
        note="1,000 x 100 x 10 topics of three words, added in random order; the list holds the pairs of the store. "
        "100 answers per filter, each in a level of its own.",
    )
]
