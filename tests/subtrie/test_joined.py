"""A store joined with a trie: which stored messages subscriptions get."""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random
from time import time
from typing import Any

import pytest

from subtrie import AMQP, MQTT, NATS, Delivery, Dialect, SubscriptionTrie, TopicError, TopicStore
from subtrie._trie.queries.joining import FEW
from tests.subtrie.test_deliveries import Someone
from tests.subtrie.test_exclusions import Checked, gets
from tests.subtrie.test_members import every_dialect, filled, words_of
from tests.subtrie.test_model import in_order
from tests.threads import meanwhile


def expect(store: TopicStore[int], one: Checked, trie: SubscriptionTrie) -> None:
    """The join against the meaning, applied to each topic and subscription."""
    found: dict[str, Any] = {}
    for topic, value, deliveries in store.joined(trie):
        assert store[topic] == value
        assert topic not in found, "a topic twice"
        assert all(type(each) is Delivery for each in deliveries)
        found[topic] = in_order((each.filter, each.subscriber, each.group) for each in deliveries)
    wanted = {
        topic: in_order(
            (one.ways.filter(filter, group), who, group)
            for (filter, group, who), but in one.there.items()
            if gets(one.dialect, filter, but, topic)
        )
        for topic in store
    }
    assert found == {topic: each for topic, each in wanted.items() if each}


@every_dialect
@pytest.mark.parametrize("settings", [{}, {"cache": 8}, {"exact": True}, {"weak": True}], ids=str)
@pytest.mark.parametrize("steps", [0, 3, 25, 400])
def test_any_store_and_subscriptions(dialect: Dialect, settings: dict[str, Any], steps: int) -> None:
    """With few filters, which the store is asked for, and with more, for which it is walked."""
    draw = Random(f"{dialect.name}, {settings}, {steps}")
    one = filled(dialect, draw, steps, **settings)
    if steps == 400:
        for number in range(FEW):
            one.subscribe(dialect.join(["a", f"w{number}"]), None, number % 3 and Someone(1), ()) if not settings.get(
                "weak"
            ) else one.subscribe(dialect.join(["a", f"w{number}"]), None, _KEPT[number % 4], ())
        assert one.trie.approximate_filters() > FEW
    store = TopicStore[int](dialect, {words_of(dialect, draw, False): number for number in range(40)})
    for trie in (one.trie, one.trie.snapshot(), one.trie.fork()):
        expect(store, one, trie)
    expect(store.snapshot(), one, one.trie)
    expect(store.fork(), one, one.trie)


_KEPT = [Someone(number) for number in range(4)]


def test_merged_and_words() -> None:
    store = TopicStore(MQTT, {"site/1": "x"})
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("#", "ann", qos=0)
    trie.subscribe("site/+", "ann", qos=2)
    trie.subscribe("$share/g/site/#", "ann", qos=1)
    (_, value, deliveries), *more = store.joined(trie, merge="best")
    assert (value, more) == ("x", [])
    assert {one.group: (one.options["qos"], one.words) for one in deliveries} == {
        None: (2, ("1",)),
        "g": (1, (("1",),)),
    }


def test_all_members_of_a_group_are_named() -> None:
    store, trie = TopicStore(NATS, {"a": 1}), SubscriptionTrie(NATS)
    for number in range(3):
        trie.subscribe("a", number, queue="g")
    assert [len(deliveries) for _, _, deliveries in store.joined(trie)] == [3]


def test_values_too_old_are_left_out() -> None:
    store = TopicStore(MQTT, {"a": 1}, max_age=60)
    store.put("b", 2, time() - 61)
    trie = SubscriptionTrie(MQTT)
    trie.subscribe("#", "ann")
    assert [topic for topic, _, _ in store.joined(trie)] == ["a"]
    trie.subscribe_many([(f"x/{number}", "ann") for number in range(FEW)])
    assert [topic for topic, _, _ in store.joined(trie)] == ["a"]


