"""Mosquitto: a client of MQTT 3.1.1 at quality of service 0, with just what a session needs.

A subscriber is a client with a connection of its own. Mosquitto handles its input in one thread. So when the
publisher's PING is answered, every message has been queued for its receivers. When a receiver's own PING is answered
after that, it has received all of them.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from subtrie import MQTT
from tests.brokers import Broker, Refused
from tests.brokers.server import LOOPBACK, accepts_connections, connect, free_port, program, running, wait_until

_CONFIGURATION = """\
listener {port} {address}
allow_anonymous true
max_queued_messages 0
set_tcp_nodelay true
"""
_CONNECT, _CONNACK, _PUBLISH, _SUBSCRIBE, _SUBACK = 0x10, 0x20, 0x30, 0x82, 0x90
_UNSUBSCRIBE, _UNSUBACK, _PINGREQ, _PINGRESP = 0xA2, 0xB0, 0xC0, 0xD0
_CLEAN_SESSION = 2
_FAILURE = 0x80


def _missing() -> str | None:
    return None if program("mosquitto") else "mosquitto is not installed"


@contextmanager
def _running() -> Iterator[int]:
    port = free_port()
    with TemporaryDirectory() as folder:
        configuration, log = Path(folder, "mosquitto.conf"), Path(folder, "log")
        configuration.write_text(_CONFIGURATION.format(port=port, address=LOOPBACK))
        command = [program("mosquitto") or "mosquitto", "-c", str(configuration)]
        with running(command, log) as is_alive:
            wait_until(lambda: accepts_connections(port), is_alive, log)
            yield port


class Client:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")
        self._numbers = count(1)
        self._send(_CONNECT, _text("MQTT") + bytes([4, _CLEAN_SESSION, 0, 0]) + _text(""))
        answer = self._expect(_CONNACK)
        assert answer == bytes(2), f"not connected: {answer!r}"

    def subscribe(self, filter: str) -> None:
        number = next(self._numbers).to_bytes(2)
        self._send(_SUBSCRIBE, number + _text(filter) + bytes(1))
        answer = self._expect(_SUBACK)
        assert answer[:2] == number, "an answer to another question"
        if answer[2] == _FAILURE:
            raise Refused(f"failure code for {filter!r}")

    def subscribe_many(self, filters: Sequence[str]) -> None:
        """Subscribe to several filters by one packet."""
        number = next(self._numbers).to_bytes(2)
        self._send(_SUBSCRIBE, number + b"".join(_text(filter) + bytes(1) for filter in filters))
        answer = self._expect(_SUBACK)
        if _FAILURE in answer[2:]:
            raise Refused(f"failure code for {filters[answer.index(_FAILURE, 2) - 2]!r}")

    def unsubscribe(self, filter: str) -> None:
        self._send(_UNSUBSCRIBE, next(self._numbers).to_bytes(2) + _text(filter))
        self._expect(_UNSUBACK)

    def publish(self, topic: str, payload: bytes) -> None:
        self._send(_PUBLISH, _text(topic) + payload)

    def receive(self, messages: int) -> list[bytes]:
        """Wait for so many messages; return their contents."""
        received: list[bytes] = []
        while len(received) < messages:
            got, body = self._packet()
            assert got & 0xF0 == _PUBLISH, f"packet {got:#x} instead of a message"
            received.append(body[2 + int.from_bytes(body[:2]) :])
        return received

    def round_trip(self, receive: Callable[[bytes], None] | None = None) -> None:
        """Return when the server has handled everything that this client sent."""
        self._send(_PINGREQ, b"")
        self._expect(_PINGRESP, receive)

    def _send(self, kind: int, body: bytes) -> None:
        try:
            self._connection.sendall(bytes([kind]) + _length(len(body)) + body)
        except ConnectionError as closed:
            raise Refused("the connection was closed") from closed

    def _expect(self, kind: int, receive: Callable[[bytes], None] | None = None) -> bytes:
        while True:
            got, body = self._packet()
            if got == kind:
                return body
            assert got & 0xF0 == _PUBLISH, f"packet {got:#x} instead of {kind:#x}"
            assert receive is not None, "a message that nobody published"
            receive(body[2 + int.from_bytes(body[:2]) :])

    def _packet(self) -> tuple[int, bytes]:
        kind = self._byte()
        length = shift = 0
        while True:
            byte = self._byte()
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return kind, self._stream.read(length)

    def _byte(self) -> int:
        try:
            byte = self._stream.read(1)
        except ConnectionError:
            byte = b""
        if not byte:
            raise Refused("the connection was closed")
        return byte[0]


class MosquittoSession:
    """A publisher, and a client for each subscriber."""

    def __init__(self, new_client: Callable[[], Client]) -> None:
        self._new_client = new_client
        self._publisher = new_client()
        self._subscribers: dict[int, Client] = {}

    def subscribe(self, filter: str, subscriber: int) -> None:
        if subscriber not in self._subscribers:
            self._subscribers[subscriber] = self._new_client()
        self._subscribers[subscriber].subscribe(filter)

    def unsubscribe(self, filter: str, subscriber: int) -> None:
        self._subscribers[subscriber].unsubscribe(filter)

    def deliveries(self, topics: Sequence[str]) -> list[list[int]]:
        delivered: list[list[int]] = [[] for _ in topics]
        for number, topic in enumerate(topics):
            self._publisher.publish(topic, b"%d" % number)
        self._publisher.round_trip()
        for subscriber, client in self._subscribers.items():
            client.round_trip(lambda payload, who=subscriber: delivered[int(payload)].append(who))  # type: ignore[misc]
        return delivered


@contextmanager
def _session(port: int) -> Iterator[MosquittoSession]:
    with ExitStack() as open_connections:

        def new_client() -> Client:
            return Client(open_connections.enter_context(connect(port)))

        yield MosquittoSession(new_client)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(2) + encoded


def _length(length: int) -> bytes:
    """Return a length in MQTT's form: seven bits per byte, the lowest first."""
    encoded = bytearray()
    while True:
        length, low = divmod(length, 0x80)
        encoded.append(low | (0x80 if length else 0))
        if not length:
            return bytes(encoded)


MOSQUITTO = Broker("Mosquitto", MQTT, _missing, _running, _session)
