"""Equal hashes do not mean equal objects: subscribers, values, criteria, words and keys that have the same hash, or
that are equal but of different kinds, are compared with plain dicts and lists.

Most objects here share a few hashes. Some have these by nature: 0, "", b"", False and 2**61 - 1 have the hash 0; -1 and
-2 have the hash -2; "a" and b"a" have the same hash; 1, True, 1.0 and Decimal(1) are even equal. Other objects have a
type that defines the hash.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, MutableMapping
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctrie import Ctrie, CtrieSet
from subtrie import SubscriptionTrie, TopicStore
from subtrie.fields import (
    Absent,
    AtLeast,
    AtMost,
    Criterion,
    Equals,
    FieldMatcher,
    FieldSubscription,
    NotIn,
    OneOf,
    Prefix,
    Present,
    RoutingMatcher,
)
from tests.tries.trie_copy import load_copy


class Text(str):
    """A text with the hash of 0."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 0


class Number(int):
    """A number with the hash of 0."""

    def __hash__(self) -> int:
        return 0


class Bound(str):
    """A text with a type of its own."""

    __slots__ = ()


ALIKE: list[Hashable] = [
    0, "", b"", False, 2**61 - 1, Decimal(0), (), Text("x"), Text("y"), Text("z"), Number(7), Number(8),
    -1, -2, Decimal(-2), 1, True, 1.0, Decimal(1), 2**61, "a", b"a", None,
]  # fmt: skip
things = st.sampled_from(ALIKE)
topics = st.sampled_from(["a", "a.b", "a.c"])
filters = st.sampled_from(["a", "a.b", "a.*", "#", "*.b"])
names = st.sampled_from("fg")
bounds = st.sampled_from([-1, -2, 0, False, 1, True, 1.0, Decimal(1), 2**61 - 1])
texts = st.sampled_from(["", "a", b"", b"a"])
criteria: st.SearchStrategy[Criterion] = st.one_of(
    st.builds(Equals, names, things),
    st.builds(Equals, names, things),
    st.builds(OneOf, names, st.lists(things, min_size=1, max_size=3)),
    st.builds(NotIn, names, st.lists(things, max_size=3)),
    st.builds(AtLeast, names, bounds),
    st.builds(AtMost, names, bounds),
    st.builds(AtLeast, names, texts),
    st.builds(Prefix, names, texts),
    st.builds(Present, names),
    st.builds(Absent, names),
)
asked = st.lists(criteria, min_size=1, max_size=2)
some_options = st.sampled_from([{}, {}, {"qos": 0}, {"qos": 1}])
messages = st.dictionaries(names, things)


def meets(criterion: Criterion, message: dict[str, Any]) -> bool:
    if isinstance(criterion, Absent):
        return criterion.name not in message
    return criterion.name in message and criterion.holds(message[criterion.name])


def told(found: Any) -> list[str]:
    """The answers in a form that ignores their order, and that tells equal objects of different kinds apart."""
    return sorted(map(repr, found))


def changes_of(before: dict[Any, Any], after: dict[Any, Any]) -> set[tuple[str, Any]]:
    kinds = [("removed", before.keys() - after.keys()), ("added", after.keys() - before.keys())]
    kinds += [("updated", {each for each in before.keys() & after.keys() if before[each] != after[each]})]
    return {(kind, each) for kind, changed in kinds for each in changed}


@given(
    steps=st.lists(st.tuples(st.sampled_from("+++-"), asked, things, some_options), max_size=14),
    asked_for=st.lists(messages, min_size=1, max_size=3),
    looked_at=st.integers(0, 14),
    counted=st.booleans(),
    leaver=things,
)
def test_field_matcher(
    steps: list[tuple[str, list[Criterion], Any, dict[str, Any]]],
    asked_for: list[dict[str, Any]],
    looked_at: int,
    counted: bool,
    leaver: Any,
) -> None:
    matcher = FieldMatcher()
    model: dict[tuple[frozenset[Criterion], Any], dict[str, Any]] = {}
    older, before = matcher.snapshot(), dict(model)
    for number, (kind, criteria, subscriber, options) in enumerate(steps):
        key = frozenset(criteria), subscriber
        if number == looked_at:
            older, before = matcher.snapshot(), dict(model)
            if counted:
                matcher.hits({})
        if kind == "+":
            assert matcher.subscribe(criteria, subscriber, **options) == (key not in model)
            model[key] = options
        else:
            assert matcher.unsubscribe(criteria, subscriber) == (key in model)
            model.pop(key, None)
        assert ((criteria, subscriber) in matcher) == (key in model)
        matcher.check()
    for message in asked_for:
        complete = [(c, s) for c, s in model if all(meets(each, message) for each in c)]
        assert set(matcher.match_all(message)) == {s for _, s in complete}
        assert len(matcher.match_all(message)) == len({s for _, s in complete})
        assert len(matcher.deliveries(message)) == len(complete)
        hits = {FieldSubscription(*key): sum(meets(each, message) for each in key[0]) for key in model}
        counts = {(s.criteria, s.subscriber): count for s, count in matcher.hits(message).items()}
        assert counts == {(s.criteria, s.subscriber): count for s, count in hits.items() if count}
    changes = [(c.kind, (c.subscription.criteria, c.subscription.subscriber)) for c in matcher.diff(older)]
    assert len(changes) == len(set(changes))
    assert set(changes) == changes_of(before, model)
    assert matcher.unsubscribe_all(leaver) == sum(key[1] == leaver for key in model)
    model = {key: value for key, value in model.items() if key[1] != leaver}
    assert {(s.criteria, s.subscriber): dict(s.options) for s in matcher} == model
    matcher.check()
    older.check()


