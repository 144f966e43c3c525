"""A small MQTT 5 broker. `SubscriptionTrie` finds the clients that get a message; `TopicStore` keeps retained messages.

    python examples/mqtt_broker.py --port 1883

Real clients of MQTT 5 and 3.1.1 can use it (paho, mosquitto_pub, mosquitto_sub): quality of service 0 to 2, shared
subscriptions, no-local, retain-as-published, retain-handling, subscription identifiers, retained messages, wills. It
leaves out what has nothing to do with topics: sessions that outlive their connection, logins, encryption, topic
aliases, and resending messages that were not acknowledged.

What is worth copying:

- The trie keeps the options of each subscription (`qos`, `no_local`, ...), and `deliveries` returns them, so the broker
  has no second table. If several filters of a client match, the client gets one message, with the greatest quality of
  service and all subscription identifiers, as MQTT 5 (3.3.4) allows.
- For a shared subscription, `deliveries` names one member: the one whose turn it is.
- Each client has its own bounded queue, so a client that reads too slowly harms only itself.
- `unsubscribe_all` is quick with `index=True`, so the subscriptions of a client that leaves are removed at once.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from subtrie import MQTT, SubscriptionTrie, TopicError, TopicStore

CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP = range(1, 8)
SUBSCRIBE, SUBACK, UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT = range(8, 15)
V5 = 5
NO_MATCH, UNSPECIFIED, MALFORMED, PROTOCOL, BAD_FILTER, BAD_TOPIC = 0x10, 0x80, 0x81, 0x82, 0x8F, 0x90
LONGEST_PACKET = 1 << 20
LONGEST_QUEUE = 1_000

# The properties of MQTT 5 by type: a byte, two, four, a number of variable length, a text, bytes, a pair of texts.
BYTES = {0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A}
SHORTS, LONGS, NUMBERS = {0x13, 0x21, 0x22, 0x23}, {0x02, 0x11, 0x18, 0x27}, {0x0B}
TEXTS, BINARY, PAIRS = {0x03, 0x08, 0x12, 0x15, 0x1A, 0x1C, 0x1F}, {0x09, 0x16}, {0x26}
SUBSCRIPTION_IDENTIFIER, ASSIGNED_CLIENT, TOPIC_ALIAS = 0x0B, 0x12, 0x23
FORWARDED = {0x01, 0x02, 0x03, 0x08, 0x09, 0x26}  # properties of a message that its receivers get, too


class Malformed(Exception):
    """The client breaks the rules of MQTT. The broker sends it the code `reason`."""

    def __init__(self, reason: int, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Reader:
    """The part of a packet that is still to be read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bool__(self) -> bool:
        return bool(self._data)

    def take(self, size: int) -> bytes:
        if size > len(self._data):
            raise Malformed(MALFORMED, "the packet ends too early")
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def rest(self) -> bytes:
        return self.take(len(self._data))

    def byte(self) -> int:
        return self.take(1)[0]

    def short(self) -> int:
        return int.from_bytes(self.take(2))

    def binary(self) -> bytes:
        return self.take(self.short())

    def text(self) -> str:
        try:
            return self.binary().decode()
        except UnicodeDecodeError:
            raise Malformed(MALFORMED, "a text is not UTF-8") from None

    def number(self) -> int:
        value = 0
        for shift in (0, 7, 14, 21):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Malformed(MALFORMED, "a number of variable length is too long")

    def properties(self) -> list[tuple[int, Any]]:
        block = Reader(self.take(self.number()))
        found: list[tuple[int, Any]] = []
        while block:
            kind = block.number()
            for kinds, read in (
                (BYTES, block.byte),
                (SHORTS, block.short),
                (LONGS, lambda: int.from_bytes(block.take(4))),
                (NUMBERS, block.number),
                (TEXTS, block.text),
                (BINARY, block.binary),
                (PAIRS, lambda: (block.text(), block.text())),
            ):
                if kind in kinds:
                    found.append((kind, read()))
                    break
            else:
                raise Malformed(MALFORMED, f"there is no property {kind:#x}")
        return found


