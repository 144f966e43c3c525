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


def _groups(filters_of: Callable[[int, int, int], list[str]], quick: bool) -> Iterator[Group]:
    sizes = (20, 10, 5) if quick else (1_000, 100, 10)
    topics = [f"site{i}/room{j}/kind{k}" for i, j, k in product(*map(range, sizes))]
    Random(1).shuffle(topics)
    store = TopicStore(MQTT)
    for number, topic in enumerate(topics):
        store[topic] = number
    filters = filters_of(*sizes)
    prepared = {one: list(store.matching(one)) for one in filters}
    for one in filters[:3]:
        same(prepared[one], _naive(store, one), f"topics of {one}")
    ways: dict[str, Callable[[str], Iterable[tuple[str, int]]]] = {
        PREPARED: prepared.__getitem__,
        "TopicStore.matching": store.matching,
    }
    answers = sum(map(len, prepared.values()))
    yield [Contender(name, partial(timed, partial(_read_all, way, filters)), answers) for name, way in ways.items()]


def _at_the_end(sites: int, rooms: int, kinds: int) -> list[str]:
    return [f"site{i}/#" for i in Random(2).sample(range(sites), min(sites, 200))]


def _in_the_middle(sites: int, rooms: int, kinds: int) -> list[str]:
    return [f"site{i}/+/kind{i % kinds}" for i in Random(2).sample(range(sites), sites)]


def _at_the_start(sites: int, rooms: int, kinds: int) -> list[str]:
    pairs = [*product(range(rooms), range(kinds))]
    return [f"+/room{j}/kind{k}" for j, k in Random(2).sample(pairs, min(len(pairs), 100))]


def _naive(store: TopicStore[int], filter: str) -> Pairs:
    words = MQTT.split_filter(filter)
    return [pair for pair in store.items() if MQTT.matches(words, MQTT.split_topic(pair[0]))]


def _read_all(way: Callable[[str], Iterable[tuple[str, int]]], filters: list[str]) -> None:
    for one in filters:
        for _topic, _value in way(one):
            pass


BENCHMARKS = [
    Benchmark(
        name=name,
        title=f"Topics that {shape} matches, of 1,000,000 in a store",
        operation="answer",
        groups=partial(_groups, filters_of),
        baseline=PREPARED,
        note="1,000 x 100 x 10 topics of three words, added in random order; the list holds the pairs of the store. "
        + note,
    )
    for name, shape, filters_of, note in (
        ("retained-end", "site/#", _at_the_end, "1,000 answers per filter, all below one node."),
        ("retained-middle", "site/+/kind", _in_the_middle, "100 answers per filter, each in a level of its own."),
        (
            "retained-start",
            "+/room/kind",
            _at_the_start,
            "1,000 answers per filter, each in another part of the store: ten nodes per answer, fetched side by side.",
        ),
    )
]
