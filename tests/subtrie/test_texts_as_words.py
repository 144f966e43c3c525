"""The reference questions of a dialect take texts as well as words, and a listener that nobody would await is refused."""

from __future__ import annotations

import functools
import pickle

import pytest

from subtrie import AMQP, MQTT, NATS, Delivery, SubscriptionTrie, TopicError


def test_texts_mean_their_words() -> None:
    assert MQTT.matches("room/+", "room/12")
    assert not MQTT.matches("room/+", "hall/12")
    assert MQTT.matches("$share/g/room/+", "room/12")
    assert AMQP.matches("#", "")
    assert not MQTT.subsumes("+", "/")
    assert MQTT.subsumes("#", "/")
    assert NATS.overlaps("a.*", "*.b")
    assert not NATS.overlaps("a.*", "b.>")
    assert AMQP.matches("a.*", ("a", "b"))


def test_texts_are_checked() -> None:
    with pytest.raises(TopicError, match="inside a word"):
        MQTT.matches("room/a+", "room/12")
    with pytest.raises(TopicError, match="in a topic"):
        MQTT.matches("room/+", "room/+")


class Awaited:
    async def __call__(self, filter: str, wanted: bool) -> None: ...


async def awaited(filter: str, wanted: bool) -> None: ...


@pytest.mark.parametrize("listener", [awaited, Awaited(), functools.partial(awaited)])
def test_a_listener_that_nobody_would_await_is_refused(listener: object) -> None:
    with pytest.raises(TypeError, match="awaits"):
        SubscriptionTrie(on_interest=listener)  # type: ignore[arg-type]


def test_a_delivery_is_made_as_it_is_answered() -> None:
    trie = SubscriptionTrie(NATS)
    trie.subscribe("a.*", "ann", qos=1)
    trie.subscribe("a.b", "bob", queue="q")
    made = [Delivery("a.*", "ann", {"qos": 1}), Delivery("a.b", "bob", {"queue": "q"}, "q")]
    assert sorted(trie.deliveries("a.b"), key=lambda one: one.filter) == made
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(TypeError, match="must be a str"):
        Delivery(1, "ann")  # type: ignore[arg-type]