@given(
    steps=st.lists(st.tuples(st.sampled_from("++-"), filters, asked, things, some_options), max_size=12),
    asked_for=st.lists(st.tuples(topics, messages), min_size=1, max_size=3),
    looked_at=st.integers(0, 12),
)
def test_routing_matcher(
    steps: list[tuple[str, str, list[Criterion], Any, dict[str, Any]]],
    asked_for: list[tuple[str, dict[str, Any]]],
    looked_at: int,
) -> None:
    matcher = RoutingMatcher()
    dialect = matcher.dialect
    model: dict[tuple[str, frozenset[Criterion], Any], dict[str, Any]] = {}
    older, before = matcher.snapshot(), dict(model)
    for number, (kind, filter, criteria, subscriber, options) in enumerate(steps):
        key = filter, frozenset(criteria), subscriber
        if number == looked_at:
            older, before = matcher.snapshot(), dict(model)
        if kind == "+":
            assert matcher.subscribe(filter, criteria, subscriber, **options) == (key not in model)
            model[key] = options
        else:
            assert matcher.unsubscribe(filter, criteria, subscriber) == (key in model)
            model.pop(key, None)
        matcher.check()
    for topic, message in asked_for:
        words = dialect.split_topic(topic)
        wanting = {
            s
            for f, c, s in model
            if dialect.matches(dialect.split_filter(f), words) and all(meets(each, message) for each in c)
        }
        assert set(matcher.match(topic, message)) == wanting
        assert len(matcher.match(topic, message)) == len(wanting)
    changes = [(c.kind, tuple(c.subscription[:3])) for c in matcher.diff(older)]
    assert len(changes) == len(set(changes))
    assert set(changes) == changes_of(before, model)
    assert {tuple(route[:3]): dict(route.options) for route in matcher} == model


@pytest.mark.parametrize("settings", [{}, {"index": True}, {"exact": True}, {"cache": 4}], ids=str)
@given(data=st.data())
def test_subscription_trie(settings: dict[str, Any], data: st.DataObject) -> None:
    steps = data.draw(st.lists(st.tuples(st.sampled_from("++-"), filters, things, some_options), max_size=20))
    looked_at, leaver = data.draw(st.integers(0, 20)), data.draw(things)
    trie: Any = SubscriptionTrie(**settings)
    dialect = trie.dialect
    model: dict[tuple[str, Any], dict[str, Any]] = {}
    older, before = trie.snapshot(), dict(model)
    for number, (kind, filter, subscriber, options) in enumerate(steps):
        if number == looked_at:
            older, before = trie.snapshot(), dict(model)
        if kind == "+":
            assert trie.subscribe(filter, subscriber, **options) == ((filter, subscriber) not in model)
            model[filter, subscriber] = options
        else:
            assert trie.unsubscribe(filter, subscriber) == ((filter, subscriber) in model)
            model.pop((filter, subscriber), None)
        assert set(trie.filters(subscriber)) == {f for f, s in model if s == subscriber}
    for topic in ("a", "a.b", "a.c"):
        words = dialect.split_topic(topic)
        wanting = [(f, s) for f, s in model if dialect.matches(dialect.split_filter(f), words)]
        for _ in range(2):
            assert set(trie.match(topic)) == {s for _, s in wanting}
            assert len(trie.match(topic)) == len({s for _, s in wanting})
        assert len(trie.deliveries(topic)) == len(wanting)
    changes = [(c.kind, (c.subscription.filter, c.subscription.subscriber)) for c in trie.diff(older)]
    assert len(changes) == len(set(changes))
    assert set(changes) == changes_of(before, model)
    built: Any = SubscriptionTrie(**settings)
    assert built.subscribe_many([(*key, value) for key, value in model.items()]) == len(model)
    assert told((s.filter, s.subscriber) for s in built) == told((s.filter, s.subscriber) for s in trie)
    assert trie.unsubscribe_all(leaver) == sum(s == leaver for _, s in model)
    model = {key: value for key, value in model.items() if key[1] != leaver}
    assert {(s.filter, s.subscriber): dict(s.options) for s in trie} == model
    trie.check()
    built.check()
    older.check()