def test_refusals() -> None:
    store = TopicStore(MQTT, {"a": 1})
    with pytest.raises(TypeError, match=r"joined\(\) takes a SubscriptionTrie, not TopicStore"):
        store.joined(store)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="same dialect: MQTT, not AMQP"):
        store.joined(SubscriptionTrie(AMQP))
    with pytest.raises(ValueError, match="merge"):
        store.joined(SubscriptionTrie(MQTT), merge="some")  # type: ignore[arg-type]


def test_both_are_of_one_instant_each_the_trie_first() -> None:
    """What is stored or subscribed later does not count. What is stored between the two instants does, so whoever was
    subscribed before misses nothing."""
    store = TopicStore(MQTT, {"a": 1})

    class Between(SubscriptionTrie):
        def snapshot(self) -> Any:
            taken = super().snapshot()
            store["between"] = 2
            self.subscribe("#", "too late")
            return taken

    trie = Between(MQTT)
    trie.subscribe("#", "ann")
    joined = store.joined(trie)
    store["later"] = 3
    trie.clear()
    found = [(topic, [one.subscriber for one in deliveries]) for topic, _, deliveries in joined]
    assert sorted(found) == [("a", ["ann"]), ("between", ["ann"])]


def test_weak_subscribers_are_not_kept() -> None:
    store, trie = TopicStore(MQTT, {"a": 1, "b": 2}), SubscriptionTrie(MQTT, weak=True)
    stays, goes = Someone(1), Someone(2)
    trie.subscribe("#", stays)
    trie.subscribe("#", goes)
    joined = store.joined(trie)
    del goes
    gc.collect()
    assert [[one.subscriber.name for one in deliveries] for _, _, deliveries in joined] == [[1], [1]]


def test_beside_writers() -> None:
    """A topic that is always there, and a subscription that always is, are always joined."""
    store, trie = TopicStore(MQTT, {"a/b": 0}), SubscriptionTrie(MQTT)
    trie.subscribe("a/+", 1)

    def write() -> None:
        for number in range(200):
            store["a/b"] = number
            store[f"a/{number}"] = number
            trie.subscribe(f"x/{number}", number)
            trie.subscribe("a/b", number)

    def ask() -> None:
        found = {topic: deliveries for topic, _, deliveries in store.joined(trie)}
        assert 1 in [one.subscriber for one in found["a/b"]]

    meanwhile(ask, write)


@every_dialect
@pytest.mark.parametrize("seed", range(8))
def test_matching_with_exclusions(dialect: Dialect, seed: int) -> None:
    draw = Random(f"{dialect.name}, {seed}")
    store = TopicStore[int](dialect, {words_of(dialect, draw, False): number for number in range(30)})
    for _ in range(60):
        filter = words_of(dialect, draw, True)
        but = tuple(words_of(dialect, draw, True) for _ in range(draw.randint(1, 2)))
        trie = SubscriptionTrie(dialect)
        refused = refusal(lambda: trie.subscribe(filter, 1, but=but))  # noqa: B023
        assert refusal(lambda: store.matching(filter, but=but)) == refused  # noqa: B023
        if refused is not None:
            continue
        expected = [(topic, value) for topic, value in store.items() if gets(dialect, filter, but, topic)]
        assert in_order(store.matching(filter, but=but)) == in_order(expected)
        assert in_order(store.matching(filter, but=())) == in_order(store.matching(filter))


def refusal(call: Callable[[], object]) -> Any:
    try:
        call()
    except ValueError as error:
        return type(error), str(error)
    return None


def test_exclusions_of_matching_are_checked_at_the_call() -> None:
    store = TopicStore(MQTT, {"a": 1})
    with pytest.raises(TypeError, match="but takes a tuple of filters"):
        store.matching("#", but="a")  # type: ignore[arg-type]
    with pytest.raises(TopicError):
        store.matching("#", but=("a/#/b",))
    assert list(store.matching("$share/g/#", but=("b",))) == [("a", 1)]
