"""The adopted broker (examples/amqtt_on_a_trie.py): its deliveries equal amqtt's, and the claims of its page hold."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable

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


def with_broker(test: Callable[[Broker, str], Awaitable[None]], kind: type[Broker] = TrieBroker) -> None:
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


async def connected(address: str, name: str, *, clean: bool = True) -> MQTTClient:
    client = MQTTClient(client_id=name, config={"auto_reconnect": False})
    await client.connect(address, cleansession=clean)
    return client


async def received(client: MQTTClient) -> tuple[str, bytes]:
    message = await client.deliver_message(timeout_duration=20)
    assert message is not None
    return message.topic, bytes(message.data)


class TestAdopted:
    def test_retained_messages_greet_who_subscribes(self) -> None:
        async def test(broker: Broker, address: str) -> None:
            publisher = await connected(address, "publisher")
            for topic, data in (("a/b", b"1"), ("a/c", b"2"), ("d", b"3"), ("a/c", b"")):
                await publisher.publish(topic, data, QOS_1, retain=True)
            await publisher.publish("a/c", b"4", QOS_1, retain=True)
            reader = await connected(address, "reader")
            assert await reader.subscribe([("a/#", QOS_1)]) == [QOS_1]
            assert sorted([await received(reader), await received(reader)]) == [("a/b", b"1"), ("a/c", b"4")]
            assert sorted(broker.retained_messages) == ["a/b", "a/c", "d"]
            await reader.disconnect()
            await publisher.disconnect()

        with_broker(test)

    def test_who_is_away_gets_the_messages_later(self) -> None:
        async def test(broker: Broker, address: str) -> None:
            reader = await connected(address, "reader", clean=False)
            await reader.subscribe([("a/+", QOS_1), ("b", QOS_0)])
            await reader.disconnect()
            publisher = await connected(address, "publisher")
            while broker.sessions["reader"][0].transitions.state == "connected":
                await asyncio.sleep(0)
            await publisher.publish("b", b"lost", QOS_1)
            await publisher.publish("a/1", b"kept", QOS_1)
            while not broker.sessions["reader"][0].retained_messages.qsize():
                await asyncio.sleep(0)
            await reader.connect(address, cleansession=False)
            assert await received(reader) == ("a/1", b"kept")
            await reader.disconnect()
            await publisher.disconnect()

        with_broker(test)

    def test_an_unsubscribe_and_a_clean_end_take_subscriptions_off(self) -> None:
        async def test(broker: Broker, address: str) -> None:
            assert isinstance(broker, TrieBroker)
            reader = await connected(address, "reader")
            await reader.subscribe([("a", QOS_0), ("b/#", QOS_1), ("c", QOS_0)])
            assert {filter: [qos for _, qos in held] for filter, held in broker.subscriptions.items()} == {
                "a": [0],
                "b/#": [1],
                "c": [0],
            }
            assert "a" in broker.subscriptions
            await reader.unsubscribe(["a", "never/#"])
            assert "a" not in broker.subscriptions
            assert broker.subscriptions["a"] == broker.subscriptions["a/##"] == []
            assert "a/##" not in broker.subscriptions
            assert len(broker.subscriptions) == 2
            await reader.disconnect()
            await broker._cleanup_session("reader")
            assert list(broker.routes) == []

        with_broker(test)

    def test_what_is_no_filter_is_refused_and_the_first_quality_stays(self) -> None:
        async def test(broker: Broker, address: str) -> None:
            assert isinstance(broker, TrieBroker)
            reader = await connected(address, "reader")
            asked = [("a", QOS_1), ("a", QOS_0), ("a/#/b", QOS_0), ("a+", QOS_0), ("$share/g/a", QOS_0)]
            assert await reader.subscribe(asked) == [1, 0, REFUSED, REFUSED, 0]
            assert sorted((one.filter, one.options["qos"]) for one in broker.routes) == [("$share/g/a", 0), ("a", 1)]
            await reader.disconnect()

        with_broker(test)

    def test_a_plugin_sees_the_table_and_subscribes_clients(self) -> None:
        async def test(broker: Broker, address: str) -> None:
            context = BrokerContext(broker)
            await context.add_subscription("known", "a/#", QOS_1)
            assert [(filter, len(held)) for filter, held in context.subscriptions.items()] == [("a/#", 1)]

        with_broker(test)

    def test_no_topic_of_a_will_stops_the_broker(self, caplog: pytest.LogCaptureFixture) -> None:
        async def test(broker: Broker, address: str) -> None:
            reader = await connected(address, "reader")
            await reader.subscribe([("#", QOS_0)])
            with caplog.at_level(logging.WARNING):
                await broker._broadcast_message(None, "a/#", b"a will", QOS_0)
                await broker.retain_message(None, "a/#", b"a will", QOS_0)
                await broker._broadcast_message(None, "b", b"all is well", QOS_0)
                assert await received(reader) == ("b", b"all is well")
            assert "a message is dropped: wildcard '#' in a topic" in caplog.text
            assert "a message is not retained" in caplog.text
            await reader.disconnect()

        with_broker(test)


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

    async def no_loop(broker: Broker) -> None:
        return

    monkeypatch.setattr(kind, "_broadcast_loop", no_loop)
    if kind is TrieBroker:
        with_broker(test, kind)
        assert sorted(asked) == ["first", "second"]
    else:
        with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
            with_broker(test, kind)
        assert asked == ["first"], "the second one does not get the message"
