"""A web-socket service: rights, retained values, and clients that read too slowly.

    python examples/websocket_service.py

A client sends {"subscribe": FILTER, "slow": "newest", "id": 7} or {"publish": TOPIC,
"value": ...}. It gets [ID, TOPIC, VALUE] for each message, or {"refused": WHY}. Here
`Socket` plays the part of a connection of the package `websockets`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

from subtrie import MQTT, Delivery, SubscriptionTrie, TopicStore
from subtrie.hub import Client, Hub, Slow


class Rights:
    """Rules of (who, "pub" or "sub", filter, is allowed). Denials win."""

    def __init__(self, rules: Iterable[tuple[str, str, str, bool]]) -> None:
        self.allowed: SubscriptionTrie[Any] = SubscriptionTrie(MQTT, index=True)
        self.denied: SubscriptionTrie[Any] = SubscriptionTrie(MQTT, index=True)
        for who, action, filter, is_allowed in rules:
            held = self.allowed if is_allowed else self.denied
            held.subscribe(filter, (who, action))

    def require_publish(self, who: str, topic: str) -> None:
        is_allowed = self.allowed.deliveries_of(topic, (who, "pub"))
        if not is_allowed or self.denied.deliveries_of(topic, (who, "pub")):
            raise PermissionError(f"{who} may not publish {topic}")

    def exclusions(self, who: str, wanted: str) -> tuple[str, ...]:
        """The `but=` of a subscription; PermissionError if it is not allowed."""
        allowed = self.allowed.filters((who, "sub"))
        denied = self.denied.filters((who, "sub"))
        denied = [each for each in denied if MQTT.overlaps(each, wanted)]
        if not any(MQTT.subsumes(each, wanted) for each in allowed):
            raise PermissionError(f"{who} may not subscribe to {wanted}")
        if any(MQTT.subsumes(each, wanted) for each in denied):
            raise PermissionError(f"{who} is denied {wanted}")
        return tuple(denied)


class Service:
    """The clients of one process."""

    def __init__(self, rights: Rights, **options: Any) -> None:
        self.rights = rights
        self.hub: Hub[str] = Hub(MQTT, retained=TopicStore(MQTT), **options)
        self.names: dict[Client[str], str] = {}

    async def serve(self, who: str, connection: Any) -> None:
        """Serve a client until it leaves, breaks off, reads too slowly or is closed."""

        async def send(message: str, delivery: Delivery[Any]) -> None:
            await connection.send(f"[{json.dumps(delivery.options['id'])}, {message}]")

        try:
            async with self.hub.connect(send) as client:
                self.names[client] = who
                async for text in connection:
                    try:
                        await self.obey(who, client, json.loads(text))
                    except (LookupError, TypeError, ValueError, PermissionError) as why:
                        await connection.send(json.dumps({"refused": str(why)}))
        except ConnectionError as why:  # SlowReader and Closed are kinds of it
            print(f"{who} was closed: {why}")
        finally:
            self.names = {each: self.names[each] for each in self.hub.clients}
            await connection.close()

    async def obey(self, who: str, client: Client[str], asked: dict[str, Any]) -> None:
        if "publish" in asked:
            topic, value = asked["publish"], asked["value"]
            self.rights.require_publish(who, topic)
            message = json.dumps([topic, value])[1:-1]
            await self.hub.publish(topic, message, sender=client)
        else:
            wanted = asked["subscribe"]
            but = self.rights.exclusions(who, wanted)
            # not "wait": a client that stops reading would stop its publishers
            slow: Slow = "newest" if asked.get("slow") == "newest" else "close"
            client.subscribe(wanted, slow=slow, but=but, id=asked.get("id"))

    def deny(self, who: str, action: str, filter: str) -> None:
        """Take a right away. Clients that have it must connect and subscribe anew."""
        self.rights.denied.subscribe(filter, (who, action))
        for client in [each for each, name in self.names.items() if name == who]:
            client.close("a right was taken away")


class Socket:
    """A web socket for the demonstration. It reads nothing until `reads` is set."""

    def __init__(self, *requests: dict[str, Any], reads: bool = True) -> None:
        self.got: list[str] = []
        self.requests = [json.dumps(each) for each in requests]
        self.closed, self.reads = asyncio.Event(), asyncio.Event()
        if reads:
            self.reads.set()

    async def send(self, message: str) -> None:
        await self.reads.wait()
        self.got.append(message)

    async def close(self) -> None:
        self.closed.set()

    async def __aiter__(self) -> AsyncIterator[str]:
        for each in self.requests:
            yield each
        await self.closed.wait()


async def demonstrate() -> None:
    rules = [("ann", "sub", "#", True), ("ann", "sub", "+/secret", False)]
    rules += [("bob", "sub", "gold/+", True), ("meter", "pub", "gold/#", True)]
    service = Service(Rights(rules), room=1_000, patience=0.1)
    topics = "gold/price", "gold/secret", "oil/price"
    meter = Socket(*({"publish": each, "value": 0} for each in topics))
    meter.closed.set()  # it leaves when it has asked
    await service.serve("meter", meter)
    print("meter got", *meter.got)

    ann = Socket({"subscribe": "gold/#", "slow": "newest", "id": 1}, reads=False)
    bob = Socket({"subscribe": "#"}, {"subscribe": "gold/price", "id": 2})
    late = Socket({"subscribe": "gold/price"}, reads=False)
    async with asyncio.TaskGroup() as tasks:
        for who, socket in ("ann", ann), ("bob", bob), ("bob", late):
            tasks.create_task(service.serve(who, socket))
        while len(service.hub.routes) < 3:
            await asyncio.sleep(0)
        for n in range(1, 1_000):
            await service.hub.publish("gold/price", f'"gold/price", {n}')
        ann.reads.set()
        await service.hub.drain()
        print("bob got", bob.got[0], bob.got[1], "...", bob.got[-1])
        print("ann got fewer than five:", len(ann.got) < 5, "- the last:", ann.got[-1])
        service.deny("ann", "sub", "gold/#")
        bob.closed.set()
    print("clients left:", len(service.hub.clients), len(service.names))


if __name__ == "__main__":
    asyncio.run(demonstrate())
