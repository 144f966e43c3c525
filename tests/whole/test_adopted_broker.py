"""The adopted broker (examples/amqtt_on_a_trie.py): its deliveries equal amqtt's, and the claims of its page hold."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from unittest.mock import AsyncMock

import pytest

pytest.importorskip("amqtt", reason="amqtt is not installed (pip install amqtt)")

from amqtt.broker import Broker, BrokerContext
from amqtt.client import MQTTClient
from amqtt.mqtt.constants import QOS_0, QOS_1
from amqtt.session import Session

from examples.amqtt_on_a_trie import MQTT_3, REFUSED, TrieBroker
from subtrie import SubscriptionTrie
from tests.brokers.amqtt import AS_IT_COMES, ON_A_TRIE, clients
from tests.brokers.server import free_port

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::DeprecationWarning:amqtt")]

NAMED = {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": False}}  # any client that gives a name


@pytest.mark.parametrize("kind", [AS_IT_COMES, ON_A_TRIE])
def test_messages_reach_whom_the_rules_of_mqtt_3_name(kind: str) -> None:
    chance = random.Random(31)
    words = ["a", "b", "", "$share"]
    filters = ["/".join(chance.choices([*words, "+"], k=chance.randrange(1, 4))) for _ in range(60)]
    filters = [one for one in filters if one] + ["#", "+/#", "a/#", "a/+/#", "$share/a/b"]
    subscriptions = list({(filter, number % 7) for number, filter in enumerate(filters)})
    topics = ["/".join(chance.choices(words[:3], k=chance.randrange(1, 5))) for _ in range(80)]
    topics = [topic for topic in topics if topic]
    trie: SubscriptionTrie[int] = SubscriptionTrie(MQTT_3)
    trie.subscribe_many(subscriptions)
    answers = [sorted(one.subscriber for one in trie.deliveries(topic)) for topic in topics]
    expected = Counter(subscriber for answer in answers for subscriber in answer)
    with clients(kind, subscriptions) as real:
        delivered = real.deliveries(topics, expected)
    assert [sorted(who) for who in delivered] == answers
    trie.check()


Test = Callable[[Broker, str], Awaitable[None]]


def with_broker(test: Test, kind: type[Broker] = TrieBroker) -> None:
    """Run a test with a broker in this process, and with the broker's address."""

    async def run() -> None:
        port = free_port()
        configuration = {"listeners": {"default": {"type": "tcp", "bind": f"127.0.0.1:{port}"}}, "plugins": NAMED}
        broker = kind(configuration)
        await broker.start()
        try:
            await test(broker, f"mqtt://name@127.0.0.1:{port}/")
            if isinstance(broker, TrieBroker):
                broker.routes.check()
                broker._retained_messages.check()
        finally:
            await broker.shutdown()

    asyncio.run(asyncio.wait_for(run(), 60))


def adopted(test: Test) -> Callable[[], None]:
    """The same as a test of pytest's, of the adopted broker."""
    return lambda: with_broker(test)


async def connected(address: str, name: str, *, clean: bool = True) -> MQTTClient:
    client = MQTTClient(client_id=name, config={"auto_reconnect": False})
    await client.connect(address, cleansession=clean)
    return client


async def received(client: MQTTClient) -> tuple[str, bytes]:
    message = await client.deliver_message(timeout_duration=20)
    assert message is not None
    return message.topic, bytes(message.data)


@adopted
async def test_messages_are_kept_for_who_subscribes_and_for_who_is_away(broker: Broker, address: str) -> None:
    publisher, reader = await connected(address, "publisher"), await connected(address, "reader", clean=False)
    for topic, data in (("a/b", b"1"), ("a/c", b"2"), ("d", b"3"), ("a/c", b""), ("a/c", b"4")):
        await publisher.publish(topic, data, QOS_1, retain=True)
    assert await reader.subscribe([("a/+", QOS_1), ("b", QOS_0)]) == [QOS_1, QOS_0]
    assert sorted([await received(reader), await received(reader)]) == [("a/b", b"1"), ("a/c", b"4")]
    assert sorted(broker.retained_messages) == ["a/b", "a/c", "d"]
    await reader.disconnect()
    session = broker.sessions["reader"][0]
    while session.transitions.state == "connected":
        await asyncio.sleep(0)
    await publisher.publish("b", b"lost", QOS_1)
    await publisher.publish("a/1", b"kept", QOS_1)
    while not session.retained_messages.qsize():
        await asyncio.sleep(0)
    await reader.connect(address, cleansession=False)
    assert await received(reader) == ("a/1", b"kept")
    for client in (reader, publisher):
        await client.disconnect()


