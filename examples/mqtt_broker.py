"""A small MQTT 5 broker: `SubscriptionTrie` finds who gets a message, `TopicStore`
keeps retained messages.

    python examples/mqtt_broker.py --port 1883

Real clients of MQTT 5 and 3.1.1 can use it (paho, mosquitto_pub, mosquitto_sub):
quality of service 0 to 2 with receive maximum and resending, sessions and their expiry,
shared subscriptions, subscription options and identifiers, retained messages, message
expiry, wills and their delay, keep-alive, topic aliases. It leaves out logins,
encryption, and a disk: all is lost when it ends.

What is worth copying:

- The trie keeps the options of each subscription (`qos`, `no_local`, ...), and
  `deliveries` returns them, so the broker has no second table. If several filters of a
  client match, the client gets one message, with the greatest quality of service and
  all subscription identifiers, as MQTT 5 (3.3.4) allows. Each of its shared
  subscriptions is delivered by itself (4.8.2).
- For a shared subscription, `deliveries` names one member, drawn by lot.
- What waits for a client is in a `subtrie.hub.Mailbox`, bounded in bytes. A publisher
  waits while the mailbox of a reader is full, so a burst loses nothing. A client that
  takes too little while publishers wait is disconnected, and while it is away its
  session keeps as many messages of quality 1 and 2 as fit.
- Retained messages are sent by a task of their own, as fast as the client reads,
  however many they are.
- `unsubscribe_all` is quick with `index=True`, so the subscriptions of a session that
  ends are removed at once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from subtrie import MQTT, SubscriptionTrie, TopicError, TopicStore
from subtrie.hub import Mailbox

from mqtt_packets import (
    ASSIGNED_CLIENT,
    BAD_ALIAS,
    BAD_FILTER,
    BAD_TOPIC,
    CONNACK,
    CONNECT,
    DISCONNECT,
    FORWARDED,
    KEEP_ALIVE,
    LONGEST_PACKET,
    MALFORMED,
    MAXIMUM_PACKET,
    MESSAGE_EXPIRY,
    NO_MATCH,
    NOT_FOUND,
    NOT_SUBSCRIBED,
    PINGREQ,
    PINGRESP,
    PROTOCOL,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    QUOTA,
    RECEIVE_MAXIMUM,
    SERVER_KEEP_ALIVE,
    SESSION_EXPIRY,
    SUBACK,
    SUBSCRIBE,
    SUBSCRIPTION_IDENTIFIER,
    TAKEN_OVER,
    TOO_MANY,
    TOPIC_ALIAS,
    TOPIC_ALIAS_MAXIMUM,
    UNSPECIFIED,
    UNSUBACK,
    UNSUBSCRIBE,
    V5,
    VERSION,
    WILL_DELAY,
    Properties,
    Reader,
    Refused,
    packet,
    properties,
    read_packet,
    short,
    text,
)

# bytes that wait for one client; as many may be on their way to it, and from it
ROOM = 1 << 20
LONGEST_KEEP_ALIVE = 60  # seconds
MOST_ALIASES = 16
# messages of quality 2 that a client may have under way. Older clients than those of
# MQTT 5 cannot be told, and may have one for each identifier
MOST_UNRELEASED = 1_000
# filters of a client whose retained messages are still to be sent
MOST_FILTERS_WAITING = 1_000
FOREVER = 0xFFFF_FFFF
LAST = (0, b"")  # in place of a message: the client sends no more


@dataclass(frozen=True)
class Message:
    """A message, as it was published. `expires` is a time of `monotonic`."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: Properties = ()
    expires: float | None = None

    @property
    def is_expired(self) -> bool:
        return self.expires is not None and self.expires <= monotonic()


@dataclass(frozen=True)
class Outgoing:
    """A message on its way to one client."""

    message: Message
    qos: int
    retain: bool
    identifiers: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.message.topic) + len(self.message.payload)

    def packet(
        self, version: int, identifier: int, again: bool, topic: str, alias: int
    ) -> bytes:
        message = self.message
        body = text(topic)
        if self.qos:
            body += short(identifier)
        if version == V5:
            kept = [each for each in message.properties if each[0] in FORWARDED]
            if message.expires is not None:
                kept.append(
                    (MESSAGE_EXPIRY, max(1, int(message.expires - monotonic())))
                )
            kept += ((SUBSCRIPTION_IDENTIFIER, each) for each in self.identifiers)
            if alias:
                kept.append((TOPIC_ALIAS, alias))
            body += properties(tuple(kept))
        return bytes(
            packet(
                PUBLISH,
                body + message.payload,
                again << 3 | self.qos << 1 | self.retain,
            )
        )


