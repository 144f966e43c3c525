"""Mosquitto: a client of MQTT 3.1.1 at quality of service 0, with just what a session needs.

A subscriber is a client with a connection of its own. Mosquitto handles its input in one thread. So when the
publisher's PING is answered, every message has been queued for its receivers. When a receiver's own PING is answered
after that, it has received all of them.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from subtrie import MQTT
from tests.brokers import Broker, Refused
from tests.brokers.server import LOOPBACK, connect, lack_of, program, serving

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


def _command(port: int, folder: Path) -> list[str]:
    configuration = folder / "mosquitto.conf"
    configuration.write_text(_CONFIGURATION.format(port=port, address=LOOPBACK))
    return [program("mosquitto"), "-c", str(configuration)]


class Client:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")
        self._numbers = count(1)
        answer = self._ask(_CONNECT, _text("MQTT") + bytes([4, _CLEAN_SESSION, 0, 0]) + _text(""), _CONNACK)
        assert answer == bytes(2), f"not connected: {answer!r}"

    def subscribe(self, *filters: str) -> None:
        """Subscribe to filters by one packet."""
        number = next(self._numbers).to_bytes(2)
        asked = number + b"".join(_text(filter) + bytes(1) for filter in filters)
        answer = self._ask(_SUBSCRIBE, asked, _SUBACK)
        assert answer[:2] == number, "an answer to another question"
        if _FAILURE in answer[2:]:
            raise Refused(f"failure code for {filters[answer.index(_FAILURE, 2) - 2]!r}")

    def unsubscribe(self, filter: str) -> None:
        self._ask(_UNSUBSCRIBE, next(self._numbers).to_bytes(2) + _text(filter), _UNSUBACK)

    def publish(self, topic: str, payload: bytes) -> None:
        self._send(_PUBLISH, _text(topic) + payload)

    def receive(self, messages: int | None = None) -> list[bytes]:
        """Wait for so many messages, or until the server has handled all that it was sent; return their contents."""
        received: list[bytes] = []
        if messages is None:
            self._send(_PINGREQ, b"")
        while messages is None or len(received) < messages:
            got, body = self._packet()
            if messages is None and got == _PINGRESP:
                break
            assert got & 0xF0 == _PUBLISH, f"packet {got:#x} instead of a message"
            received.append(body[2 + int.from_bytes(body[:2]) :])
        return received

    def _ask(self, kind: int, body: bytes, answer: int) -> bytes:
        self._send(kind, body)
        got, found = self._packet()
        assert got == answer, f"packet {got:#x} instead of {answer:#x}"
        return found

    def _send(self, kind: int, body: bytes) -> None:
        head, rest = bytearray([kind]), len(body)
        while rest or len(head) == 1:  # a length has seven bits a byte, the lowest first
            rest, low = divmod(rest, 0x80)
            head.append(low | (0x80 if rest else 0))
        try:
            self._connection.sendall(head + body)
        except ConnectionError as closed:
            raise Refused("the connection was closed") from closed

    def _packet(self) -> tuple[int, bytes]:
        kind, length, shift, byte = self._byte(), 0, 0, 0x80
        while byte & 0x80:
            byte = self._byte()
            length |= (byte & 0x7F) << shift
            shift += 7
        return kind, self._stream.read(length)

    def _byte(self) -> int:
        try:
            return self._stream.read(1)[0]
        except (ConnectionError, IndexError) as closed:
            raise Refused("the connection was closed") from closed


class MosquittoSession:
    """A publisher, and a client for each subscriber."""

    def __init__(self, new_client: Callable[[], Client]) -> None:
        self._new_client, self._publisher = new_client, new_client()
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
        assert self._publisher.receive() == []
        for subscriber, client in self._subscribers.items():
            for payload in client.receive():
                delivered[int(payload)].append(subscriber)
        return delivered


@contextmanager
def _session(port: int) -> Iterator[MosquittoSession]:
    with ExitStack() as connections:
        yield MosquittoSession(lambda: Client(connections.enter_context(connect(port))))


def _text(text: str) -> bytes:
    encoded = text.encode()
    return len(encoded).to_bytes(2) + encoded


MOSQUITTO = Broker("Mosquitto", MQTT, partial(lack_of, "mosquitto"), partial(serving, _command), _session)
