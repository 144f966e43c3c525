"""A bounded mailbox: what waits for one reader, in bytes. If it is full, whoever brings a message waits.

A reader that takes quickly makes room, however long the burst. One that takes less than `room` bytes in `patience`
seconds of waiting is slow, and a policy decides what happens.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, Literal, TypeVar, get_args

__all__ = ["ROOM", "Counters", "Mailbox", "Slow", "SlowReader", "size_of"]

Message = TypeVar("Message")
Slow = Literal["close", "drop", "newest", "wait"]

ROOM: Final = 1 << 20  # bytes
PATIENCE: Final = 5.0  # seconds
EACH: Final = 64  # bytes that a waiting message takes besides its own
PROMISES: Final[dict[Slow, int]] = {"drop": 0, "newest": 1, "close": 2, "wait": 3}  # the more, the greater


def size_of(message: object) -> int:
    """The bytes of a text in UTF-8, or of an object with a buffer, such as `bytes`.

    Raises:
        TypeError: For any other message.
    """
    if isinstance(message, str):
        return len(message.encode("utf-8", "surrogatepass"))
    try:
        return memoryview(message).nbytes  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"how many bytes has a {type(message).__name__}? give Hub or Mailbox size=...") from None


class SlowReader(ConnectionError):
    """A client took too little while publishers waited for it (`Mailbox` says how little), or its mailbox is closed."""


@dataclass(slots=True)
class Counters:
    """What became of messages, as numbers that only grow. A message counts once for each mailbox that it is for.

    Attributes:
        taken: Messages that a mailbox took.
        sent: Messages that the reader has: in a hub, those whose `send` has returned; in a mailbox alone, those that
            `get` has returned.
        dropped: Messages that the reader does not get: not taken, or taken and then replaced, or still waiting when the
            mailbox was closed. Also those whose `send` raised or was cancelled, of which a part may have arrived. Of
            the retained values that wait for room together, one; by "newest", each waits by itself.
        closed_as_slow: Mailboxes that were closed because their reader was slow.
    """

    taken: int = 0
    sent: int = 0
    dropped: int = 0
    closed_as_slow: int = 0


@dataclass(slots=True, eq=False)
class Waiting(Generic[Message]):
    """A message for a mailbox. A newer one of the same key takes its place, in the mailbox or before it.

    In a hub, it has the subscription that it came by, and a position: all messages before have come when this one
    comes. So one that takes an older one's place takes its position, too.
    """

    message: Message
    size: int
    key: Hashable = None
    delivery: Any = None
    position: int = 0


def measured(size: Callable[[Message], int], message: Message) -> int:
    """The bytes that a message takes while it waits."""
    found = size(message)
    if not isinstance(found, int) or found < 0:  # type: ignore[redundant-expr]
        raise ValueError(f"size must return a whole number of bytes, zero or more, not {found!r}")
    return found + EACH


def check_policy(slow: Slow) -> None:
    if slow not in get_args(Slow):
        raise ValueError(f"slow must be one of {', '.join(get_args(Slow))}, not {slow!r}")


class Mailbox(Generic[Message]):
    """Messages that wait for one reader, in order, and take at most `room` bytes.

    A message larger than the room is taken when nothing else waits. One that replaces an older message may exceed the
    room, up to as much again. So bytes are bounded by twice the room, or by one message.

    Patience is a budget. The seconds in which publishers wait for the reader, one or many at a time, use it up; those
    with the policy "wait" do not count. What the reader takes earns it back: `patience` seconds for `room` bytes, and
    never more than the whole. A reader whose budget is used up is slow until it has caught up: until nothing waits. So
    it delays publishers by `patience` seconds in all, and by at most as many again for each `room` bytes that it takes.

    Args:
        room: How many bytes may wait. Each message counts by `size`, and 64 bytes more.
        patience: The budget, in seconds.
        size: The bytes of a message; `size_of` by default, for texts and what has a buffer.

    Attributes:
        bytes: How many bytes wait now; `len` is the number of messages.
        counters: What became of messages; clients of a hub share the hub's.
        closed: An event, set by `close`.
        is_stalled: Whether the reader is slow.

    Raises:
        ValueError, TypeError: An argument makes no sense.
    """

    def __init__(self, room: int = ROOM, patience: float = PATIENCE, size: Callable[[Message], int] = size_of) -> None:
        if not isinstance(room, int) or room < 1:  # type: ignore[redundant-expr]
            raise ValueError(f"room must be a whole number of bytes, at least one, not {room!r}")
        if not isinstance(patience, int | float) or not patience >= 0:  # type: ignore[redundant-expr]
            raise ValueError(f"patience must be zero or more seconds, not {patience!r}")
        if not callable(size):
            raise TypeError(f"size must be a function that returns the bytes of a message, not {size!r}")
        self.room = room
        self.patience = patience
        self.bytes = 0
        self.counters = Counters()
        self.closed = asyncio.Event()
        self.is_stalled = False
        self._size = size
        self._when_closed: Callable[[], object] = lambda: None
        self._waiting: deque[Waiting[Message]] = deque()
        self._by_key: dict[Hashable, Waiting[Message]] = {}
        self._arrived = asyncio.Event()  # a message for the reader, or the end
        # publishers that wait for room, in the order of their calls; by the keys of their messages, which no message
        # in the mailbox has, or else by the messages; with what else they bring, one after the other
        self._publishers: OrderedDict[
            Hashable, tuple[asyncio.Future[bool], Waiting[Message], Slow, Iterable[Waiting[Message]]]
        ] = OrderedDict()
        self._impatient = 0  # publishers with another policy than "wait"
        self._left = float(patience)  # seconds of the budget, if no alarm is set
        self._alarm: asyncio.TimerHandle | None = None  # at the end of the budget, while they wait

    def __len__(self) -> int:
        return len(self._waiting)

    def __repr__(self) -> str:
        return (
            f"<Mailbox: {len(self)} waiting, {self.bytes} of {self.room} bytes"
            f"{', closed' if self.closed.is_set() else ', stalled' if self.is_stalled else ''}>"
        )

    def offer(self, message: Message, key: Hashable = None) -> bool:
        """Take a message if there is room now; return whether it was taken. O(1), never waits.

        With a `key`, it takes the place of the message with the same key that still waits, so it comes before
        messages that were taken in between. For that there is room also while publishers wait. If it is so much longer
        that the mailbox would have more than twice its room, the older message is dropped, and the newer one is then
        like any other: what is no longer the newest does not come as if it were. O(messages that wait) then.
        """
        return self._offer(Waiting(message, measured(self._size, message), key))

    async def put(self, message: Message, key: Hashable = None, slow: Slow = "close") -> bool:
        """Take a message, when there is room for it; return whether it was taken. In a hub, it comes behind all that
        waits, retained values too, without a `Delivery` and a position, and is neither retained nor in the log.

        Messages are taken in the order of their calls; `key` is explained at `offer`. If there is no room and the
        reader is slow, or becomes slow while this waits, `slow` decides: "close" closes the mailbox, "drop" and
        "newest" drop the message, and "wait" waits on. A closed mailbox takes nothing. If the call is cancelled at the
        moment at which there is room, the message may have been taken.

        Raises:
            ValueError: There is no such policy.
        """
        check_policy(slow)
        one = Waiting(message, measured(self._size, message), key)
        return self._offer(one) or await self._queue(one, slow)

    async def get(self) -> Message:
        """Return the oldest message, when there is one. One task at a time.

        Raises:
            SlowReader: The mailbox has been closed.
        """
        one = await self._oldest()
        self.counters.sent += 1
        return one.message

    def close(self) -> None:
        """Take no more messages, drop those that wait, and let publishers that wait for room go on."""
        self.closed.set()
        self._when_closed()
        for place in list(self._publishers):
            self._answer(place, False)
        self.counters.dropped += len(self._waiting)
        self._waiting.clear()
        self._by_key.clear()
        self.bytes = 0
        self._arrived.set()

    def _offer(self, one: Waiting[Message]) -> bool:
        """Take a message if it replaces an older one, or if there is room and no other publisher waits for it."""
        older = self._by_key.get(one.key)
        if older is not None:
            return self._replace(older, one)
        return not self._publishers and self._take(one)

    def _take_all(self, several: Iterator[Waiting[Message]], slow: Slow) -> None:
        """Take messages, for which nobody waits. If there is no room, those without keys wait in the place of one
        publisher, and each is made only when there is room for the one before: they may be many. One with a key waits
        in a place of its own, which a newer one can take."""
        for one in several:
            if not self._offer(one):
                self._queue(one, slow, several if one.key is None else ())
                if one.key is None:
                    return

    def _queue(self, one: Waiting[Message], slow: Slow, rest: Iterable[Waiting[Message]] = ()) -> asyncio.Future[bool]:
        """Let a message wait for room, after others that do; the future says whether it was taken at last. It takes
        the place of one of the same key, which is dropped."""
        publisher: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        place: Hashable = one if one.key is None else one.key
        older = self._publishers.get(place)
        self._publishers[place] = publisher, one, slow, rest
        self._impatient += slow != "wait"
        if older is not None:
            one.position = older[1].position
            self._let_go_on(older[0], older[2], False)
        if self.closed.is_set():
            self._answer(place, False)
        elif self.is_stalled and slow != "wait":
            self._give_up(place, slow)
        else:
            publisher.add_done_callback(partial(self._cancelled, place))
            if self._alarm is None:
                self._earn(0)
        return publisher

    def _cancelled(self, place: Hashable, publisher: asyncio.Future[bool]) -> None:
        """Let the place of a publisher that was cancelled go to the next."""
        if self._publishers.get(place, (None,))[0] is publisher:
            self._answer(place, False)
            self._earn(0)

    def _answer(self, place: Hashable, is_taken: bool) -> None:
        """Let the publisher in a place go on."""
        publisher, _, slow, _ = self._publishers.pop(place)
        self._let_go_on(publisher, slow, is_taken)

    def _let_go_on(self, publisher: asyncio.Future[bool], slow: Slow, is_taken: bool) -> None:
        self._impatient -= slow != "wait"
        self.counters.dropped += not is_taken
        if not publisher.done():
            publisher.set_result(is_taken)

    def _give_up(self, place: Hashable, slow: Slow) -> None:
        """The reader is slow: do what the policy says."""
        if slow == "close":
            self.counters.closed_as_slow += 1
            self.close()
        elif slow != "wait":
            self._answer(place, False)

    def _stall(self) -> None:
        """The patience is used up."""
        self._alarm, self._left, self.is_stalled = None, 0.0, True
        for place, (_, _, slow, _) in list(self._publishers.items()):
            if place in self._publishers:  # it is not, if one before has closed the mailbox
                self._give_up(place, slow)
        self._admit()

    def _earn(self, seconds: float) -> None:
        """Take what there is room for, add to the patience, and let it run down while there are impatient publishers
        and the reader is not slow."""
        self._admit()
        if self._alarm is not None:
            self._left = max(0.0, self._alarm.when() - asyncio.get_running_loop().time())
            self._alarm.cancel()
            self._alarm = None
        self._left = min(self.patience, self._left + seconds)
        if self._impatient and not self.is_stalled:
            self._alarm = asyncio.get_running_loop().call_later(self._left, self._stall)

    def _admit(self) -> None:
        """Take the messages of publishers that wait, in order, as far as there is room."""
        while self._publishers:
            place, (publisher, one, slow, rest) = next(iter(self._publishers.items()))
            if publisher.done():  # cancelled
                self._answer(place, False)
            elif not self._take(one):
                return
            elif (following := next(iter(rest), None)) is None:
                self._answer(place, True)
            else:
                self._publishers[place] = publisher, following, slow, rest

    async def _oldest(self) -> Waiting[Message]:
        """Take the oldest message out, when there is one, and do not count it as sent."""
        while not self._waiting:
            if self.closed.is_set():
                raise SlowReader("the mailbox is closed")
            self._arrived.clear()
            await self._arrived.wait()
        one = self._waiting[0]
        self._by_key.pop(one.key, None)
        self.bytes -= one.size
        self.is_stalled = self.is_stalled and len(self) > 1
        self._earn(self.patience * (one.size / self.room))
        self._waiting.popleft()  # now: if what is taken next cannot be made, it is dropped with the others
        return one

    def _take(self, one: Waiting[Message]) -> bool:
        """Take a message that replaces none, if there is room; return whether it was taken."""
        if self.closed.is_set() or (self.bytes and self.bytes + one.size > self.room):
            return False
        self._waiting.append(one)
        if one.key is not None:
            self._by_key[one.key] = one
        self.bytes += one.size
        self.counters.taken += 1
        self._arrived.set()
        return True

    def _replace(self, older: Waiting[Message], one: Waiting[Message]) -> bool:
        """Give a message the place of an older one in the mailbox, or else drop that; return whether it was taken."""
        is_taken = len(self) == 1 or self.bytes - older.size + one.size <= 2 * self.room
        self.counters.dropped += 1
        self.bytes -= older.size
        if is_taken:
            self.counters.taken += 1
            older.message, older.size, older.delivery = one.message, one.size, one.delivery
            self.bytes += one.size
        else:
            self._waiting.remove(older)
            del self._by_key[older.key]
        return is_taken