@dataclass(eq=False)
class Session:
    """What outlives a connection. It is the subscriber, so it is hashed by identity."""

    name: str
    expiry: int = 0  # seconds
    connection: Connection | None = None
    will: tuple[Message, int] | None = None  # and the seconds that it is delayed
    mailbox: Mailbox[Outgoing] = field(default_factory=lambda: Mailbox(ROOM, size=len))
    # not acknowledged; None: to be completed
    under_way: dict[int, Outgoing | None] = field(default_factory=dict)
    bytes_under_way: int = 0
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)
    # messages of quality 2 that the client has not released
    unreleased: set[int] = field(default_factory=set)
    ending: asyncio.Task[None] | None = None  # while it has no connection
    numbers: Iterator[int] = field(
        default_factory=lambda: itertools.cycle(range(1, 65_536))
    )

    def acknowledge(self, identifier: int) -> None:
        if (outgoing := self.under_way.pop(identifier, None)) is not None:
            self.bytes_under_way -= len(outgoing)
        self.acknowledged.set()

    def send_next(self, outgoing: Outgoing) -> int:
        """Note a message of quality 1 or 2 as under way; return its identifier."""
        identifier = next(
            number for number in self.numbers if number not in self.under_way
        )
        self.under_way[identifier] = outgoing
        self.bytes_under_way += len(outgoing)
        return identifier

    async def has_window(self, most: int) -> None:
        """Wait until another message of quality 1 or 2 may be sent."""
        while self.under_way and (
            len(self.under_way) >= most or self.bytes_under_way > ROOM
        ):
            self.acknowledged.clear()
            await self.acknowledged.wait()


@dataclass(eq=False)
class Connection:
    """A connection, as long as it lasts."""

    session: Session
    version: int
    writer: asyncio.StreamWriter
    keep_alive: int
    receive_maximum: int = 65_535
    largest: int = LONGEST_PACKET * 2  # bytes of a packet that the client takes
    # that the client has given to topics
    aliases: dict[int, str] = field(default_factory=dict)
    most_aliases: int = 0  # that the client takes
    own_aliases: dict[str, int] = field(default_factory=dict)  # that it has been told
    incoming: Mailbox[tuple[int, bytes]] = field(
        default_factory=lambda: Mailbox(ROOM, size=lambda one: len(one[1]))
    )
    subscribed: asyncio.Queue[tuple[str, int, tuple[int, ...]]] = field(
        default_factory=lambda: asyncio.Queue(MOST_FILTERS_WAITING)
    )

    async def write(self, kind: int, body: bytes, flags: int = 0) -> None:
        """Send a packet, as fast as the client reads."""
        self.writer.write(packet(kind, body, flags))
        await self.writer.drain()

    def end(self, reason: int) -> None:
        """Hang up. Clients of MQTT 5 are told why."""
        if not self.writer.is_closing():
            if self.version == V5:
                self.writer.write(packet(DISCONNECT, bytes([reason])))
            self.writer.close()

    async def send_all(self) -> None:
        """Send what waits in the session's mailbox, after what was under way when the
        last connection ended.
        """
        session = self.session
        for identifier, outgoing in list(session.under_way.items()):
            if outgoing is None:
                await self.write(PUBREL, short(identifier), 2)
            else:
                self._write_message(outgoing, identifier, again=True)
        while True:
            await session.has_window(self.receive_maximum)
            outgoing = await session.mailbox.get()
            if outgoing.message.is_expired:
                continue
            identifier = session.send_next(outgoing) if outgoing.qos else 0
            if self._write_message(outgoing, identifier, again=False):
                await self.writer.drain()
            else:
                session.acknowledge(identifier)

    def _write_message(self, outgoing: Outgoing, identifier: int, again: bool) -> bool:
        """Write a message, if it is not too large for the client; return whether it was
        written.
        """
        topic = outgoing.message.topic
        alias, is_known = self.own_aliases.get(topic, 0), topic in self.own_aliases
        if not is_known and len(self.own_aliases) < self.most_aliases:
            alias = len(self.own_aliases) + 1
        encoded = outgoing.packet(
            self.version, identifier, again, "" if is_known else topic, alias
        )
        if len(encoded) > self.largest:
            return False
        if alias:
            self.own_aliases[topic] = alias
        self.writer.write(encoded)
        return True


