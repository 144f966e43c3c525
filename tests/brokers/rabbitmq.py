"""RabbitMQ: a topic exchange, and a queue for each subscriber, through pika.

Messages that a channel publishes reach a queue in order. At the end a marker is put into each queue, so a queue's
deliveries are complete when its marker has come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from subtrie import AMQP
from tests.brokers import Broker, Refused
from tests.brokers.server import ANSWER_LIMIT, LOOPBACK, free_port, lack_of, program, running, wait_until

_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""The server itself: the program on the path requires a system user and the system's folders."""
_END = b"end"


def _missing() -> str | None:
    if not _SERVER.exists() or lack_of("epmd"):
        return "rabbitmq-server is not installed"
    return None if find_spec("pika") else "pika is not installed"


@contextmanager
def _running() -> Iterator[int]:
    port, names, distribution = free_port(), free_port(), free_port()
    with TemporaryDirectory() as folder:
        root = Path(folder)
        environment = {
            "HOME": folder,  # where Erlang keeps its cookie
            "ERL_EPMD_ADDRESS": LOOPBACK,
            "ERL_EPMD_PORT": str(names),
            "RABBITMQ_NODENAME": "rabbit@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
            "RABBITMQ_NODE_PORT": str(port),
            "RABBITMQ_DIST_PORT": str(distribution),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_MNESIA_BASE": str(root / "mnesia"),
            "RABBITMQ_LOG_BASE": str(root / "log"),
            "RABBITMQ_GENERATED_CONFIG_DIR": str(root / "config"),
            "RABBITMQ_CONFIG_FILE": str(root / "rabbitmq"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(root / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": str(root / "environment"),
        }
        Path(environment["RABBITMQ_CONF_ENV_FILE"]).touch()
        # Erlang would start its name server and leave it running; this one ends with the block.
        with (
            running([program("epmd")], root / "names", environment),
            running([str(_SERVER)], root / "output", environment) as is_alive,
        ):
            wait_until(lambda: _accepts_clients(port), is_alive, root / "output")
            yield port


def _accepts_clients(port: int) -> bool:
    """Return whether the server speaks AMQP yet."""
    try:
        _connect(port).close()
    except (import_module("pika").exceptions.AMQPError, OSError):
        return False
    return True


def _connect(port: int) -> Any:
    pika = import_module("pika")
    parameters = pika.ConnectionParameters(LOOPBACK, port, blocked_connection_timeout=ANSWER_LIMIT, heartbeat=0)
    return pika.BlockingConnection(parameters)


class RabbitSession:
    """A channel, with an exchange of its own and the queues on it."""

    def __init__(self, channel: Any) -> None:
        self._closed = import_module("pika").exceptions.ChannelClosed
        self._channel = channel
        self._exchange = uuid4().hex
        channel.exchange_declare(self._exchange, "topic")
        self._queues: dict[int, str] = {}

    def subscribe(self, filter: str, subscriber: int) -> None:
        if subscriber not in self._queues:
            self._queues[subscriber] = self._channel.queue_declare("", exclusive=True).method.queue
        try:
            self._channel.queue_bind(self._queues[subscriber], self._exchange, filter)
        except self._closed as closed:
            raise Refused(str(closed)) from closed

    def unsubscribe(self, filter: str, subscriber: int) -> None:
        self._channel.queue_unbind(self._queues[subscriber], self._exchange, filter)

    def deliveries(self, topics: Sequence[str]) -> list[list[int]]:
        for number, topic in enumerate(topics):
            self._channel.basic_publish(self._exchange, topic, b"%d" % number)
        for queue in self._queues.values():
            self._channel.basic_publish("", queue, _END)
        delivered: list[list[int]] = [[] for _ in topics]
        for subscriber, queue in self._queues.items():
            received = self._channel.consume(queue, auto_ack=True, inactivity_timeout=ANSWER_LIMIT)
            while (payload := next(received)[2]) != _END:
                assert payload is not None, "a message is missing"
                delivered[int(payload)].append(subscriber)
            self._channel.cancel()
        return delivered


@contextmanager
def _session(port: int) -> Iterator[RabbitSession]:
    with closing(_connect(port)) as connection:
        yield RabbitSession(connection.channel())


RABBITMQ = Broker("RabbitMQ", AMQP, _missing, _running, _session)
