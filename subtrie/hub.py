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
import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from inspect import iscoroutinefunction, isfunction, signature
from typing import Any, Generic

from subtrie import Delivery, SubscriptionTrie, TopicStore
from subtrie.dialects import MQTT, Dialect
from subtrie.mailbox import (
    PATIENCE,
    PROMISES,
    ROOM,
    Counters,
    Mailbox,
    Message,
    Slow,
    SlowReader,
    Waiting,
    check_policy,
    measured,
    size_of,
)

__all__ = ["ROOM", "Client", "Closed", "Counters", "Hub", "Mailbox", "Slow", "SlowReader", "size_of"]

Send = Callable[..., Awaitable[object]]


class Closed(ConnectionError):
    """A client was closed by `Client.close`, which gave the reason."""


class Client(Generic[Message]):
    """A client of a hub: the subscriber in the hub's trie. `Hub.connect` makes it.

    Attributes:
        mailbox: What waits for it.
        position: That of the message that `send` is at, or was at last, in the order of `Hub.publish`. Tell it to the
            other side, which names it when it comes back (`resume`). A new client has that of the hub.
    """

    def __init__(self, hub: Hub[Message], mailbox: Mailbox[Message], send: Send) -> None:
        self.mailbox = mailbox
        self.position = hub.position
        self._hub = hub
        self._task: Any = asyncio.current_task()  # whose block it is
        self._cancelled_before: int = asyncio.current_task().cancelling()  # type: ignore[union-attr]
        self._reason: BaseException | None = None  # why its block is broken off
        self._takes_deliveries = _takes_deliveries(send)
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
            TypeError, ValueError: There is no such policy, or `size` cannot tell the bytes of what is retained.
            ConnectionError: The client has left.
        """
        check_policy(slow)
        if self not in self._hub.clients:
            raise ConnectionError("the client has left")
        hub, but = self._hub, options.get("but", ())
        if hub.retained is None or (hub.routes.dialect.queue_groups and options.get("queue") is not None):
            return hub.routes.subscribe(filter, self, slow=slow, **options)
        kept = hub.retained.snapshot()
        for _, value in kept.matching(filter, but=but):
            measured(hub._size, value)  # raises now, before anything has changed
        is_new = hub.routes.subscribe(filter, self, slow=slow, **options)
        self.mailbox._take_all(
            self._retained(
                kept.matching(filter, but=but),
                filter,
                slow == "newest",
                hub.position,
                {*self.mailbox._by_key, *self.mailbox._publishers},
            ),
            slow,
        )
        return is_new

    def _retained(
        self,
        found: Iterable[tuple[str, Message]],
        filter: str,
        by_newest: bool,
        position: int,
        newer: Collection[Any],
    ) -> Iterator[Waiting[Message]]:
        """What is retained and comes by a filter, without topics whose keys are in `newer`: of these a message waited
        at `subscribe` that is at least as new. If one cannot be made, the client leaves: it would miss the rest."""
        try:
            for topic, value in found:
                key = topic, None, None
                for one in self._hub.routes.deliveries_of(topic, self):
                    if (one.filter, one.group) == (filter, None) and key not in newer:
                        yield Waiting(
                            value, measured(self._hub._size, value), key if by_newest else None, one, position
                        )
        except Exception as error:
            self._break_off(error)
            self._hub._leave(self)
            raise

    def resume(
        self,
        position: int,
        filters: Iterable[str] | Mapping[str, Mapping[str, Any]],
        *,
        slow: Slow = "close",
        **options: Any,
    ) -> int:
        """Subscribe to all `filters`, as one who was here before; return how many messages of the hub's log that gives:
        those after `position`, each once, in order, before what is published from now on. No retained values come, and
        of groups nothing. By "newest", a message may come again.

        Args:
            position: `position` at the last message that the other side has.
            filters: Several filters, or a mapping of filters to options that each has before or besides these.

        Raises:
            LookupError: The log does not reach back to it, or it is of another hub. Subscribe anew.
            ValueError: The client has subscriptions or messages already, or there is no such policy.
            TypeError: `position` is no integer, or `filters` is one text.
            TopicError, ConnectionError: As for `subscribe`.
        """
        if isinstance(filters, str) or not isinstance(position, int):
            raise TypeError(
                "resume() takes a position, which is a whole number, and several filters in a list, "
                f"not {position!r} and a {type(filters).__name__}"
            )
        given: Mapping[str, Any] = filters if isinstance(filters, Mapping) else {each: {} for each in filters}
        hub, wanted = self._hub, {filter: {"slow": slow, **options, **own} for filter, own in given.items()}
        for each in wanted.values():
            check_policy(each["slow"])
        first = hub._log[0][1].position if hub._log else hub.position + 1
        if not first - 1 <= position <= hub.position:
            raise LookupError(
                f"the log {f'has {first} to {hub.position}' if hub._log else 'is empty, or there is none: Hub(log=)'}"
                f", and {position} is not before: subscribe anew"
            )
        if self not in hub.clients:
            raise ConnectionError("the client has left")
        if hub.routes.filters(self) or len(self.mailbox):
            raise ValueError("resume comes before all subscriptions of a client, and names all of them")
        hub.routes.subscribe_many([(filter, self, own) for filter, own in wanted.items()])
        self.position = position
        return sum(self._give(topic, one, wanted) for topic, one in hub._log if one.position > position)

    def _give(self, topic: str, before: Waiting[Message], filters: Collection[str]) -> bool:
        """Give a message of before, by the subscription to one of `filters` that promises most; return whether there is
        one. It waits for room as that of a publisher does; nobody waits for it."""
        own = [
            one for one in self._hub.routes.deliveries_of(topic, self) if one.group is None and one.filter in filters
        ]
        if own:
            best = max(own, key=lambda one: PROMISES[one.options["slow"]])
            one = replace(before, key=_key(topic, best), delivery=best)
            self.mailbox._take_all(iter([one]), best.options["slow"])
        return bool(own)

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
        while not self.mailbox.closed.is_set():
            if not len(self.mailbox):
                self._idle.set()
            await self._send_one(send)

    async def _send_one(self, send: Send) -> None:
        one = await self.mailbox._oldest()
        self._idle.clear()
        self.position = max(self.position, one.position)  # who puts a message by itself gives it none
        try:
            await (send(one.message, one.delivery) if self._takes_deliveries else send(one.message))
        except BaseException:
            self.mailbox.counters.dropped += 1
            raise
        self.mailbox.counters.sent += 1

    def _break_off(self, reason: BaseException | None) -> None:
        """Cancel the task whose block it is if there is a reason, once, and not if the block has ended."""
        if reason is not None and self._reason is None and self in self._hub.clients:
            self._reason = reason
            self._task.cancel()

    def _mailbox_is_closed(self) -> None:
        self._break_off(
            SlowReader("the client reads too slowly: its mailbox stayed full" if self.mailbox.is_stalled else "closed")
        )

    def _sender_has_ended(self, sender: asyncio.Task[None]) -> None:
        cancelled = ConnectionError("`send` was cancelled, while its client had not left")
        self._break_off(cancelled if sender.cancelled() else sender.exception())

    async def _end(self, sender: asyncio.Task[None], ended: BaseException | None) -> None:
        """End with its block, which was left by the exception `ended`, or None; raise what comes out of the block.

        A cancellation of ours that has not come yet comes here, at the latest: a task keeps it although it is taken
        back (until Python 3.13). So does one of somebody else who is earlier than the last `send`.
        """
        if sender.done():
            self._sender_has_ended(sender)  # its callback may be yet to come, and finds nobody then
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
        failure = None if sender.cancelled() else sender.exception()
        found = {id(each): each for each in (ended, self._reason, failure) if each is not None}  # some have no hash
        others = [each for each in found.values() if not isinstance(each, SlowReader)] or [*found.values()][:1]
        if len(others) > 1:
            raise BaseExceptionGroup("a client's block, and its `send`", others)
        if others:
            raise others[0]


class Hub(Generic[Message]):
    """Clients, their subscriptions, and `publish`.

    Args:
        dialect: The rules of topics and filters.
        room, patience, size: As for `Mailbox`; for each client.
        retained: A store of the same dialect, which keeps the last message of each topic for those who subscribe later.
        log: How many bytes of the last messages are kept for clients that come back (`Client.resume`).

    Attributes:
        routes: The trie of subscriptions; the subscribers are clients.
        clients: The set of clients that are connected.
        counters: What became of messages, of all clients together.
        position: The number of the last message. The first one is drawn by lot, of 48 bits, so that the positions of
            another hub are hardly ever those of this one, and JSON's readers have them exactly.

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
        log: int = 0,
    ) -> None:
        if not isinstance(log, int) or log < 0:  # type: ignore[redundant-expr]
            raise ValueError(f"log must be a whole number of bytes, zero or more, not {log!r}")
        if retained is not None and retained.dialect != dialect:
            raise ValueError(f"retained= is a store of {retained.dialect.name}, and the hub is of {dialect.name}")
        self.retained = retained
        self.routes: SubscriptionTrie[Client[Message]] = SubscriptionTrie(dialect, index=True)
        self.clients: set[Client[Message]] = set()
        self.counters = Counters()
        self.position = int.from_bytes(os.urandom(6), "big")
        self._log: deque[tuple[str, Waiting[Message]]] = deque()
        self._log_room = log
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
        this message at once. If the call is cancelled meanwhile, those that it waits for do not get the message; the
        store and the log have it.

        Raises:
            TopicError: The topic is not valid.
            TypeError, ValueError: `size` cannot tell the bytes of the message.
        """
        size = measured(self._size, message)
        taken, full = 0, []
        receivers = self._receivers(topic, sender, key)
        if retain and self.retained is not None:
            self.retained[topic] = message
        self.position += 1
        self._log.append((topic, Waiting(message, size, position=self.position)))
        self._log_room -= size
        while self._log_room < 0:
            self._log_room += self._log.popleft()[1].size
        for delivery in receivers:
            one = Waiting(message, size, _key(topic, delivery), delivery, self.position)
            if delivery.subscriber.mailbox._offer(one):
                taken += 1
            else:
                full.append(delivery.subscriber.mailbox._queue(one, delivery.options["slow"]))
        if full:
            return taken + sum(await asyncio.gather(*full))
        await asyncio.sleep(0)  # a publisher that goes on and on lets the senders run
        return taken

    async def drain(self) -> None:
        """Wait until all that was published has been sent, or its client has left, as before a shutdown. It does not
        end while publishers go on: stop them first, and bound it with `asyncio.timeout`."""
        await asyncio.gather(*(client._drained() for client in self.clients))

    def _receivers(self, topic: str, sender: object, key: object) -> list[Delivery[Client[Message]]]:
        """By which subscriptions clients get a copy: each one in a group, and of a client's others the one that
        promises most."""
        found: dict[tuple[Any, ...], Delivery[Client[Message]]] = {}
        for one in self.routes.deliveries(topic, sender=sender, key=key):
            place = one.subscriber, one.group, one.group is not None and one.filter
            if PROMISES[one.options["slow"]] >= PROMISES[found.get(place, one).options["slow"]]:
                found[place] = one
        return list(found.values())

    @asynccontextmanager
    async def connect(self, send: Send) -> AsyncIterator[Client[Message]]:
        """Connect a client for the time of the block. `send` is awaited for each of its messages, in order; if it needs
        two arguments, with the `Delivery` as the second, which has filter, options and words; with None, if somebody
        put the message into `Client.mailbox`.

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
        client: Client[Message] = Client(self, Mailbox(*self._bounds), send)
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
        client._idle.set()


def _key(topic: str, delivery: Delivery[Any]) -> tuple[Any, ...] | None:
    """What a newer message replaces an older one by, if by any: the topic, and of groups the subscription."""
    return (topic, delivery.group, delivery.group and delivery.filter) if delivery.options["slow"] == "newest" else None


def _takes_deliveries(send: Send) -> bool:
    """Whether `send` needs a second argument. A plain function is refused; a lambda may return what can be awaited."""
    if isfunction(send) and not iscoroutinefunction(send) and send.__name__ != "<lambda>":
        raise TypeError(f"send is awaited for each message: make it `async def {send.__name__}`")
    try:
        parameters = signature(send).parameters.values()
    except (TypeError, ValueError):  # it does not tell
        return False
    # A second one that may be left out is something else: `text` of the `send` of websockets, `compress` in aiohttp.
    return sum(each.default is each.empty and each.kind <= each.POSITIONAL_OR_KEYWORD for each in parameters) > 1
