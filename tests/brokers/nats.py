"""NATS: a client of its text protocol, with just what a session needs.

Each subscription has a number, and each delivery names it. The server handles the lines of a connection in order. So
when a PING has been answered, all deliveries of earlier messages have arrived.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from subtrie import NATS as DIALECT
from tests.brokers import Broker, Refused
from tests.brokers.server import LOOPBACK, connect, lack_of, program, serving


def _command(port: int, folder: Path) -> list[str]:
    return [program("nats-server"), "-a", LOOPBACK, "-p", str(port)]


class NatsSession:
    """A session over one connection. Subscriptions are numbered as they come."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._subscriptions: list[tuple[str, int]] = []
        self._expect(b"INFO")
        # Pedantic: the server also checks topics. This takes time, so it is off by default.
        self._ask(b'CONNECT {"verbose":false,"pedantic":true}')

    def subscribe(self, filter: str, subscriber: int) -> None:
        self._subscriptions.append((filter, subscriber))
        self._ask(b"SUB %s %d" % (filter.encode(), len(self._subscriptions)))

    def unsubscribe(self, filter: str, subscriber: int) -> None:
        number = self._subscriptions[::-1].index((filter, subscriber))
        self._ask(b"UNSUB %d" % (len(self._subscriptions) - number))

    def deliveries(self, topics: Sequence[str]) -> list[list[int]]:
        delivered: list[list[int]] = [[] for _ in topics]
        lines = [b"PUB %s %d\r\n%d" % (topic.encode(), len(str(i)), i) for i, topic in enumerate(topics)]
        for number, payload in self._ask(*lines):
            delivered[payload].append(self._subscriptions[number - 1][1])
        return delivered

    def _ask(self, *lines: bytes) -> list[tuple[int, int]]:
        """Send lines; when the server has handled them, return the number of each delivery, and what was delivered."""
        self._connection.sendall(b"".join(line + b"\r\n" for line in (*lines, b"PING")))
        received: list[tuple[int, int]] = []
        while (line := self._expect(b"PONG", b"MSG")) != b"PONG":
            *_, number, size = line.split()
            received.append((int(number), int(self._lines.read(int(size) + 2))))
        return received

    def _expect(self, *kinds: bytes) -> bytes:
        line = self._lines.readline().rstrip(b"\r\n")
        if line == b"PING":
            self._connection.sendall(b"PONG\r\n")
            return self._expect(*kinds)
        if line.startswith(b"-ERR") or not line:
            raise Refused(line.decode() or "the connection was closed")
        assert line.startswith(kinds), f"{line!r} instead of {kinds!r}"
        return line


@contextmanager
def _session(port: int) -> Iterator[NatsSession]:
    with connect(port) as connection:
        yield NatsSession(connection)


NATS = Broker("NATS", DIALECT, partial(lack_of, "nats-server"), partial(serving, _command), _session)