def number(value: int) -> bytes:
    """Return a number of variable length."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def text(value: str) -> bytes:
    """Return a text after its length."""
    encoded = value.encode()
    return struct.pack(">H", len(encoded)) + encoded


def properties(found: list[tuple[int, Any]]) -> bytes:
    """Return properties after their length."""
    out = b""
    for kind, value in found:
        out += number(kind)
        if kind in PAIRS:
            out += text(value[0]) + text(value[1])
        elif kind in TEXTS:
            out += text(value)
        elif kind in BINARY:
            out += struct.pack(">H", len(value)) + value
        elif kind in NUMBERS:
            out += number(value)
        else:
            out += value.to_bytes(1 if kind in BYTES else 2 if kind in SHORTS else 4)
    return number(len(out)) + out


@dataclass(frozen=True)
class Message:
    """A message, as it was published."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: tuple[tuple[int, Any], ...] = ()


@dataclass(eq=False)
class Client:
    """A connection. It is the subscriber, so it is hashed by identity."""

    name: str
    version: int
    will: Message | None
    queue: asyncio.Queue[bytes] = field(default_factory=lambda: asyncio.Queue(LONGEST_QUEUE))
    numbers: Iterator[int] = field(default_factory=lambda: itertools.cycle(range(1, 65_536)))
    unreleased: set[int] = field(default_factory=set)  # quality-2 messages that the client has not released

    def send(self, kind: int, body: bytes, flags: int = 0) -> None:
        """Queue a packet. If there is no room, a message of quality 0 is lost; any other packet ends the connection."""
        packet = bytes([kind << 4 | flags]) + number(len(body)) + body
        if self.queue.full():
            if kind == PUBLISH and not flags & 6:
                return
            raise Malformed(UNSPECIFIED, "reads too slowly")
        self.queue.put_nowait(packet)

    def give(self, message: Message, qos: int, retain: bool, identifiers: list[int]) -> None:
        """Queue a message."""
        body = text(message.topic)
        if qos:
            body += struct.pack(">H", next(self.numbers))
        if self.version == V5:
            kept = [each for each in message.properties if each[0] in FORWARDED]
            body += properties([*kept, *((SUBSCRIPTION_IDENTIFIER, each) for each in identifiers)])
        self.send(PUBLISH, body + message.payload, qos << 1 | retain)


