"""The reference questions of a dialect take texts as well as words, and a listener that nobody would await is refused."""

from __future__ import annotations

import functools

import pytest

from subtrie import AMQP, MQTT, NATS, SubscriptionTrie, TopicError


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
