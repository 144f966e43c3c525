"""A web-socket service: rights, retained values, slow clients, clients that come back.

A client sends {"publish": TOPIC, "value": VALUE} or {"subscribe": {FILTER: {"id": 7,
"slow": "newest"}}}, with "after": POSITION if it comes back. It gets [ID, POSITION,
TOPIC, VALUE], {"all of": FILTERS} behind what was retained, and {"refused": WHY}.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from typing import Any

from subtrie import MQTT, Delivery, SubscriptionTrie, TopicStore
from subtrie.hub import Client, Hub


class Rights:
    """Rules of (who, "pub" or "sub", filter, is allowed). Denials win."""

    def __init__(self, rules: Iterable[tuple[str, str, str, bool]]) -> None:
        self.allowed: SubscriptionTrie[Any] = SubscriptionTrie(MQTT, index=True)
        self.denied: SubscriptionTrie[Any] = SubscriptionTrie(MQTT, index=True)
        for who, action, filter, allows in rules:
            (self.allowed if allows else self.denied).subscribe(filter, (who, action))

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
    def __init__(self, rights: Rights, **options: Any) -> None:
        self.rights = rights
        self.hub: Hub[str] = Hub(MQTT, retained=TopicStore(MQTT), log=10**6, **options)

    async def serve(self, who: str, connection: Any) -> None:
        """Serve a client until it leaves, breaks off, reads too slowly or is closed."""

        async def send(message: str, by: Delivery[Any] | None) -> None:
            if by is not None:  # else `obey` has put it into the mailbox
                message = f"[{by.options['id']}, {client.position}, {message}]"
            await connection.send(message)

        try:
            async with self.hub.connect(send) as client:
                async for text in connection:
                    try:
                        await self.obey(who, client, json.loads(text))
                    except (LookupError, TypeError, ValueError, PermissionError) as why:
                        await connection.send(json.dumps({"refused": str(why)}))
        except ConnectionError as why:  # SlowReader and Closed are kinds of it
            print(f"{who} was closed: {why}")
        finally:
            await connection.close()

    async def obey(self, who: str, client: Client[str], asked: dict[str, Any]) -> None:
        if "publish" in asked:
            self.rights.require_publish(who, asked["publish"])
            message = json.dumps([asked["publish"], asked["value"]])[1:-1]
            await self.hub.publish(asked["publish"], message, sender=client)
            return
        wanted: dict[str, Any] = {}
        for filter, own in dict(asked["subscribe"]).items():
            but, id = self.rights.exclusions(who, filter), json.dumps(own["id"])
            # not "wait": a client that stops reading would stop its publishers
            slow = "newest" if own["slow"] == "newest" else "close"
            wanted[filter] = {"but": but, "slow": slow, "id": id, "who": who}
        if "after" in asked:
            client.resume(asked["after"], wanted)
        else:
            for filter, options in wanted.items():
                client.subscribe(filter, **options)
            await client.mailbox.put(json.dumps({"all of": [*wanted]}))

    def deny(self, who: str, action: str, filter: str) -> None:
        """Take a right away. Clients that have it must connect and subscribe anew."""
        self.rights.denied.subscribe(filter, (who, action))
        for one in list(self.hub.routes.subscriptions()):
            if one.options["who"] == who:
                one.subscriber.close("a right was taken away")


class Socket:
    """A connection of `websockets`, to demonstrate. It reads if `reads` is set."""

    def __init__(self, *requests: dict[str, Any]) -> None:
        self.requests, self.got = map(json.dumps, requests), list[str]()
        self.reads, self.closed = asyncio.Event(), asyncio.Event()

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
    rules += [("bob", "sub", "gold/+", True), ("bob", "pub", "gold/+", True)]
    service = Service(Rights(rules), room=1_000, patience=0.1)
    newest, close = {"slow": "newest", "id": 1}, {"slow": "close", "id": 2}
    ann = Socket({"subscribe": {"gold/#": newest}})
    bob = Socket({"publish": "oil", "value": 0}, {"subscribe": {"gold/price": close}})
    late = Socket({"subscribe": {"gold/price": close}})
    bob.reads.set()
    async with asyncio.TaskGroup() as tasks:
        for who, socket in ("ann", ann), ("bob", bob), ("bob", late):
            tasks.create_task(service.serve(who, socket))
        while len(service.hub.routes) < 3:
            await asyncio.sleep(0)
        for n in range(1, 1_000):
            await service.hub.publish("gold/price", f'"gold/price", {n}')
        ann.reads.set()
        await service.hub.drain()
        print("bob got", bob.got[0], bob.got[1], "and", len(bob.got) - 2, "messages")
        print("ann got fewer than five:", len(ann.got) < 6, "-", ann.got[-1][-18:])
        back = {"subscribe": {"gold/price": close}, "after": json.loads(bob.got[-3])[1]}
        tasks.create_task(service.serve("bob", again := Socket(back)))
        again.reads.set()
        while len(again.got) < 2:
            await asyncio.sleep(0)
        print("what bob missed:", *(each[-4:-1] for each in again.got))
        service.deny("ann", "sub", "gold/#")
        bob.closed.set()
        again.closed.set()


if __name__ == "__main__":
    asyncio.run(demonstrate())