class Broker:
    """The subscriptions, the retained messages, and the connected clients."""

    def __init__(self) -> None:
        self.routes: SubscriptionTrie[Client] = SubscriptionTrie(MQTT, index=True)
        self.retained: TopicStore[Message] = TopicStore(MQTT)
        self.clients: dict[str, tuple[Client, asyncio.StreamWriter]] = {}
        self._names = itertools.count(1)

    # ---------------------------------------------------------------------------------------------------- what it does

    def publish(self, message: Message, sender: Client | None) -> int:
        """Give a message to all subscribers that want it; return their number."""
        if message.retain:
            if message.payload:
                self.retained[message.topic] = message
            else:
                self.retained.pop(message.topic, None)
        wanted: dict[tuple[Client, str | None], tuple[int, bool, list[int]]] = {}
        for one in self.routes.deliveries(message.topic):
            options = one.options
            if options.get("no_local") and one.subscriber is sender:
                continue
            qos, retain, identifiers = wanted.get((one.subscriber, one.group), (0, False, []))
            if "subscription_identifier" in options:
                identifiers = [*identifiers, options["subscription_identifier"]]
            keeps = message.retain and options.get("retain_as_published", False)
            wanted[one.subscriber, one.group] = max(qos, options["qos"]), retain or keeps, identifiers
        for (client, _), (qos, retain, identifiers) in wanted.items():
            self._give(client, message, min(qos, message.qos), retain, identifiers)
        return len(wanted)

    def _give(self, client: Client, message: Message, qos: int, retain: bool, identifiers: list[int]) -> None:
        try:
            client.give(message, qos, retain, identifiers)
        except Malformed:
            self._hang_up(client)

    def _hang_up(self, client: Client) -> None:
        if (found := self.clients.get(client.name)) is not None and found[0] is client:
            found[1].close()

    def subscribe(self, client: Client, filter: str, flags: int, identifier: int | None) -> int:
        """Subscribe, and send the retained messages; return the reason code for the SUBACK."""
        qos, handling = flags & 3, flags >> 4 & 3
        shared = filter.startswith("$share/")
        if qos > 2 or handling > 2 or (shared and flags & 4):
            raise Malformed(PROTOCOL, f"the options {flags:#x} of a subscription")
        options: dict[str, Any] = {
            "qos": qos,
            "no_local": bool(flags & 4),
            "retain_as_published": bool(flags & 8),
            "retain_handling": handling,
        }
        if identifier is not None:
            options["subscription_identifier"] = identifier
        try:
            is_new = self.routes.subscribe(filter, client, **options)
        except TopicError:
            return BAD_FILTER if client.version == V5 else UNSPECIFIED
        if not shared and (handling == 0 or (handling == 1 and is_new)):
            for _, message in self.retained.matching(filter):
                known = [] if identifier is None else [identifier]
                self._give(client, message, min(qos, message.qos), True, known)
        return qos

    # ----------------------------------------------------------------------------------------------------- connections

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends."""
        client = None
        try:
            kind, _, body = await read_packet(reader)
            if kind != CONNECT:
                return
            client = self._connected(Reader(body), writer)
            async with asyncio.TaskGroup() as tasks:
                sending = tasks.create_task(send_all(client, writer))
                await self._obey(client, reader)
                client.will = None
                sending.cancel()
        except* (Malformed, TopicError) as errors:
            if client is not None and client.version == V5:
                reason = next((e.reason for e in errors.exceptions if isinstance(e, Malformed)), BAD_TOPIC)
                with contextlib.suppress(OSError):
                    writer.write(bytes([DISCONNECT << 4, 1, reason]))
        except* (OSError, EOFError):
            pass
        finally:
            writer.close()
            if client is not None:
                self._gone(client)

    def _connected(self, packet: Reader, writer: asyncio.StreamWriter) -> Client:
        name, version, flags, _ = packet.text(), packet.byte(), packet.byte(), packet.short()
        if name != "MQTT" or version not in (4, V5):
            raise Malformed(UNSPECIFIED, f"{name} {version}")
        if version == V5:
            packet.properties()
        client = Client(packet.text(), version, None)
        answer = []
        if not client.name:
            client.name = f"auto-{next(self._names)}"
            answer = [(ASSIGNED_CLIENT, client.name)]
        if flags & 4:
            described = packet.properties() if version == V5 else []
            topic, payload = packet.text(), packet.binary()
            MQTT.split_topic(topic)
            client.will = Message(topic, payload, flags >> 3 & 3, bool(flags & 32), tuple(described))
        if client.name in self.clients:
            self._hang_up(self.clients[client.name][0])
        self.clients[client.name] = client, writer
        client.send(CONNACK, b"\0\0" + (properties(answer) if version == V5 else b""))
        return client

    def _gone(self, client: Client) -> None:
        if self.clients.get(client.name, (None,))[0] is client:
            del self.clients[client.name]
        self.routes.unsubscribe_all(client)
        if client.will is not None:
            self.publish(client.will, client)

    async def _obey(self, client: Client, reader: asyncio.StreamReader) -> None:
        """Handle a client's packets until it sends DISCONNECT."""
        while True:
            kind, flags, body = await read_packet(reader)
            packet = Reader(body)
            if kind == PUBLISH:
                self._published(client, flags, packet)
            elif kind == PUBREL:
                client.unreleased.discard(identifier := packet.short())
                client.send(PUBCOMP, struct.pack(">H", identifier))
            elif kind == PUBREC:
                client.send(PUBREL, struct.pack(">H", packet.short()), 2)
            elif kind == SUBSCRIBE:
                self._subscribed(client, packet)
            elif kind == UNSUBSCRIBE:
                self._unsubscribed(client, packet)
            elif kind == PINGREQ:
                client.send(PINGRESP, b"")
            elif kind == DISCONNECT:
                if body[:1] == b"\x04":  # with the will
                    raise EOFError
                return
            elif kind not in (PUBACK, PUBCOMP):
                raise Malformed(PROTOCOL, f"a packet of kind {kind}")

    def _published(self, client: Client, flags: int, packet: Reader) -> None:
        qos, topic = flags >> 1 & 3, packet.text()
        if qos == 3:
            raise Malformed(MALFORMED, "there is no quality of service 3")
        identifier = packet.short() if qos else 0
        described = packet.properties() if client.version == V5 else []
        if any(kind in (TOPIC_ALIAS, SUBSCRIPTION_IDENTIFIER) for kind, _ in described):
            raise Malformed(PROTOCOL, "an alias of a topic, or an identifier of a subscription")
        message = Message(topic, packet.rest(), qos, bool(flags & 1), tuple(described))
        MQTT.split_topic(topic)
        is_new = qos < 2 or identifier not in client.unreleased
        found = self.publish(message, client) if is_new else 1
        if qos:
            if qos == 2:
                client.unreleased.add(identifier)
            reason = bytes([NO_MATCH]) if client.version == V5 and not found else b""
            client.send(PUBACK if qos == 1 else PUBREC, struct.pack(">H", identifier) + reason)

    def _subscribed(self, client: Client, packet: Reader) -> None:
        identifier = packet.take(2)
        described = dict(packet.properties()) if client.version == V5 else {}
        wanted = []
        while packet:
            wanted.append((packet.text(), packet.byte()))
        known = described.get(SUBSCRIPTION_IDENTIFIER)
        allowed = 0x3F if client.version == V5 else 3
        codes = [self.subscribe(client, filter, flags & allowed, known) for filter, flags in wanted]
        client.send(SUBACK, identifier + (b"\0" if client.version == V5 else b"") + bytes(codes))

    def _unsubscribed(self, client: Client, packet: Reader) -> None:
        identifier, codes = packet.take(2), []
        if client.version == V5:
            packet.properties()
        while packet:
            try:
                codes.append(0 if self.routes.unsubscribe(packet.text(), client) else 0x11)
            except TopicError:
                codes.append(BAD_FILTER)
        client.send(UNSUBACK, identifier + (b"\0" + bytes(codes) if client.version == V5 else b""))