class Broker:
    """The subscriptions, the retained messages, and the sessions.

    Nobody can subscribe to a filter of `refused`, or to one within it. (A wider filter
    still gets those messages: this is no access control.)
    """

    def __init__(self, refused: tuple[str, ...] = ()) -> None:
        self.refused = [MQTT.split_filter(filter) for filter in refused]
        self.routes: SubscriptionTrie[Session] = SubscriptionTrie(MQTT, index=True)
        self.retained: TopicStore[Message] = TopicStore(MQTT)
        self.sessions: dict[str, Session] = {}
        self.lost = 0  # messages for which there was no room
        self._names = itertools.count(1)

    # ------------------------------------------------------------------------- messages

    async def publish(self, message: Message, sender: Session | None) -> int:
        """Give a message to all sessions that want it; return their number.

        It waits for readers that are busy.
        """
        if message.retain:
            if message.payload:
                self.retained[message.topic] = message
            else:
                self.retained.pop(message.topic, None)
        wanted = list(self._wanted(message, sender))
        waiting = [
            self._wait_for(session, one)
            for session, one in wanted
            if not self._give(session, one)
        ]
        if waiting:
            await asyncio.gather(*waiting)
        return len(wanted)

    def _wanted(
        self, message: Message, sender: Session | None
    ) -> Iterator[tuple[Session, Outgoing]]:
        """What to send to whom: one message for all filters of a session, and one for
        each of its shared ones.
        """
        merged: dict[Session, tuple[int, bool, tuple[int, ...]]] = {}
        for one in self.routes.deliveries(message.topic):
            options = one.options
            if options.get("no_local") and one.subscriber is sender:
                continue
            qos = min(options["qos"], message.qos)
            retain = message.retain and options.get("retain_as_published", False)
            known = options.get("subscription_identifier")
            identifiers: tuple[int, ...] = () if known is None else (known,)
            if one.group is not None:
                yield one.subscriber, Outgoing(message, qos, retain, identifiers)
            else:
                other = merged.get(one.subscriber, (0, False, ()))
                merged[one.subscriber] = (
                    max(qos, other[0]),
                    retain or other[1],
                    other[2] + identifiers,
                )
        for session, (qos, retain, identifiers) in merged.items():
            yield session, Outgoing(message, qos, retain, identifiers)

    def _give(self, session: Session, outgoing: Outgoing) -> bool:
        """Put a message into a mailbox; return whether that is done, or not worth
        waiting for.
        """
        if session.connection is None and not outgoing.qos:
            return True
        if session.mailbox.offer(outgoing):
            return True
        if session.connection is None:
            self.lost += 1
            return True
        return False

    async def _wait_for(self, session: Session, outgoing: Outgoing) -> None:
        if await session.mailbox.put(outgoing, slow="drop"):
            return
        self.lost += 1
        if outgoing.qos and session.connection is not None:
            session.connection.end(QUOTA)

    def _subscribe(
        self,
        connection: Connection,
        filter: str,
        flags: int,
        identifiers: tuple[int, ...],
    ) -> int:
        """Subscribe; return the reason code for the SUBACK."""
        qos, handling = flags & 3, flags >> 4 & 3
        shared = filter.startswith("$share/")
        if qos > 2 or handling > 2 or (shared and flags & 4):
            raise Refused(PROTOCOL, f"the options {flags:#x} of a subscription")
        options: dict[str, Any] = {
            "qos": qos,
            "no_local": bool(flags & 4),
            "retain_as_published": bool(flags & 8),
            "retain_handling": handling,
        }
        if identifiers:
            options["subscription_identifier"] = identifiers[0]
        try:
            wanted = MQTT.unshare(MQTT.split_filter(filter))[1]
            if any(MQTT.subsumes(refused, wanted) for refused in self.refused):
                return int(UNSPECIFIED)
            is_new = self.routes.subscribe(filter, connection.session, **options)
        except TopicError:
            return int(BAD_FILTER if connection.version == V5 else UNSPECIFIED)
        if not shared and (handling == 0 or (handling == 1 and is_new)):
            try:
                connection.subscribed.put_nowait((filter, qos, identifiers))
            except asyncio.QueueFull:
                raise Refused(
                    QUOTA,
                    "too many filters before their retained messages could be sent",
                ) from None
        return qos

    async def _send_retained(self, connection: Connection) -> None:
        """Send what is retained for new subscriptions, as fast as the client reads."""
        session = connection.session
        while True:
            filter, qos, identifiers = await connection.subscribed.get()
            for _, message in self.retained.matching(filter):
                if not message.is_expired:
                    outgoing = Outgoing(
                        message, min(qos, message.qos), True, identifiers
                    )
                    await session.mailbox.put(outgoing, slow="wait")

    # ------------------------------------------------------------------------- sessions

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one connection until it ends."""
        connection = None
        try:
            async with asyncio.timeout(LONGEST_KEEP_ALIVE):
                kind, _, body = await read_packet(reader)
            if kind != CONNECT:
                return
            connection = await self._connected(Reader(body), writer)
            async with asyncio.TaskGroup() as tasks:
                sending = tasks.create_task(connection.send_all())
                retained = tasks.create_task(self._send_retained(connection))
                publishing = tasks.create_task(self._publish_all(connection))
                broken = None
                try:
                    await self._obey(connection, reader)
                except (OSError, EOFError) as error:
                    broken = error
                await connection.incoming.put(LAST, slow="wait")
                await publishing  # what the client sent before its end
                sending.cancel()
                retained.cancel()
                if broken is not None:
                    raise broken
        except* (Refused, TopicError) as errors:
            if connection is not None:
                refused = next(
                    (each for each in errors.exceptions if isinstance(each, Refused)),
                    None,
                )
                connection.end(BAD_TOPIC if refused is None else refused.reason)
        except* TimeoutError:
            if connection is not None:
                connection.end(KEEP_ALIVE)
        except* (OSError, EOFError):
            pass
        finally:
            writer.close()
            if connection is not None:
                connection.incoming.close()
                await self._disconnected(connection)

    async def _connected(
        self, data: Reader, writer: asyncio.StreamWriter
    ) -> Connection:
        """Answer a CONNECT: continue a session, or begin one."""
        name, version, flags, keep_alive = (
            data.text(),
            data.byte(),
            data.byte(),
            data.short(),
        )
        if name != "MQTT" or version not in (4, V5) or flags & 1:
            if name == "MQTT" and version > V5:
                writer.write(packet(CONNACK, bytes([0, VERSION, 0])))
            raise EOFError
        described = dict(data.properties()) if version == V5 else {}
        answer: list[tuple[int, Any]] = []
        if not (client := data.text()):
            if version != V5 and not flags & 2:
                writer.write(packet(CONNACK, b"\0\2"))
                raise EOFError
            client = f"auto-{next(self._names)}"
            answer.append((ASSIGNED_CLIENT, client))
        will = self._will(data, flags, version) if flags & 4 else None
        session, is_present = await self._session(client, bool(flags & 2))
        session.expiry = (
            described.get(SESSION_EXPIRY, 0)
            if version == V5
            else 0
            if flags & 2
            else FOREVER
        )
        session.will = will
        if version == V5 and keep_alive > LONGEST_KEEP_ALIVE:
            keep_alive = LONGEST_KEEP_ALIVE
            answer.append((SERVER_KEEP_ALIVE, keep_alive))
        connection = Connection(session, version, writer, keep_alive)
        connection.receive_maximum = described.get(
            RECEIVE_MAXIMUM, connection.receive_maximum
        )
        connection.largest = described.get(MAXIMUM_PACKET, connection.largest)
        connection.most_aliases = min(
            described.get(TOPIC_ALIAS_MAXIMUM, 0), MOST_ALIASES
        )
        session.connection = connection
        answer += [
            (RECEIVE_MAXIMUM, MOST_UNRELEASED),
            (MAXIMUM_PACKET, LONGEST_PACKET),
            (TOPIC_ALIAS_MAXIMUM, MOST_ALIASES),
        ]
        writer.write(
            packet(
                CONNACK,
                bytes([is_present, 0])
                + (properties(tuple(answer)) if version == V5 else b""),
            )
        )
        return connection

    @staticmethod
    def _will(data: Reader, flags: int, version: int) -> tuple[Message, int]:
        described = data.properties() if version == V5 else ()
        topic, payload = data.text(), data.binary()
        MQTT.split_topic(topic)
        known = dict(described)
        return Message(
            topic, payload, flags >> 3 & 3, bool(flags & 32), described
        ), known.get(WILL_DELAY, 0)

    async def _session(self, client: str, is_clean: bool) -> tuple[Session, bool]:
        """Return a client's session, and whether it is an older one that goes on."""
        older = self.sessions.get(client)
        if older is not None:
            if older.connection is not None:
                older.connection.end(TAKEN_OVER)
                older.connection = None
            if older.ending is not None:
                older.ending.cancel()
                older.ending = None
            if not is_clean:
                older.mailbox.forgive()  # how slowly the last connection read
                return older, True
            await self._ended(older)
        session = self.sessions[client] = Session(client)
        return session, False

    async def _disconnected(self, connection: Connection) -> None:
        """The connection is gone: end its session, at once or when it expires.

        The will may be delayed as long.
        """
        session = connection.session
        if session.connection is not connection:
            return  # another connection has taken the session over
        session.connection = None
        delay = 0 if session.will is None else min(session.will[1], session.expiry)
        if not session.expiry:
            await self._ended(session)
        else:
            session.ending = asyncio.create_task(self._expire(session, delay))

    async def _expire(self, session: Session, delay: int) -> None:
        if session.will is not None:
            await asyncio.sleep(delay)
            will, session.will = session.will, None
            await self.publish(will[0], session)
        if session.expiry != FOREVER:
            await asyncio.sleep(session.expiry - delay)
            await self._ended(session)

    async def _ended(self, session: Session) -> None:
        """End a session: its subscriptions, what waits for it, and its will."""
        if self.sessions.get(session.name) is session:
            del self.sessions[session.name]
        self.routes.unsubscribe_all(session)
        session.mailbox.close()
        will, session.will = session.will, None
        if will is not None:
            await self.publish(will[0], session)

    # -------------------------------------------------------------------------- packets

    async def _obey(self, connection: Connection, reader: asyncio.StreamReader) -> None:
        """Handle a client's packets until it sends DISCONNECT.

        Its messages are published by a task of their own. While that waits for a busy
        reader, acknowledgements still come through here.
        """
        session, patience = connection.session, connection.keep_alive * 1.5 or None
        while True:
            async with asyncio.timeout(patience):
                kind, flags, body = await read_packet(reader)
            data = Reader(body)
            if kind == PUBLISH:
                await connection.incoming.put((flags, body), slow="wait")
            elif kind in (PUBACK, PUBCOMP):
                session.acknowledge(data.identifier())
            elif kind == PUBREC:
                await self._received(connection, data)
            elif kind == PUBREL:
                identifier = data.identifier()
                known = identifier in session.unreleased
                session.unreleased.discard(identifier)
                unknown = (
                    bytes([NOT_FOUND])
                    if connection.version == V5 and not known
                    else b""
                )
                await connection.write(PUBCOMP, short(identifier) + unknown)
            elif kind == SUBSCRIBE:
                await self._subscribed(connection, data)
            elif kind == UNSUBSCRIBE:
                await self._unsubscribed(connection, data)
            elif kind == PINGREQ:
                await connection.write(PINGRESP, b"")
            elif kind == DISCONNECT:
                if connection.version == V5 and data:
                    if data.byte() == 0x04:  # with the will
                        raise EOFError
                    session.expiry = dict(data.properties() if data else ()).get(
                        SESSION_EXPIRY, session.expiry
                    )
                session.will = None
                return
            else:
                raise Refused(PROTOCOL, f"a packet of kind {kind}")

    @staticmethod
    async def _received(connection: Connection, data: Reader) -> None:
        """The client has a message of quality 2: do not resend, but complete it."""
        session, identifier = connection.session, data.identifier()
        if connection.version == V5 and data and data.byte() >= 0x80:
            session.acknowledge(identifier)
            return
        if session.under_way.get(identifier) is not None:
            session.acknowledge(identifier)
            session.under_way[identifier] = None
        await connection.write(PUBREL, short(identifier), 2)

    async def _publish_all(self, connection: Connection) -> None:
        """Publish a client's messages, in order; acknowledge each when all who want it
        have it in their mailbox.
        """
        while (incoming := await connection.incoming.get()) is not LAST:
            flags, body = incoming
            await self._published(connection, flags, Reader(body))

    async def _published(
        self, connection: Connection, flags: int, data: Reader
    ) -> None:
        session, qos, topic = connection.session, flags >> 1 & 3, data.text()
        if qos == 3:
            raise Refused(MALFORMED, "there is no quality of service 3")
        identifier = data.identifier() if qos else 0
        described = data.properties() if connection.version == V5 else ()
        known = dict(described)
        if SUBSCRIPTION_IDENTIFIER in known:
            raise Refused(
                PROTOCOL, "a client's message has no identifier of a subscription"
            )
        if TOPIC_ALIAS in known:
            topic = self._aliased(connection, known[TOPIC_ALIAS], topic)
        MQTT.split_topic(topic)
        expires = (
            monotonic() + known[MESSAGE_EXPIRY] if MESSAGE_EXPIRY in known else None
        )
        message = Message(topic, data.rest(), qos, bool(flags & 1), described, expires)
        is_new = qos < 2 or identifier not in session.unreleased
        if qos == 2 and is_new:
            is_full = len(session.unreleased) >= MOST_UNRELEASED
            if is_full and connection.version == V5:
                raise Refused(
                    TOO_MANY, "more messages of quality 2 than the receive maximum"
                )
            session.unreleased.add(identifier)
        found = await self.publish(message, session) if is_new else 1
        if qos:
            reason = (
                bytes([NO_MATCH]) if connection.version == V5 and not found else b""
            )
            await connection.write(
                PUBACK if qos == 1 else PUBREC, short(identifier) + reason
            )

    @staticmethod
    def _aliased(connection: Connection, alias: int, topic: str) -> str:
        if not 0 < alias <= MOST_ALIASES or (
            not topic and alias not in connection.aliases
        ):
            raise Refused(BAD_ALIAS, f"the alias {alias} of a topic")
        if topic:
            connection.aliases[alias] = topic
        return connection.aliases[alias]

    async def _subscribed(self, connection: Connection, data: Reader) -> None:
        answered = short(data.identifier())
        described = dict(data.properties()) if connection.version == V5 else {}
        wanted = []
        while data:
            wanted.append((data.text(), data.byte()))
        if not wanted:
            raise Refused(PROTOCOL, "a SUBSCRIBE without a filter")
        identifiers = (
            (described[SUBSCRIPTION_IDENTIFIER],)
            if SUBSCRIPTION_IDENTIFIER in described
            else ()
        )
        allowed = 0x3F if connection.version == V5 else 3
        codes = [
            self._subscribe(connection, filter, flags & allowed, identifiers)
            for filter, flags in wanted
        ]
        await connection.write(
            SUBACK,
            answered + (b"\0" if connection.version == V5 else b"") + bytes(codes),
        )

    async def _unsubscribed(self, connection: Connection, data: Reader) -> None:
        answered, codes = short(data.identifier()), []
        if connection.version == V5:
            data.properties()
        while data:
            try:
                codes.append(
                    0
                    if self.routes.unsubscribe(data.text(), connection.session)
                    else NOT_SUBSCRIBED
                )
            except TopicError:
                codes.append(BAD_FILTER)
        await connection.write(
            UNSUBACK,
            answered + (b"\0" + bytes(codes) if connection.version == V5 else b""),
        )


async def run(
    port: int,
    ready: asyncio.Future[int] | None = None,
    refused: tuple[str, ...] = (),
) -> None:
    """Serve until cancelled. `ready` gets the port."""
    broker = Broker(refused)
    server = await asyncio.start_server(broker.serve, "127.0.0.1", port)
    if ready is not None:
        ready.set_result(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve on the port of the command line."""
    parser = argparse.ArgumentParser(
        description="A small MQTT 5 broker, for this machine only."
    )
    parser.add_argument("--port", type=int, default=1883)
    parser.add_argument(
        "--refuse",
        action="append",
        default=[],
        metavar="FILTER",
        help="nobody can subscribe to FILTER, or to a filter within it",
    )
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        print(f"MQTT on 127.0.0.1:{options.port}; Ctrl-C ends it", flush=True)
        asyncio.run(run(options.port, refused=tuple(options.refuse)))


if __name__ == "__main__":
    main()
