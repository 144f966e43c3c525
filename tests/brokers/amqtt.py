"""amqtt, a broker in Python: unchanged, and with the trie of examples/amqtt_on_a_trie.py.

    python -m tests.brokers.amqtt PORT as-it-comes | on-a-trie

amqtt answers a PING before it has delivered earlier messages. So a session counts: it is told how many messages each
client will get. All filters of a client go in one packet, since amqtt writes out its table for each packet.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.brokers.mosquitto import Client
from tests.brokers.server import LOOPBACK, connect, serving

AS_IT_COMES, ON_A_TRIE = "as-it-comes", "on-a-trie"


def missing() -> str | None:
    """Say what is not installed, if anything."""
    return None if find_spec("amqtt") else "amqtt is not installed (pip install amqtt)"


class Clients:
    """A publisher, and a client for each subscriber.

    Args:
        filters: each with the subscriber that wants it.
    """

    def __init__(self, connections: ExitStack, port: int, filters: Sequence[tuple[str, int]]) -> None:
        wanted: dict[int, list[str]] = {}
        for filter, subscriber in filters:
            wanted.setdefault(subscriber, []).append(filter)
        self._publisher, *others = (Client(connections.enter_context(connect(port))) for _ in (None, *wanted))
        self._subscribers = dict(zip(wanted, others, strict=True))
        for subscriber, own in wanted.items():
            self._subscribers[subscriber].subscribe(*own)

    def deliveries(self, topics: Sequence[str], expected: Counter[int]) -> list[list[int]]:
        """Publish a message under each topic; return the receivers of each, when all messages have arrived."""
        delivered: list[list[int]] = [[] for _ in topics]
        for number, topic in enumerate(topics):
            self._publisher.publish(topic, b"%d" % number)
        for subscriber, messages in expected.items():
            for payload in self._subscribers[subscriber].receive(messages):
                delivered[int(payload)].append(subscriber)
        return delivered


@contextmanager
def clients(kind: str, filters: Sequence[tuple[str, int]]) -> Iterator[Clients]:
    """Run a broker of one kind, with clients that have subscribed."""

    def command(port: int, folder: Path) -> list[str]:
        return [sys.executable, "-m", "tests.brokers.amqtt", str(port), kind]

    with serving(command) as port, ExitStack() as connections:
        yield Clients(connections, port, filters)


async def _serve(port: int, kind: str) -> None:
    from amqtt.broker import Broker

    from examples.amqtt_on_a_trie import TrieBroker

    configuration: dict[str, Any] = {
        "listeners": {"default": {"type": "tcp", "bind": f"{LOOPBACK}:{port}"}},
        "plugins": {"amqtt.plugins.authentication.AnonymousAuthPlugin": {"allow_anonymous": True}},
    }
    broker = TrieBroker(configuration) if kind == ON_A_TRIE else Broker(configuration)
    await broker.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), sys.argv[2]))
