"""Fan-out to web sockets: one queue for each client, and three answers to a client which reads too slowly.

    python examples/websocket_fanout.py

The trie says which clients want a message. Each client has a mailbox of its own and one task that sends from it, so
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
    """A connection, its mailbox, and the task that sends from it."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.closed = asyncio.Event()
        self._waiting: dict[object, str] = {}  # in the order of sending
        self._numbers = 0
        self._changed = asyncio.Condition()

    def __len__(self) -> int:
        return len(self._waiting)

    async def put(self, topic: str, message: str, slow: str) -> None:
        async with self._changed:
            if slow == "wait":
                await self._changed.wait_for(lambda: self.closed.is_set() or len(self) < ROOM)
            elif slow == "close" and len(self) >= ROOM:
                self.closed.set()
            if not self.closed.is_set():
                self._numbers += 1
                self._waiting[topic if slow == "newest" else self._numbers] = message
            self._changed.notify_all()

    async def send_all(self) -> None:
        """Send what comes. A socket that does not read holds up this task alone."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: len(self) > 0)
                message = self._waiting.pop(next(iter(self._waiting)))
                self._changed.notify_all()
            await self.connection.send(message)

    async def leave(self) -> None:
        """Take no more messages. A publisher that waits for room goes on."""
        async with self._changed:
            self.closed.set()
            self._changed.notify_all()
        await self.connection.close()


class Hub:
    """Who wants what. Threads may subscribe and match as well."""

    def __init__(self) -> None:
        self.routes: SubscriptionTrie[Client] = SubscriptionTrie(MQTT, index=True)

    async def publish(self, topic: str, message: str) -> None:
        for one in self.routes.deliveries(topic, merge="one"):  # one copy, whatever its filters
            await one.subscriber.put(topic, message, one.options.get("slow", "close"))

    async def serve(self, client: Client, filters: dict[str, str]) -> None:
        """Keep a client until it is closed, breaks off or is cancelled: then all of its subscriptions go."""
        for filter, slow in filters.items():
            self.routes.subscribe(filter, client, slow=slow)
        tasks = [asyncio.create_task(client.send_all()), asyncio.create_task(client.closed.wait())]
        try:
            # Not the first of them alone: where a socket does not read, sending does not end by itself.
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # a connection that broke has raised
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
        print(f"late is too late: {clients['late'].closed.is_set()}, with {len(clients['late'])} messages unsent")
        slow.reads.set()
        newest = {"gold 99", "oil 99"}
        while len(fast.got) < 200 or not newest <= set(slow.got) or late.is_open:
            await asyncio.sleep(0)
        print(f"fast got {len(fast.got)} messages, the last: {fast.got[-2:]}")
        print(f"slow got fewer than five: {len(slow.got) < 5}, among them the newest: {sorted(newest)}")
        for task in serving:
            task.cancel()
    print(f"late is open: {late.is_open}; subscriptions left: {len(hub.routes)}")


if __name__ == "__main__":
    asyncio.run(demonstrate())
