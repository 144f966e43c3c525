"""Fan-out to web sockets with `subtrie.hub`: a mailbox for each client, bounded in
bytes, and four kinds of patience.

    python examples/websocket_fanout.py

An option of each subscription says what happens when the mailbox of a client that does
not read is full:

    slow="newest"  the newest message of each topic replaces the one before: right for
    prices and positions slow="close"   the client is closed and has to connect again:
    right if no message may be lost unnoticed slow="drop"    the client loses messages
    until it reads again: right for a dashboard slow="wait"    the publisher waits:
    right if the publisher can wait (back-pressure)

A web-socket library has a connection with `send` and `close`. Here `Socket` plays its
part, so nothing needs to be installed and the output is always the same.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from subtrie.hub import Hub, Slow, SlowReader


class Connection(Protocol):
    """What this example needs of a web socket.

    `websockets`, `aiohttp` and Starlette differ in names only.
    """

    async def send(self, message: bytes) -> None: ...
    async def close(self) -> None: ...
    async def wait_closed(self) -> None: ...


async def serve(
    hub: Hub[bytes], connection: Connection, filters: dict[str, Slow]
) -> None:
    """Serve a client until it leaves, breaks off, reads too slowly or is cancelled.

    Then its subscriptions end.
    """
    try:
        async with hub.connect(connection.send) as client:
            for filter, slow in filters.items():
                client.subscribe(filter, slow=slow)
            # a server that takes commands from the client reads them here
            await connection.wait_closed()
    except (SlowReader, ConnectionError) as why:
        print(f"closed: {why}")
    finally:
        await connection.close()


class Socket:
    """A web socket for the demonstration. It reads nothing until `reads` is set."""

    def __init__(self, reads: bool = True) -> None:
        self.got: list[bytes] = []
        self.closed = asyncio.Event()
        self.reads = asyncio.Event()
        if reads:
            self.reads.set()

    async def send(self, message: bytes) -> None:
        await self.reads.wait()
        self.got.append(message)

    async def close(self) -> None:
        self.closed.set()

    async def wait_closed(self) -> None:
        await self.closed.wait()


async def demonstrate() -> None:
    hub: Hub[bytes] = Hub(room=1_000, patience=0.1)  # room for a dozen small messages
    fast, slow, late = Socket(), Socket(reads=False), Socket(reads=False)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(serve(hub, fast, {"prices/#": "close"}))
        tasks.create_task(serve(hub, slow, {"prices/+": "newest"}))
        tasks.create_task(serve(hub, late, {"prices/gold": "close"}))
        while len(hub.routes) < 3:
            await asyncio.sleep(0)
        for n in range(1_000):
            await hub.publish("prices/gold", b"gold %d" % n)
            await hub.publish("prices/oil", b"oil %d" % n)
        print(f"late is closed: {late.closed.is_set()}, and got {len(late.got)}")
        slow.reads.set()
        newest = {b"gold 999", b"oil 999"}
        while len(fast.got) < 2_000 or not newest <= set(slow.got):
            await asyncio.sleep(0)
        print(
            f"fast got {len(fast.got)} messages, "
            f"the last: {[each.decode() for each in fast.got[-2:]]}"
        )
        print(
            f"slow got fewer than five: {len(slow.got) < 5}, "
            f"among them the newest: {newest <= set(slow.got)}"
        )
        for socket in (fast, slow):
            await socket.close()
    print(f"clients left: {len(hub.clients)}; subscriptions left: {len(hub.routes)}")


if __name__ == "__main__":
    asyncio.run(demonstrate())
