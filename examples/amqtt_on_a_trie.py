"""An adopted broker: amqtt (`pip install amqtt`), with a trie in place of its tables.

    python examples/amqtt_on_a_trie.py --port 1883

amqtt compares every message with every filter of a dict. `TrieBroker` asks a
`SubscriptionTrie` and a `TopicStore` instead. All else is amqtt's: the protocol,
sessions, plugins, logins, web sockets. Its own tests still pass (docs/migrating.md).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import amqtt.broker
from amqtt.contexts import Action
from amqtt.session import Session
from subtrie import MQTT, SubscriptionTrie, TopicError, TopicStore

MQTT_3 = replace(MQTT, share_prefix=None)  # shared subscriptions came with MQTT 5
REFUSED = 0x80


class Subscriptions(Mapping[str, list[tuple[Session, int]]]):
    """The trie as the table that amqtt's plugins know: filters, sessions, qualities."""

    def __init__(self, trie: SubscriptionTrie[str], sessions: dict[str, Any]) -> None:
        self._trie = trie
        self._sessions = sessions

    def __getitem__(self, filter: str) -> list[tuple[Session, int]]:
        # a text that is not a filter has no subscription
        with contextlib.suppress(TopicError):
            held = self._trie.subscriptions(filter)
            return [(self._sessions[who][0], given["qos"]) for _, who, given in held]
        return []

    def __contains__(self, filter: object) -> bool:
        return isinstance(filter, str) and bool(self[filter])

    def __iter__(self) -> Iterator[str]:
        return iter({held.filter: None for held in self._trie.subscriptions()})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def clear(self) -> None:
        self._trie.clear()


class TrieBroker(amqtt.broker.Broker):  # type: ignore[misc]  # amqtt has no types for others
    """amqtt's broker, with tries for the subscriptions and the retained messages."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.routes: SubscriptionTrie[str] = SubscriptionTrie(MQTT_3, index=True)
        self._subscriptions = Subscriptions(self.routes, self._sessions)
        self._retained_messages = TopicStore(MQTT_3)

    async def add_subscription(
        self, subscription: tuple[str, int], session: Session
    ) -> int:
        filter, qos = subscription
        try:
            MQTT_3.split_filter(filter)
        except TopicError as error:
            self.logger.warning(f"{session.client_id} asks for no filter: {error}")
            return REFUSED
        if not await self._topic_filtering(session, filter, Action.SUBSCRIBE):
            return REFUSED
        greatest = self.config.get("max-qos", qos)
        qos = min(qos, greatest) if isinstance(greatest, int) else qos
        # as in amqtt, the first quality stays
        if not any(self.routes.subscriptions(filter, session.client_id)):
            self.routes.subscribe(filter, session.client_id, qos=qos)
        return qos

    def _del_subscription(self, a_filter: str, session: Session) -> int:
        with contextlib.suppress(TopicError):
            return int(self.routes.unsubscribe(a_filter, session.client_id))
        return 0

    async def _del_all_subscriptions(self, session: Session) -> None:
        self.routes.unsubscribe_all(session.client_id)

    async def _run_broadcast(self, running_tasks: deque[asyncio.Task[Any]]) -> None:
        message = await self._broadcast_queue.get()
        topic = message["topic"]
        try:
            deliveries = self.routes.deliveries(topic)
        except TopicError as error:  # the topic of a will, which amqtt does not check
            self.logger.warning(f"a message is dropped: {error}")
            return
        for delivery in deliveries:
            session, handler = self._sessions.get(delivery.subscriber, (None, None))
            if session is None or not await self._topic_filtering(
                session, topic, Action.RECEIVE
            ):
                continue
            qos = message.get("qos", delivery.options["qos"])
            if session.transitions.state == "connected":
                sent = handler.mqtt_publish(topic, message["data"], qos, retain=False)
                running_tasks.append(asyncio.ensure_future(sent))
            elif qos and not session.clean_session and not session.is_anonymous:
                await self._retain_broadcast_message(message, qos, session)

    async def retain_message(self, source_session: Any, topic: Any, *rest: Any) -> None:
        try:
            await super().retain_message(source_session, topic, *rest)
        except TopicError as error:
            self.logger.warning(f"a message is not retained: {error}")

    async def _publish_retained_messages_for_subscription(
        self, subscription: tuple[str, int], session: Session
    ) -> None:
        filter, qos = subscription
        handler = self._get_handler(session)
        if handler is not None:
            sending = [
                handler.mqtt_publish(topic, one.data, min(qos, one.qos or qos), True)
                for topic, one in self._retained_messages.matching(filter)
            ]
            await asyncio.gather(*sending, return_exceptions=True)


async def serve(port: int) -> None:
    """Run the broker until it is interrupted."""
    listeners = {"default": {"type": "tcp", "bind": f"127.0.0.1:{port}"}}
    anybody = "amqtt.plugins.authentication.AnonymousAuthPlugin"
    plugins = {anybody: {"allow_anonymous": True}}
    broker = TrieBroker({"listeners": listeners, "plugins": plugins})
    await broker.start()
    print(f"listening on 127.0.0.1:{port}", flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await broker.shutdown()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=1883)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(parser.parse_args().port))
