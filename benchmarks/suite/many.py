"""Many at once: keys and members looked up, and maps, sets and tries filled, compared with one by one."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.model import Benchmark, Contender, Group, check, timed
from benchmarks.workloads import growing_filters
from ctrie import Ctrie, CtrieSet
from subtrie import SubscriptionTrie

SIZES = (1_000, 100_000, 1_000_000)
MOST_ASKED = 100_000
GET = "dict.get, one by one"
ONE_BY_ONE = "Ctrie, m[k] = v one by one"
SUBSCRIBE = "SubscriptionTrie.subscribe, one by one"


def _keys(size: int) -> list[str]:
    return [f"key-{number * 2_654_435_761 % 2**32:x}" for number in range(size)]


def _lookups(quick: bool) -> Iterator[Group]:
    for size in (100,) if quick else SIZES:
        keys = _keys(size)
        known = {key: number for number, key in enumerate(keys)}
        m, members, ordinary = Ctrie(known), CtrieSet(keys), set(keys)
        asked = random.Random(1).sample(keys, min(size, MOST_ASKED))
        check(m.get_many(asked) == [known[key] for key in asked], "get_many")
        check(all(members.contains_many(asked)), "contains_many")
        ways: dict[str, Callable[[], Any]] = {
            GET: partial(_each, known.get, asked),
            "Ctrie.get, one by one": partial(_each, m.get, asked),
            "Ctrie.get_many": partial(m.get_many, asked),
            "in a set, one by one": partial(_in_each, ordinary, asked),
            "in a CtrieSet, one by one": partial(_in_each, members, asked),
            "CtrieSet.contains_many": partial(members.contains_many, asked),
        }
        yield [Contender(name, partial(timed, way), len(asked), size) for name, way in ways.items()]


def _each(call: Callable[[Any], Any], keys: list[str]) -> list[Any]:
    return [call(key) for key in keys]


def _in_each(members: Any, keys: list[str]) -> list[bool]:
    return [key in members for key in keys]


def _filling(quick: bool) -> Iterator[Group]:
    for size in (100,) if quick else (100_000, 1_000_000):
        known = {key: number for number, key in enumerate(_keys(size))}
        pairs = list(known.items())
        lists = {key: [number] for key, number in pairs}
        ways: dict[str, Callable[[], Any]] = {
            ONE_BY_ONE: partial(_stored, Ctrie, pairs),
            "the same without the collector": partial(_without_collector, partial(_stored, Ctrie, pairs)),
            "Ctrie(dict)": partial(Ctrie, known),
            "Ctrie(pairs)": partial(Ctrie, pairs),
            "CtrieSet.add, one by one": partial(_added, known),
            "CtrieSet(keys)": partial(CtrieSet, known),
            "dict, d[k] = v one by one": partial(_stored, dict, pairs),
            "Ctrie, lists as values, one by one": partial(_stored, Ctrie, list(lists.items())),
            "Ctrie(dict), lists as values": partial(Ctrie, lists),
        }
        yield [Contender(name, partial(timed, way), size, size) for name, way in ways.items()]


def _stored(make: Callable[[], Any], pairs: list[tuple[str, Any]]) -> Any:
    m = make()
    for key, value in pairs:
        m[key] = value
    return m


def _added(keys: dict[str, int]) -> CtrieSet[str]:
    members: CtrieSet[str] = CtrieSet()
    for key in keys:
        members.add(key)
    return members


def _without_collector(work: Callable[[], Any]) -> Any:
    was_on = gc.isenabled()
    gc.disable()
    try:
        return work()
    finally:
        if was_on:
            gc.enable()


def _subscribing(quick: bool) -> Iterator[Group]:
    for size in (100,) if quick else (100_000, 1_000_000):
        rows = [(filter, number) for number, filter in enumerate(growing_filters(size))]
        filled = SubscriptionTrie[Any]()
        check(filled.subscribe_many(rows) == size, "subscribe_many")
        check(filled.stats() == _subscribed(rows).stats(), "nodes of subscribe_many")
        del filled
        ways: dict[str, Callable[[], Any]] = {
            SUBSCRIBE: partial(_subscribed, rows),
            "SubscriptionTrie.subscribe_many": lambda rows=rows: SubscriptionTrie().subscribe_many(rows),  # type: ignore[misc]
        }
        yield [Contender(name, partial(timed, way), size, size) for name, way in ways.items()]


def _subscribed(rows: list[tuple[str, int]]) -> SubscriptionTrie[Any]:
    trie: SubscriptionTrie[Any] = SubscriptionTrie()
    for filter, subscriber in rows:
        trie.subscribe(filter, subscriber)
    return trie


BENCHMARKS = [
    Benchmark(
        name="lookups",
        title="Many keys at once: get_many and contains_many, by the number of keys",
        operation="key",
        groups=_lookups,
        baseline=GET,
        x_label="keys",
        plot="growth",
        note="Up to 100,000 different texts in random order; all answers are kept in a list.",
    ),
    Benchmark(
        name="filling",
        title="Filling a map or a set at once",
        operation="key",
        groups=_filling,
        baseline=ONE_BY_ONE,
        x_label="keys",
        plot="growth",
        repeats=5,
        note="On free-threaded interpreters the collector is off throughout.",
    ),
    Benchmark(
        name="subscribe-many",
        title="Subscribing to many filters at once, into an empty trie",
        operation="subscribe",
        groups=_subscribing,
        baseline=SUBSCRIBE,
        x_label="filters",
        plot="growth",
        repeats=3,
        note="Filters of five words in random order, every tenth with a wildcard.",
    ),
]
