"""NATS: a client of its text protocol, with just what a session needs.

Each subscription has a number, and each delivery names it. The server handles the lines of a connection in order. So
when a PING has been answered, all deliveries of earlier messages have arrived.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from subtrie import NATS as DIALECT
from tests.brokers import Broker, Refused
from tests.brokers.server import LOOPBACK, accepts_connections, connect, free_port, program, running, wait_until


def _missing() -> str | None:
    return None if program("nats-server") else "nats-server is not installed"


@contextmanager
def _running() -> Iterator[int]:
    port = free_port()
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")
        command = [program("nats-server") or "nats-server", "-a", LOOPBACK, "-p", str(port)]
        with running(command, log) as is_alive:
            wait_until(lambda: accepts_connections(port), is_alive, log)
            yield port


class NatsSession:
    """A session over one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._numbers = count(1)
        self._number_of: dict[tuple[str, int], int] = {}
        self._subscriber_of: dict[int, int] = {}
        self._expect(b"INFO")
        # Pedantic: the server also checks topics. This takes time, so it is off by default.
        self._send(b'CONNECT {"verbose":false,"pedantic":true}')
        self._round_trip()

    def subscribe(self, filter: str, subscriber: int) -> None:
        number = self._number_of[filter, subscriber] = next(self._numbers)
        self._subscriber_of[number] = subscriber
        self._send(b"SUB %s %d" % (filter.encode(), number))
        self._round_trip()

    def unsubscribe(self, filter: str, subscriber: int) -> None:
        self._send(b"UNSUB %d" % self._number_of.pop((filter, subscriber)))
        self._round_trip()

    def deliveries(self, topics: Sequence[str]) -> list[list[int]]:
        delivered: list[list[int]] = [[] for _ in topics]
        lines = [b"PUB %s %d\r\n%d" % (topic.encode(), len(str(i)), i) for i, topic in enumerate(topics)]
        self._send(*lines)
        self._round_trip(lambda number, payload: delivered[int(payload)].append(self._subscriber_of[number]))
        return delivered

    def _send(self, *lines: bytes) -> None:
        self._connection.sendall(b"".join(line + b"\r\n" for line in lines))

    def _round_trip(self, receive: Callable[[int, bytes], None] | None = None) -> None:
        """Return when the server has handled everything that it was sent."""
        self._send(b"PING")
        while (line := self._expect(b"PONG", b"MSG")) != b"PONG":
            *_, number, size = line.split()
            payload = self._lines.read(int(size) + 2)[:-2]
            assert receive is not None, "a message that nobody published"
            receive(int(number), payload)

    def _expect(self, *kinds: bytes) -> bytes:
        line = self._lines.readline().rstrip(b"\r\n")
        if line == b"PING":
            self._send(b"PONG")
            return self._expect(*kinds)
        if line.startswith(b"-ERR") or not line:
            raise Refused(line.decode() or "the connection was closed")
        assert line.startswith(kinds), f"{line!r} instead of {kinds!r}"
        return line


@contextmanager
def _session(port: int) -> Iterator[NatsSession]:
    with connect(port) as connection:
        yield NatsSession(connection)


NATS = Broker("NATS", DIALECT, _missing, _running, _session)