@adopted
async def test_subscriptions_come_and_go(broker: Broker, address: str) -> None:
    """What is no filter is refused, the first quality stays, and plugins see the table and subscribe clients."""
    assert isinstance(broker, TrieBroker)
    reader, context = await connected(address, "reader"), BrokerContext(broker)
    asked = [("a", QOS_1), ("a", QOS_0), ("a/#/b", QOS_0), ("a+", QOS_0), ("$share/g/a", QOS_0), ("b/#", QOS_1)]
    assert await reader.subscribe(asked) == [1, 0, REFUSED, REFUSED, 0, 1]
    table = {"$share/g/a": [0], "a": [1], "b/#": [1]}
    for seen in (broker.subscriptions, context.subscriptions):
        assert {filter: [qos for _, qos in held] for filter, held in seen.items()} == table
    assert "a" in broker.subscriptions
    await reader.unsubscribe(["a", "never/#"])
    assert "a" not in broker.subscriptions
    assert broker.subscriptions["a"] == broker.subscriptions["a/##"] == []
    assert "a/##" not in broker.subscriptions
    assert len(broker.subscriptions) == 2
    await reader.disconnect()
    await broker._cleanup_session("reader")
    assert list(broker.routes) == []
    await context.add_subscription("known", "a/#", QOS_1)
    assert [(filter, len(held)) for filter, held in context.subscriptions.items()] == [("a/#", 1)]


def test_no_topic_of_a_will_stops_the_broker(caplog: pytest.LogCaptureFixture) -> None:
    async def test(broker: Broker, address: str) -> None:
        reader = await connected(address, "reader")
        await reader.subscribe([("#", QOS_0)])
        await broker._broadcast_message(None, "a/#", b"a will", QOS_0)
        await broker.retain_message(None, "a/#", b"a will", QOS_0)
        await broker._broadcast_message(None, "b", b"all is well", QOS_0)
        assert await received(reader) == ("b", b"all is well")
        await reader.disconnect()

    caplog.set_level(logging.WARNING)
    with_broker(test)
    assert "a message is dropped: wildcard '#' in a topic" in caplog.text
    assert "a message is not retained" in caplog.text


@pytest.mark.parametrize("kind", [Broker, TrieBroker])
def test_who_subscribes_while_a_message_is_delivered_disturbs_only_a_dict(
    kind: type[Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plugin that decides who may read is called between two deliveries, and anything may happen meanwhile."""
    asked: list[str] = []

    async def test(broker: Broker, address: str) -> None:
        sessions = [broker.create_offline_session(name)[1] for name in ("first", "second")]
        for session in sessions:
            broker._sessions[session.client_id] = (session, None)
            await broker.add_subscription((f"a/{'+' if session.client_id == 'second' else 'b'}", QOS_0), session)

        async def may_read(session: Session, topic: str, action: object) -> bool:
            if topic == "a/b":
                asked.append(session.client_id)
                await broker.add_subscription((f"new/{len(asked)}", QOS_0), session)
            return True

        monkeypatch.setattr(broker, "_topic_filtering", may_read)
        await broker._broadcast_queue.put({"session": None, "topic": "a/b", "data": b""})
        await broker._run_broadcast(broker._tasks_queue)

    monkeypatch.setattr(kind, "_broadcast_loop", AsyncMock())
    with nullcontext() if kind is TrieBroker else pytest.raises(RuntimeError, match="changed size during iteration"):
        with_broker(test, kind)
    assert (
        sorted(asked) == ["first", "second"][: 1 + (kind is TrieBroker)]
    )  # the second one does not get amqtt's message
