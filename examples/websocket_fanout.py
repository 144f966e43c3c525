"""Fan-out to web sockets: one queue for each client, and three answers to a client which reads too slowly.

    python examples/websocket_fanout.py

The trie says which clients want a message. Each client has a mailbox of its own and one task which sends from it, so
a slow client never holds up another one. What happens when its mailbox is full is an option of the subscription:

    slow="newest"  the newest message of each topic replaces the one before: right for prices and positions
    slow="close"   the client is closed and has to come again: right where nothing may be missed without notice
    slow="wait"    the publisher waits: right where the publisher can wait (back-pressure)

A web-socket library has a connection with `send` and `close`; `Socket` stands for it here, so that nothing has to be
installed and the demonstration says the same each time.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from subtrie import MQTT, SubscriptionTrie

ROOM = 8  # messages that wait for one client


class Connection(Protocol):
    """What this needs of a web socket. Those of `websockets`, `aiohttp` and Starlette differ in names only."""

    async def send(self, message: str) -> None: ...
    async def close(self) -> None: ...


class Client:
    """A connection, its mailbox, and the task which sends from it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.closed = False
        self._waiting: dict[object, str] = {}  # in the order of sending
        self._numbers = 0
        self._changed = asyncio.Condition()

    def __len__(self) -> int:
        return len(self._waiting)

    async def put(self, topic: str, message: str, slow: str) -> None:
        async with self._changed:
            if slow == "wait":
                await self._changed.wait_for(lambda: self.closed or len(self) < ROOM)
            elif slow == "close" and len(self) >= ROOM:
                self.closed = True
            if not self.closed:
                self._numbers += 1
                self._waiting[topic if slow == "newest" else self._numbers] = message
            self._changed.notify_all()

    async def send_all(self) -> None:
        """Send what comes, until the client is closed. A socket which does not read holds up this task alone."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self.closed or len(self) > 0)
                if self.closed:
                    break
                message = self._waiting.pop(next(iter(self._waiting)))
                self._changed.notify_all()
            await self.connection.send(message)
        await self.connection.close()

    async def leave(self) -> None:
        """Take no more messages. A publisher which waits for room goes on."""
        async with self._changed:
            self.closed = True
            self._changed.notify_all()


class Hub:
    """Who wants what. Threads may subscribe and match as well: the trie has no lock that could block the loop."""

    def __init__(self) -> None:
        self.routes: SubscriptionTrie[Client] = SubscriptionTrie(MQTT, index=True)

    async def publish(self, topic: str, message: str) -> None:
        for one in self.routes.deliveries(topic, merge="one"):  # one copy, whatever its filters
            await one.subscriber.put(topic, message, one.options.get("slow", "close"))

    async def serve(self, client: Client, filters: dict[str, str]) -> None:
        """Keep a client until it is closed or goes: then all of its subscriptions go."""
        for filter, slow in filters.items():
            self.routes.subscribe(filter, client, slow=slow)
        try:
            await client.send_all()
        finally:
            self.routes.unsubscribe_all(client)
            await client.leave()


class Socket:
    """A web socket of the demonstration. It reads nothing before it may."""

    def __init__(self, reads: bool = True) -> None:
        self.got: list[str] = []
        self.is_open = True
        self.reads = asyncio.Event()
        if reads:
            self.reads.set()

    async def send(self, message: str) -> None:
        await self.reads.wait()
        self.got.append(message)

    async def close(self) -> None:
        self.is_open = False


async def demonstrate() -> None:
    hub, fast, slow, late = Hub(), Socket(), Socket(reads=False), Socket(reads=False)
    clients = {"fast": Client(fast), "slow": Client(slow), "late": Client(late)}
    async with asyncio.TaskGroup() as tasks:
        serving = [
            tasks.create_task(hub.serve(clients["fast"], {"prices/#": "wait"})),
            tasks.create_task(hub.serve(clients["slow"], {"prices/+": "newest"})),
            tasks.create_task(hub.serve(clients["late"], {"prices/gold": "close"})),
        ]
        await asyncio.sleep(0)  # all are subscribed
        for n in range(100):
            await hub.publish("prices/gold", f"gold {n}")
            await hub.publish("prices/oil", f"oil {n}")
            assert len(clients["slow"]) <= 2
            assert len(clients["fast"]) <= ROOM
        print(f"late was closed, with {len(clients['late'])} messages unsent: {clients['late'].closed}")
        slow.reads.set()
        late.reads.set()
        while len(fast.got) < 200 or len(slow.got) < 3:
            await asyncio.sleep(0)
        print(f"fast got {len(fast.got)} messages, the last: {fast.got[-2:]}")
        print(f"slow got {len(slow.got)}: {slow.got}")
        for task in serving:
            task.cancel()
    print(f"late is open: {late.is_open}; subscriptions left: {len(hub.routes)}")


if __name__ == "__main__":
    asyncio.run(demonstrate())