async def read_packet(reader: asyncio.StreamReader) -> tuple[int, int, bytes]:
    """Return kind, flags and body of the next packet."""
    first = (await reader.readexactly(1))[0]
    size = shift = 0
    while True:
        byte = (await reader.readexactly(1))[0]
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
        if shift > 21:
            raise Malformed(MALFORMED, "a packet's length is too long")
    if size > LONGEST_PACKET:
        raise Malformed(MALFORMED, f"a packet of {size:,} bytes")
    return first >> 4, first & 15, await reader.readexactly(size)


async def send_all(client: Client, writer: asyncio.StreamWriter) -> None:
    """Send the packets in a client's queue, as fast as the client reads."""
    while True:
        writer.write(await client.queue.get())
        await writer.drain()


async def run(port: int, ready: asyncio.Future[int] | None = None) -> None:
    """Serve until cancelled. `ready` gets the port."""
    broker = Broker()
    server = await asyncio.start_server(broker.serve, "127.0.0.1", port)
    if ready is not None:
        ready.set_result(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve on the port of the command line."""
    parser = argparse.ArgumentParser(description="A small MQTT 5 broker, for this machine only.")
    parser.add_argument("--port", type=int, default=1883)
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        print(f"MQTT on 127.0.0.1:{options.port}; Ctrl-C ends it", flush=True)
        asyncio.run(run(options.port))


if __name__ == "__main__":
    main()
