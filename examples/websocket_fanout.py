"""Fan-out to web sockets: one queue for each client, and three ways to treat a client that reads too slowly.

    python examples/websocket_fanout.py

The trie finds the clients that want a message. Each client has its own mailbox and one task that sends from it, so a
slow client never delays another one. An option of the subscription says what happens when the mailbox is full:

    slow="newest"  the newest message of each topic replaces the one before: right for prices and positions
    slow="close"   the client is closed and has to connect again: right if no message may be lost unnoticed
    slow="wait"    the publisher waits: right if the publisher can wait (back-pressure)

A web-socket library has a connection with `send` and `close`. Here `Socket` plays its part, so nothing needs to be
installed and the output is always the same.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from subtrie import MQTT, SubscriptionTrie

ROOM = 8  # how many messages may wait for one client


class Connection(Protocol):
    """What this example needs of a web socket. `websockets`, `aiohttp` and Starlette differ in names only."""

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
        """Send messages as they come. A socket that does not read delays only this task."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: len(self) > 0)
                message = self._waiting.pop(next(iter(self._waiting)))
                self._changed.notify_all()
            await self.connection.send(message)

    async def leave(self) -> None:
        """Take no more messages. A publisher that waits for room continues."""
        async with self._changed:
            self.closed.set()
            self._changed.notify_all()
        await self.connection.close()


class Hub:
    """The clients and their subscriptions. Threads may subscribe and match, too."""

    def __init__(self) -> None:
        self.routes: SubscriptionTrie[Client] = SubscriptionTrie(MQTT, index=True)

    async def publish(self, topic: str, message: str) -> None:
        for one in self.routes.deliveries(topic, merge="one"):  # one copy, however many filters of a client match
            await one.subscriber.put(topic, message, one.options.get("slow", "close"))

    async def serve(self, client: Client, filters: dict[str, str]) -> None:
        """Serve a client until it is closed, breaks off or is cancelled. Then all its subscriptions end."""
        for filter, slow in filters.items():
            self.routes.subscribe(filter, client, slow=slow)
        tasks = [asyncio.create_task(client.send_all()), asyncio.create_task(client.closed.wait())]
        try:
            # Both tasks: if a socket does not read, sending does not end by itself.
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # a broken connection has raised an error
            self.routes.unsubscribe_all(client)
            await client.leave()


class Socket:
    """A web socket for the demonstration. It reads nothing until `reads` is set."""

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
