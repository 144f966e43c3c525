"""An asyncio hub: messages go to the clients that subscribed, and a client that reads too slowly harms only itself.

A `Mailbox` holds what waits for one client, and is bounded in bytes. If it is full, the publisher waits for a moment
(`patience`). A client that reads makes room in that time, however long the burst. One that does not is slow, and a
policy decides what happens. A `Hub` has a `Client` with a mailbox for each connection, and their subscriptions.

All of it belongs to one event loop. Other threads may read `Hub.routes`, and publish by
`asyncio.run_coroutine_threadsafe(hub.publish(topic, message), loop)`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeVar, get_args

from subtrie import SubscriptionTrie
from subtrie.dialects import MQTT, Dialect

__all__ = ["ROOM", "Client", "Counters", "Hub", "Mailbox", "Slow", "SlowReader", "size_of"]

Message = TypeVar("Message")
Slow = Literal["close", "drop", "newest", "wait"]

ROOM: Final = 1 << 20  # bytes
PATIENCE: Final = 5.0  # seconds
EACH: Final = 64  # bytes that a waiting message takes besides its own


def size_of(message: object) -> int:
    """The bytes of a text in UTF-8, or of an object with a buffer, such as `bytes`. TypeError for any other message."""
    if isinstance(message, str):
        return len(message.encode("utf-8", "surrogatepass"))
    try:
        return memoryview(message).nbytes  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"how many bytes has a {type(message).__name__}? give Hub or Mailbox size=...") from None


class SlowReader(ConnectionError):
    """A client left no room for a message, and took none, for as long as the mailbox is patient."""


@dataclass(slots=True)
class Counters:
    """What became of messages, as numbers that only grow. A message counts once for each mailbox that it is for."""

    taken: int = 0  # into a mailbox
    sent: int = 0  # out of it, to a reader or a `send`, which may not have ended yet
    dropped: int = 0  # not taken by a full mailbox, or taken and then replaced, or still there when it was closed
    closed_as_slow: int = 0


@dataclass(slots=True)
class _Waiting(Generic[Message]):
    """A message in a mailbox; a newer one of the same key replaces it."""

    message: Message
    size: int
    key: Hashable = None


class Mailbox(Generic[Message]):
    """Messages that wait for one reader, in order, and take at most `room` bytes.

    A message larger than the room is taken when nothing else waits, so bytes are bounded by the room or one message.

    Args:
        room: How many bytes may wait. Each message counts by `size`, and 64 bytes more.
        patience: For how many seconds a full mailbox waits for its reader before the reader counts as slow.
        size: The bytes of a message; `size_of` by default, for texts and what has a buffer.
    """

    def __init__(self, room: int = ROOM, patience: float = PATIENCE, size: Callable[[Message], int] = size_of) -> None:
        if not isinstance(room, int) or room < 1:  # type: ignore[redundant-expr]
            raise ValueError(f"room must be a whole number of bytes, at least one, not {room!r}")
        if not isinstance(patience, int | float) or not patience >= 0:  # type: ignore[redundant-expr]
            raise ValueError(f"patience must be zero or more seconds, not {patience!r}")
        self.room = room
        self.patience = patience
        self.bytes = 0  # that wait now
        self.counters = Counters()  # clients of a hub share the hub's
        self.closed = asyncio.Event()
        self.is_stalled = False  # it was full for longer than its patience, and nothing was taken since
        self._size = size
        self._waiting: deque[_Waiting[Message]] = deque()
        self._by_key: dict[Hashable, _Waiting[Message]] = {}
        self._publishers = 0  # that wait for room
        self._turn = asyncio.Lock()  # of the first of them; the others wait for it in the order of their calls
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(self, message: Message, key: Hashable = None) -> bool:
        """Take a message if there is room now; return whether it was taken. O(1), never waits.

        With a `key`, it takes the place of the message with the same key that still waits.
        """
        return not self._publishers and self._take(_Waiting(message, self._size(message) + EACH, key))

    async def put(self, message: Message, key: Hashable = None, slow: Slow = "close") -> bool:
        """Take a message, when there is room for it; return whether it was taken.

        Messages are taken in the order of their calls. If there is no room for `patience` seconds, `slow` decides:
        "close" closes the mailbox, "drop" and "newest" drop the message and each one after it until the reader takes
        one, and "wait" waits on. A closed mailbox takes nothing.
        """
        if self.offer(message, key):
            return True
        if not self.closed.is_set() and not (self.is_stalled and slow in ("drop", "newest")):
            one = _Waiting(message, self._size(message) + EACH, key)
            self._publishers += 1
            try:
                async with asyncio.timeout(None if slow == "wait" else self.patience), self._turn:
                    while not self.closed.is_set():
                        if self._take(one):
                            return True
                        await self._change()
            except TimeoutError:
                self.is_stalled = True
                if slow == "close" and not self.closed.is_set():
                    self.counters.closed_as_slow += 1
                    self.close()
            finally:
                self._publishers -= 1
        self.counters.dropped += 1
        return False

    async def get(self) -> Message:
        """Return the oldest message, when there is one. One task at a time.

        Raises:
            SlowReader: The mailbox has been closed.
        """
        while not self._waiting:
            if self.closed.is_set():
                raise SlowReader("the mailbox is closed")
            await self._change()
        one = self._waiting.popleft()
        self._by_key.pop(one.key, None)
        self.bytes -= one.size
        self.is_stalled = False
        self.counters.sent += 1
        self._changed.set()
        return one.message

    def close(self) -> None:
        """Take no more messages, drop those that wait, and let publishers that wait for room go on."""
        self.closed.set()
        self.counters.dropped += len(self._waiting)
        self._waiting.clear()
        self._by_key.clear()
        self.bytes = 0
        self._changed.set()

    async def _change(self) -> None:
        """Wait for a message, for room or for the end."""
        self._changed.clear()
        await self._changed.wait()

    def _take(self, one: _Waiting[Message]) -> bool:
        """Take a message if there is room; return whether it was taken."""
        older = self._by_key.get(one.key)
        others = self.bytes - (older.size if older else 0)
        if self.closed.is_set() or (others and others + one.size > self.room):
            return False
        self.counters.taken += 1
        self.bytes = others + one.size
        if older:
            self.counters.dropped += 1
            older.message, older.size = one.message, one.size
        else:
            self._waiting.append(one)
            if one.key is not None:
                self._by_key[one.key] = one
        self._changed.set()
        return True


class Client(Generic[Message]):
    """A client of a hub: the subscriber in the hub's trie. `Hub.connect` makes it."""

    def __init__(self, hub: Hub[Message], mailbox: Mailbox[Message]) -> None:
        self.mailbox = mailbox
        self._hub = hub

    def subscribe(self, filter: str, *, slow: Slow = "close", **options: Any) -> bool:
        """Subscribe to `filter`; return whether that is new. `slow` is said at `Mailbox.put`.

        Raises:
            TopicError: The filter is not valid.
            ValueError: There is no such policy.
            ConnectionError: The client has left.
        """
        if slow not in get_args(Slow):
            raise ValueError(f"slow must be one of {', '.join(get_args(Slow))}, not {slow!r}")
        if self not in self._hub.clients:
            raise ConnectionError("the client has left")
        return self._hub.routes.subscribe(filter, self, slow=slow, **options)

    def unsubscribe(self, filter: str, *, queue: str | None = None) -> bool:
        """Unsubscribe from `filter`, in the group `queue` if one is named; return whether it was subscribed."""
        return self._hub.routes.unsubscribe(filter, self, queue=queue)


