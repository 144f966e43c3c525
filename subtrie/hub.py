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
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from inspect import iscoroutinefunction, isfunction, signature
from typing import Any, Generic, TypeVar

from subtrie import Delivery, SubscriptionTrie, TopicStore
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

__all__ = ["ROOM", "Client", "Closed", "Counters", "Hub", "Mailbox", "Slow", "SlowReader", "size_of"]

Message = TypeVar("Message")


Send = Callable[..., Awaitable[object]]


class Closed(ConnectionError):
    """A client was closed by `Client.close`, which gave the reason."""


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
        self._takes_deliveries = False
        self._idle = asyncio.Event()  # nothing has been waiting since the last `send` returned

    def __repr__(self) -> str:
        filters = sorted(self._hub.routes.filters(self))
        more = f" and {len(filters) - 3} more" if len(filters) > 3 else ""
        return f"<Client of {', '.join(filters[:3]) or 'nothing'}{more}: {self.mailbox!r}>"

    def subscribe(self, filter: str, *, slow: Slow = "close", **options: Any) -> bool:
        """Subscribe to `filter`; return whether that is new. `slow` is said at `Mailbox.put`.

        It gets what the hub has `retained` of the filter's topics first, and then what is published. A group gets none.

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
        is_new = self._hub.routes.subscribe(filter, self, slow=slow, **options)
        if self._hub.retained is not None and not self._hub._is_of_group(filter, options):
            for topic, value in self._hub.retained.matching(filter, but=options.get("but", ())):
                self._give_retained(topic, value, filter, slow)
        return is_new

    def _give_retained(self, topic: str, value: Message, filter: str, slow: Slow) -> None:
        """Give a retained value, unless a message of its topic waits that is at least as new. It waits for room as that
        of a publisher does; nobody waits for it."""
        key = (topic,) if slow == "newest" else None
        if key is not None and key in self.mailbox._by_key:
            return
        found = self._hub.routes.deliveries_of(topic, self) if self._takes_deliveries else ()
        delivery = next((each for each in found if each.filter == filter), None)
        one = Waiting(value, measured(self._hub._size, value), key, delivery)
        if not self.mailbox._offer(one):
            self.mailbox._queue(one, slow)

    def unsubscribe(self, filter: str, *, queue: str | None = None) -> bool:
        """Unsubscribe from `filter`, in the group `queue` if one is named; return whether it was subscribed."""
        return self._hub.routes.unsubscribe(filter, self, queue=queue)

    def close(self, reason: str = "closed") -> None:
        """End its block by `Closed`, with this reason, and its subscriptions now. A client that is gone stays gone."""
        self._break_off(Closed(reason))
        self._hub._leave(self)

    async def _drained(self) -> None:
        """Wait until nothing waits and no `send` is under way, or it has left."""
        if len(self.mailbox):
            self._idle.clear()
        await self._idle.wait()

    async def _send_all(self, send: Send) -> None:
        """Send messages until the mailbox is closed, also if `send` does not let itself be cancelled then."""
        try:
            while not self.mailbox.closed.is_set():
                if not len(self.mailbox):
                    self._idle.set()
                await self._send_one(send)
        except asyncio.CancelledError as error:
            if self.mailbox.closed.is_set():
                raise
            raise ConnectionError("`send` was cancelled, while its client had not left") from error

    async def _send_one(self, send: Send) -> None:
        one = await self.mailbox._oldest()
        self._idle.clear()
        try:
            await (send(one.message, one.delivery) if self._takes_deliveries else send(one.message))
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
        is_slow = self.mailbox.is_stalled
        self._break_off(SlowReader("the client reads too slowly: its mailbox stayed full" if is_slow else "closed"))

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
        retained: A store of the same dialect, which keeps the last message of each topic for those who subscribe later.

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
        retained: TopicStore[Message] | None = None,
    ) -> None:
        if retained is not None and retained.dialect != dialect:
            raise ValueError(f"retained= is a store of {retained.dialect.name}, and the hub is of {dialect.name}")
        self.retained = retained
        self.routes: SubscriptionTrie[Client[Message]] = SubscriptionTrie(dialect, index=True)
        self.clients: set[Client[Message]] = set()
        self.counters = Counters()
        self._size = size
        self._bounds = room, patience, size
        Mailbox(*self._bounds)  # refuses what makes no sense

    def __repr__(self) -> str:
        return f"<Hub: {len(self.clients)} clients, {self.routes.approximate_len()} subscriptions>"

    async def publish(
        self, topic: str, message: Message, *, sender: object = None, key: object = None, retain: bool = True
    ) -> int:
        """Give a message to each client that wants it; return how many copies mailboxes took. `sender` and `key` are
        those of `SubscriptionTrie.deliveries`. A hub with `retained` keeps the message, unless `retain` is False.

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
        receivers = self._receivers(topic, sender, key)
        if retain and self.retained is not None:
            self.retained[topic] = message
        for client, delivery, group in receivers:
            slow: Slow = delivery.options["slow"]
            one = Waiting(message, size, (topic, *group) if slow == "newest" else None, delivery)
            if client.mailbox._offer(one):
                taken += 1
            else:
                full.append(client.mailbox._queue(one, slow))
        if full:
            return taken + sum(await asyncio.gather(*full))
        await asyncio.sleep(0)  # a publisher that goes on and on lets the senders run
        return taken

    async def drain(self) -> None:
        """Wait until all that was published has been sent, or its client has left, as before a shutdown. It does not
        end while publishers go on: stop them first, and bound it with `asyncio.timeout`."""
        await asyncio.gather(*(client._drained() for client in self.clients))

    def _receivers(
        self, topic: str, sender: object, key: object
    ) -> list[tuple[Client[Message], Delivery[Client[Message]], tuple[str, ...]]]:
        """Who gets a copy, by which subscription (of several, by the policy that promises most), and for which group
        and filter of it: for none, or for those in which it is a member."""
        own: dict[Client[Message], Delivery[Client[Message]]] = {}
        of_groups: list[tuple[Client[Message], Delivery[Client[Message]], tuple[str, ...]]] = []
        for one in self.routes.deliveries(topic, sender=sender, key=key):
            if one.group is not None:
                of_groups.append((one.subscriber, one, (one.group, one.filter)))
            elif PROMISES[one.options["slow"]] >= PROMISES[own.get(one.subscriber, one).options["slow"]]:
                own[one.subscriber] = one
        return [*((client, one, ()) for client, one in own.items()), *of_groups]

    @asynccontextmanager
    async def connect(self, send: Send) -> AsyncIterator[Client[Message]]:
        """Connect a client for the time of the block. `send` is awaited for each of its messages, in order; if it takes
        two arguments, with the `Delivery` as the second, which has filter, options and words.

        However the block ends, by an exception or a cancellation too, all subscriptions of the client end with it, and
        no publisher goes on waiting for it. Messages that still wait for it are lost, and counted as dropped, also if
        the block ends by itself; the last `send` is cancelled, and waited for. The block is broken off if `send`
        raises, by that exception, and if the client reads too slowly. If the task is cancelled at the same time as its
        block is broken off, or while the last `send` ends, it gets the CancelledError.

        Raises:
            SlowReader: The client reads too slowly.
            Closed: It was closed by `Client.close`.
            TypeError: `send` is no function that can be awaited.
            ConnectionError: What `send` awaits was cancelled, and not by the end of the block.
        """
        task = asyncio.current_task()
        assert task is not None
        client: Client[Message] = Client(self, Mailbox(*self._bounds), task)
        client._takes_deliveries = _takes_deliveries(send)
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

    def _is_of_group(self, filter: str, options: Mapping[str, Any]) -> bool:
        dialect = self.routes.dialect
        return dialect.unshare(dialect.split_filter(filter))[0] is not None or (
            dialect.queue_groups and options.get("queue") is not None
        )

    def _leave(self, client: Client[Message]) -> None:
        self.clients.discard(client)
        self.routes.unsubscribe_all(client)
        client.mailbox.close()
        client._idle.set()


def _takes_deliveries(send: Send) -> bool:
    """Whether `send` takes a second argument. A plain function is refused; a lambda may return what can be awaited."""
    if isfunction(send) and not iscoroutinefunction(send) and send.__name__ != "<lambda>":
        raise TypeError(f"send is awaited for each message: make it `async def {send.__name__}`")
    try:
        signature(send).bind(None, None)
    except (TypeError, ValueError):  # it takes one, or does not tell
        return False
    return True
