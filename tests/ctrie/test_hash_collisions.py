"""Equal hashes do not mean equal objects: subscribers, values and words that have the same hash, or that are equal but of
different kinds, are compared with plain dicts.

Most subscribers here share a few hashes. Some have these by nature (`oracle.UNIVERSES`: "alike"). The same with maps and
sets is in test_stateful.py, with criteria and values of fields in tests/fields/test_stateful.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, MutableMapping
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import Ctrie
from subtrie import SubscriptionTrie, TopicStore
from tests.ctrie.oracle import UNIVERSES, told_of
from tests.tries.trie_copy import load_copy

ALIKE = [each for each in UNIVERSES["alike"].keys if each == each]
SETTINGS: list[dict[str, Any]] = [{}, {"index": True}, {"exact": True}, {"cache": 4}]


def changes_of(before: dict[Any, Any], after: dict[Any, Any]) -> set[tuple[Any, ...]]:
    kinds = [("removed", before.keys() - after.keys()), ("added", after.keys() - before.keys())]
    kinds += [("updated", {each for each in before.keys() & after.keys() if before[each] != after[each]})]
    return {(kind, *each) for kind, changed in kinds for each in changed}


def subscribe_at_random(
    kind: Any, settings: dict[str, Any], rng: Random, words: list[str], subscribers: list[Any]
) -> None:
    trie: Any = kind(**settings)
    model: dict[tuple[str, Any], dict[str, Any]] = {}
    older, before = trie.snapshot(), dict(model)
    for step in range(rng.randrange(40)):
        filter, subscriber = ".".join(rng.choices(words, k=rng.randint(1, 2))), rng.choice(subscribers)
        if step == 15:
            older, before = trie.snapshot(), dict(model)
        if rng.random() < 0.6:
            options = rng.choice([{}, {"qos": 1}])
            assert trie.subscribe(filter, subscriber, **options) == ((filter, subscriber) not in model)
            model[filter, subscriber] = options
        else:
            assert trie.unsubscribe(filter, subscriber) == ((filter, subscriber) in model)
            model.pop((filter, subscriber), None)
    for topic in product([word for word in words if word != "*"], repeat=rng.randint(1, 2)):
        wanting = {s for f, s in model if trie.dialect.matches(trie.dialect.split_filter(f), topic)}
        for found in (trie.match(".".join(topic)), trie.match(".".join(topic))):  # the second time from the cache
            assert set(found) == wanting
            assert len(found) == len(wanting)
    changes = [(change.kind, *change.subscription[:2]) for change in trie.diff(older)]
    assert len(changes) == len(set(changes))
    assert set(changes) == changes_of(before, model)
    leaver = rng.choice(subscribers)
    assert trie.unsubscribe_all(leaver) == sum(s == leaver for _, s in model)
    left = {(one.filter, one.subscriber): dict(one.options) for one in trie}
    assert left == {key: options for key, options in model.items() if key[1] != leaver}
    trie.check()
    older.check()


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@given(seed=st.integers(0, 2**32))
def test_subscribers_of_one_hash(settings: dict[str, Any], seed: int) -> None:
    subscribe_at_random(SubscriptionTrie, settings, Random(seed), ["a", "b", "*"], ALIKE)


@pytest.mark.once  # a copy of the interpreted source, whatever twin the tests run
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_words_and_subscribers_of_one_hash(settings: dict[str, Any]) -> None:
    """The hashes of three of the words agree in all bits; the hashes of two of the subscribers do, too."""
    kind = load_copy().modules["subtrie"].SubscriptionTrie  # type: ignore[attr-defined]
    for seed in range(40):
        subscribe_at_random(kind, settings, Random(seed), ["same1", "same2", "same3", "y1", "*"], ["s6", "s7", "x"])


def stored_alike(one: Any, other: Any) -> bool:
    """Equal, and stored alike, as 1 and True are not."""
    kinds = (bool, int, float, Decimal, str, bytes, tuple, type(None))
    return one == other and [isinstance(one, kind) for kind in kinds] == [isinstance(other, kind) for kind in kinds]


@given(
    steps=st.lists(st.tuples(st.sampled_from(["a", "a.b", "a.c"]), st.sampled_from(ALIKE)), max_size=10),
    looked_at=st.integers(0, 10),
)
def test_values_of_topics_that_are_alike(steps: list[tuple[str, Any]], looked_at: int) -> None:
    store: TopicStore[Any] = TopicStore()
    model: dict[str, Any] = {}
    older, before = store.snapshot(), dict(model)
    for number, (topic, value) in enumerate(steps):
        if number == looked_at:
            older, before = store.snapshot(), dict(model)
        store[topic] = model[topic] = value
    assert told_of(store.items()) == told_of(model.items())
    changed = {t for t, value in model.items() if t not in before or not stored_alike(before[t], value)}
    assert {topic for topic, _, _ in store.diff(older)} == changed
    store.check()


def seconds_to_set_and_get(make: Callable[[], MutableMapping[int, int]], keys: list[int]) -> tuple[float, float]:
    """Seconds of this thread's processor that it takes to set all keys in a new map, and to get them."""
    mapping, begun = make(), time.thread_time()
    for key in keys:
        mapping[key] = key
    set_all = time.thread_time()
    for key in keys:
        assert mapping[key] == key
    return set_all - begun, time.thread_time() - set_all


@pytest.mark.compiled
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer slows a Ctrie, and no dict")
def test_integers_of_one_hash_cost_no_more_than_the_page_on_production_says() -> None:
    """Time as a multiple of a dict's, of which docs/operating.md gives 13 to 17 and 1. A machine with other work is allowed half
    as much again."""
    keys = [number * (2**61 - 1) for number in range(1, 2_001)]
    assert len({hash(key) for key in keys}) == 1
    of_dict, of_trie = (
        [min(each) for each in zip(*[seconds_to_set_and_get(make, keys) for _ in range(3)], strict=True)]
        for make in (dict[int, int], Ctrie[int, int])
    )
    assert of_trie[0] < 1.5 * 17 * of_dict[0]
    assert of_trie[1] < 1.5 * of_dict[1]
