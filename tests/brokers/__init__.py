"""Real brokers, started on loopback for the length of a test or a benchmark, if they are installed.

A `Broker` has a dialect and runs a server of its own. A `Session` with it subscribes by filters, and tells which
subscribers got each message: the broker's counterpart of `match`. Servers listen only on 127.0.0.1,
at a free port, and keep their files in a temporary folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from subtrie import Dialect


class Refused(Exception):
    """The broker refused a filter or a topic."""


class Session(Protocol):
    """One test's use of a broker. It sees nothing of other sessions. After an error it is unusable."""

    def subscribe(self, filter: str, subscriber: int) -> None:
        """Subscribe, and return when this has taken effect.

        Raises:
            Refused: the broker refused the filter.
        """

    def unsubscribe(self, filter: str, subscriber: int) -> None:
        """Remove a present subscription, and return when this has taken effect."""

    def deliveries(self, topics: Sequence[str]) -> list[list[int]]:
        """Publish a message under each topic; return the receivers of each, once for each copy.

        Raises:
            Refused: the broker refused a topic.
        """


class Broker(NamedTuple):
    """A kind of server, and how to run one.

    Args:
        missing: returns what is not installed, if anything.
        running: runs a server and yields its port.
        session: opens a session with the server at a port.
    """

    name: str
    dialect: Dialect
    missing: Callable[[], str | None]
    running: Callable[[], AbstractContextManager[int]]
    session: Callable[[int], AbstractContextManager[Session]]