class Hub(Generic[Message]):
    """Clients, their subscriptions, and `publish`.

    Args:
        dialect: The rules of topics and filters.
        room, patience, size: As for `Mailbox`; for each client.

    Example:
        >>> async def talk():
        ...     hub, heard = Hub(), asyncio.Queue()
        ...     async with hub.connect(heard.put) as client:
        ...         client.subscribe("prices/#")
        ...         return await hub.publish("prices/gold", b"4000"), await heard.get()
        >>> asyncio.run(talk())
        (1, b'4000')
    """

    def __init__(
        self,
        dialect: Dialect = MQTT,
        *,
        room: int = ROOM,
        patience: float = PATIENCE,
        size: Callable[[Message], int] = size_of,
    ) -> None:
        self.routes: SubscriptionTrie[Client[Message]] = SubscriptionTrie(dialect, index=True)
        self.clients: set[Client[Message]] = set()
        self.counters = Counters()
        self._bounds = room, patience, size
        Mailbox(*self._bounds)  # refuses what makes no sense

    async def publish(self, topic: str, message: Message) -> int:
        """Give a message to each client that wants it, once; return how many took it.

        Clients with full mailboxes are waited for together, after those with room: so a slow one delays the caller
        by `patience` seconds, once, and no other client.

        Raises:
            TopicError: The topic is not valid.
        """
        taken, full = 0, []
        for one in self.routes.deliveries(topic, merge="one"):
            slow: Slow = one.options["slow"]
            key = topic if slow == "newest" else None
            if one.subscriber.mailbox.offer(message, key):
                taken += 1
            else:
                full.append(one.subscriber.mailbox.put(message, key, slow))
        if full:
            return taken + sum(await asyncio.gather(*full))
        await asyncio.sleep(0)  # a publisher that goes on and on lets the senders run
        return taken

    @asynccontextmanager
    async def connect(self, send: Callable[[Message], Awaitable[object]]) -> AsyncIterator[Client[Message]]:
        """Connect a client for the time of the block. `send` is awaited for each of its messages, in order.

        However the block ends, by an exception or a cancellation too, all subscriptions of the client end with it,
        and no publisher goes on waiting for it. The block is broken off if `send` raises, by that exception, and if
        the client reads too slowly, by `SlowReader`.
        """
        client: Client[Message] = Client(self, Mailbox(*self._bounds))
        client.mailbox.counters = self.counters

        async def send_all() -> None:
            while True:
                await send(await client.mailbox.get())

        async def watch() -> None:  # a sender notices the end only when its `send` returns
            await client.mailbox.closed.wait()
            raise SlowReader("the client reads too slowly: its mailbox stayed full")

        self.clients.add(client)
        failures: Sequence[BaseException] = ()
        try:
            async with asyncio.TaskGroup() as tasks:
                helpers = [tasks.create_task(send_all()), tasks.create_task(watch())]
                yield client
                for each in helpers:
                    each.cancel()
        except BaseExceptionGroup as group:
            failures = [each for each in group.exceptions if not isinstance(each, SlowReader)] or group.exceptions[:1]
            if len(failures) > 1:
                raise
        finally:
            self.clients.discard(client)
            self.routes.unsubscribe_all(client)
            client.mailbox.close()
        for failure in failures:
            raise failure  # here, outside of `except`, it keeps its own cause and context
