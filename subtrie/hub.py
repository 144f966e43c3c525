"""An asyncio hub: messages go to the clients that subscribed, and a client that reads too slowly is soon waited for
no more.

A `Mailbox` (`subtrie.mailbox`) holds what waits for one client, and is bounded in bytes. If it is full, the publisher
waits, and for a client that reads too slowly only as long as its patience lasts. A `Hub` has a `Client` with a mailbox
for each connection, and their subscriptions.

All of it belongs to one event loop. Other threads may read `Hub.routes`, and publish by
`asyncio.run_coroutine_threadsafe(hub.publish(topic, message), loop)`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

from subtrie import SubscriptionTrie
from subtrie.dialects import MQTT, Dialect
from subtrie.mailbox import (
    PATIENCE,
    PROMISES,
    ROOM,
    Counters,
    Mailbox,
    Slow,
    SlowReader,
    Waiting,
    check_policy,
    measured,
    size_of,
)

__all__ = ["ROOM", "Client", "Counters", "Hub", "Mailbox", "Slow", "SlowReader", "size_of"]

Message = TypeVar("Message")


class Client(Generic[Message]):
    """A client of a hub: the subscriber in the hub's trie. `Hub.connect` makes it.

    Attributes:
        mailbox: What waits for it.
    """

    def __init__(self, hub: Hub[Message], mailbox: Mailbox[Message], task: asyncio.Task[Any]) -> None:
        self.mailbox = mailbox
        self._hub = hub
        self._task = task  # whose block it is
        self._cancelled_before = task.cancelling()
        self._reason: BaseException | None = None  # why its block is broken off

    def __repr__(self) -> str:
        filters = sorted(self._hub.routes.filters(self))
        more = f" and {len(filters) - 3} more" if len(filters) > 3 else ""
        return f"<Client of {', '.join(filters[:3]) or 'nothing'}{more}: {self.mailbox!r}>"

    def subscribe(self, filter: str, *, slow: Slow = "close", **options: Any) -> bool:
        """Subscribe to `filter`; return whether that is new. `slow` is said at `Mailbox.put`.

        If subscriptions of different `slow` match one topic, the one that promises most decides, in the order "wait",
        "close", "newest", "drop". A subscription in a group gets messages of its own, by its own `slow`.

        Raises:
            TopicError: The filter is not valid.
            ValueError: There is no such policy.
            ConnectionError: The client has left.
        """
        check_policy(slow)
        if self not in self._hub.clients:
            raise ConnectionError("the client has left")
        return self._hub.routes.subscribe(filter, self, slow=slow, **options)

    def unsubscribe(self, filter: str, *, queue: str | None = None) -> bool:
        """Unsubscribe from `filter`, in the group `queue` if one is named; return whether it was subscribed."""
        return self._hub.routes.unsubscribe(filter, self, queue=queue)

    async def _send_all(self, send: Callable[[Message], Awaitable[object]]) -> None:
        """Send messages until the mailbox is closed, also if `send` does not let itself be cancelled then."""
        try:
            while not self.mailbox.closed.is_set():
                await self._send_one(send)
        except asyncio.CancelledError as error:
            if self.mailbox.closed.is_set():
                raise
            raise ConnectionError("`send` was cancelled, while its client had not left") from error

    async def _send_one(self, send: Callable[[Message], Awaitable[object]]) -> None:
        message = await self.mailbox._oldest()
        try:
            await send(message)
        except BaseException:
            self.mailbox.counters.dropped += 1
            raise
        self.mailbox.counters.sent += 1

    def _break_off(self, reason: BaseException) -> None:
        """Cancel the task whose block it is, once, and not if the block has ended."""
        if self._reason is None and self in self._hub.clients:
            self._reason = reason
            self._task.cancel()

    def _mailbox_is_closed(self) -> None:
        self._break_off(SlowReader("the client reads too slowly: its mailbox stayed full"))

    def _sender_has_ended(self, sender: asyncio.Task[None]) -> None:
        failure = _failure_of(sender)
        if failure is not None:
            self._break_off(failure)

    async def _end(self, sender: asyncio.Task[None], ended: BaseException | None) -> None:
        """End with its block, which was left by the exception `ended`, or None; raise what comes out of the block.

        A cancellation of ours that has not come yet comes here, at the latest: a task keeps it although it is taken
        back (until Python 3.13). So does one of somebody else who is earlier than the last `send`.
        """
        self._hub._leave(self)
        sender.cancel()
        cancellation = ended if isinstance(ended, asyncio.CancelledError) else None
        has_waited = False
        while not (has_waited and sender.done()):
            try:
                await asyncio.wait([sender])
            except asyncio.CancelledError as error:
                cancellation = error
            has_waited = True
        if self._reason is not None:
            self._task.uncancel()
        if cancellation is not None:
            if self._reason is None or self._task.cancelling() > self._cancelled_before:
                raise cancellation
            ended = None  # the cancellation was ours
        failures = [each for each in (ended, self._reason, _failure_of(sender)) if each is not None]
        others = [each for each in dict.fromkeys(failures) if not isinstance(each, SlowReader)] or failures[:1]
        if len(others) > 1:
            raise BaseExceptionGroup("a client's block, and its `send`", others)
        if others:
            raise others[0]


def _failure_of(sender: asyncio.Task[None]) -> BaseException | None:
    return None if sender.cancelled() else sender.exception()


class Hub(Generic[Message]):
    """Clients, their subscriptions, and `publish`.

    Args:
        dialect: The rules of topics and filters.
        room, patience, size: As for `Mailbox`; for each client.

    Attributes:
        routes: The trie of subscriptions; the subscribers are clients.
        clients: The set of clients that are connected.
        counters: What became of messages, of all clients together.

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
        self._size = size
        self._bounds = room, patience, size
        Mailbox(*self._bounds)  # refuses what makes no sense

    def __repr__(self) -> str:
        return f"<Hub: {len(self.clients)} clients, {self.routes.approximate_len()} subscriptions>"

    async def publish(self, topic: str, message: Message) -> int:
        """Give a message to each client that wants it; return how many copies mailboxes took.

        A client gets one copy, however many of its filters match, and one more for each group in which it is drawn.
        Clients get messages in the order of the calls, but for those by "newest": one that replaces an older message of
        its topic takes its place, before what was published in between.

        Copies for mailboxes with room are given first, and all others are then waited for together. So the caller is
        delayed as long as the slowest of these clients may delay publishers (see `Mailbox`), and other clients get
        this message at once.

        Raises:
            TopicError: The topic is not valid.
            TypeError, ValueError: `size` cannot tell the bytes of the message.
        """
        size = measured(self._size, message)
        taken, full = 0, []
        for client, slow, group in self._receivers(topic):
            one = Waiting(message, size, (topic, *group) if slow == "newest" else None)
            if client.mailbox._offer(one):
                taken += 1
            else:
                full.append(client.mailbox._queue(one, slow))
        if full:
            return taken + sum(await asyncio.gather(*full))
        await asyncio.sleep(0)  # a publisher that goes on and on lets the senders run
        return taken

    def _receivers(self, topic: str) -> list[tuple[Client[Message], Slow, tuple[str, ...]]]:
        """Who gets a copy, by which policy (of several, by the one that promises most), and for which group and filter
        of it: for none, or for the group and the filter in which it is a member."""
        own: dict[Client[Message], Slow] = {}
        of_groups: list[tuple[Client[Message], Slow, tuple[str, ...]]] = []
        for one in self.routes.deliveries(topic):
            slow: Slow = one.options["slow"]
            if one.group is not None:
                of_groups.append((one.subscriber, slow, (one.group, one.filter)))
            elif PROMISES[slow] >= PROMISES[own.get(one.subscriber, slow)]:
                own[one.subscriber] = slow
        return [*((client, slow, ()) for client, slow in own.items()), *of_groups]

    @asynccontextmanager
    async def connect(self, send: Callable[[Message], Awaitable[object]]) -> AsyncIterator[Client[Message]]:
        """Connect a client for the time of the block. `send` is awaited for each of its messages, in order.

        However the block ends, by an exception or a cancellation too, all subscriptions of the client end with it, and
        no publisher goes on waiting for it. Messages that still wait for it are lost, and counted as dropped, also if
        the block ends by itself; the last `send` is cancelled, and waited for. The block is broken off if `send`
        raises, by that exception, and if the client reads too slowly. If the task is cancelled at the same time as its
        block is broken off, or while the last `send` ends, it gets the CancelledError.

        Raises:
            SlowReader: The client reads too slowly.
            ConnectionError: What `send` awaits was cancelled, and not by the end of the block.
        """
        task = asyncio.current_task()
        assert task is not None
        client: Client[Message] = Client(self, Mailbox(*self._bounds), task)
        client.mailbox.counters = self.counters
        client.mailbox._when_closed = client._mailbox_is_closed
        sender = asyncio.create_task(client._send_all(send))
        sender.add_done_callback(client._sender_has_ended)
        self.clients.add(client)
        ended: BaseException | None = None
        try:
            yield client
        except BaseException as error:  # noqa: BLE001 (raised again below)
            ended = error
        try:
            await client._end(sender, ended)  # here, outside of `except`, what it raises keeps its own context
        finally:
            ended = None  # its traceback has this frame

    def _leave(self, client: Client[Message]) -> None:
        self.clients.discard(client)
        self.routes.unsubscribe_all(client)
        client.mailbox.close()