@given(steps=st.lists(st.tuples(st.booleans(), things, things), max_size=30), many=st.booleans())
def test_map_and_set(steps: list[tuple[bool, Any, Any]], many: bool) -> None:
    model: dict[Any, Any] = {}
    trie: Ctrie[Any, Any] = Ctrie()
    members: CtrieSet[Any] = CtrieSet()
    for puts, key, value in steps:
        if puts:
            trie[key] = model[key] = value
            members.add(key)
        else:
            assert trie.pop(key, "nothing") == model.pop(key, "nothing")
            members.discard(key)
        assert trie.replace_if(key, value, value) == (key in model and model[key] == value)
    assert dict(trie.items()) == model
    assert set(members) == model.keys()
    assert trie.get_many(ALIKE, "nothing") == [model.get(key, "nothing") for key in ALIKE]
    assert members.contains_many(ALIKE) == [key in model for key in ALIKE]
    assert dict(Ctrie(model).items()) == model
    trie.check()
    members.check()


@given(steps=st.lists(st.tuples(topics, things), max_size=10), looked_at=st.integers(0, 10))
def test_topic_store(steps: list[tuple[str, Any]], looked_at: int) -> None:
    store: TopicStore[Any] = TopicStore()
    model: dict[str, Any] = {}
    older, before = store.snapshot(), dict(model)
    for number, (topic, value) in enumerate(steps):
        if number == looked_at:
            older, before = store.snapshot(), dict(model)
        store[topic] = model[topic] = value
    assert dict(store.items()) == model
    changed = {topic for topic, _, _ in store.diff(older)}
    assert changed == {
        topic for topic, value in model.items() if topic not in before or not alike(before[topic], value)
    }
    store.check()


def alike(one: Any, other: Any) -> bool:
    """Equal, and stored alike, as 1 and True are not."""
    kinds = (bool, int, float, Decimal, str, bytes, tuple, type(None))
    return one == other and [isinstance(one, kind) for kind in kinds] == [isinstance(other, kind) for kind in kinds]


@pytest.mark.parametrize("first", [0, 1])
def test_a_range_to_a_bound_of_another_type_is_another_range(first: int) -> None:
    """A text of a user's own type may compare in a way of its own, so its range is filed elsewhere than a text's."""
    criteria = [[AtLeast("f", Bound("m"))], [AtLeast("f", "m")]]
    matcher = FieldMatcher()
    matcher.hits({})
    for number in (first, 1 - first):
        assert matcher.subscribe(criteria[number], "me")
        matcher.check()
    assert len(matcher) == 2
    assert {c.subscription.criteria for c in matcher.diff(FieldMatcher())} == set(map(frozenset, criteria))
    for number in (first, 1 - first):
        assert matcher.unsubscribe(criteria[number], "me")
        matcher.check()
    assert not matcher


@pytest.mark.once  # a copy of the interpreted source, whatever twin the tests run
@pytest.mark.parametrize("settings", [{}, {"index": True}, {"exact": True}, {"cache": 4}], ids=str)
def test_words_and_subscribers_of_one_hash(settings: dict[str, Any]) -> None:
    """The hashes of three of the words agree in all bits; the hashes of two of the subscribers do, too."""
    subtrie: Any = load_copy().modules["subtrie"]
    rng = Random(f"words/{settings}")
    words, subscribers = ["same1", "same2", "same3", "y1", "*"], ["s6", "s7", "x"]
    for _ in range(40):
        trie: Any = subtrie.SubscriptionTrie(**settings)
        model: dict[tuple[str, str], dict[str, int]] = {}
        older, before = trie.snapshot(), dict(model)
        for step in range(40):
            filter, subscriber = ".".join(rng.choices(words, k=rng.randint(1, 2))), rng.choice(subscribers)
            if step == 20:
                older, before = trie.snapshot(), dict(model)
            if rng.random() < 0.6:
                options = rng.choice([{}, {"qos": 1}])
                assert trie.subscribe(filter, subscriber, **options) == ((filter, subscriber) not in model)
                model[filter, subscriber] = options
            else:
                assert trie.unsubscribe(filter, subscriber) == ((filter, subscriber) in model)
                model.pop((filter, subscriber), None)
        for topic in product(words[:4], words[:4]):
            wanting = {s for f, s in model if trie.dialect.matches(trie.dialect.split_filter(f), topic)}
            assert sorted(trie.match(".".join(topic))) == sorted(wanting)
        changes = [(c.kind, (c.subscription.filter, c.subscription.subscriber)) for c in trie.diff(older)]
        assert len(changes) == len(set(changes))
        assert set(changes) == changes_of(before, model)
        trie.check()
        assert trie.unsubscribe_all("s6") == sum(subscriber == "s6" for _, subscriber in model)
        assert {(s.filter, s.subscriber) for s in trie} == {key for key in model if key[1] != "s6"}
        trie.check()


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
def test_integers_of_one_hash_cost_no_more_than_the_page_on_limits_says() -> None:
    """Time as a multiple of a dict's, of which the page gives 13 to 17 and 1. A machine with other work is allowed half
    as much again."""
    keys = [number * (2**61 - 1) for number in range(1, 2_001)]
    assert len({hash(key) for key in keys}) == 1
    of_dict, of_trie = (
        [min(each) for each in zip(*[seconds_to_set_and_get(make, keys) for _ in range(3)], strict=True)]
        for make in (dict[int, int], Ctrie[int, int])
    )
    assert of_trie[0] < 1.5 * 17 * of_dict[0]
    assert of_trie[1] < 1.5 * of_dict[1]
