"""RabbitMQ: a topic exchange, and a queue for each subscriber, through pika.

Messages that a channel publishes reach a queue in order. At the end a marker is put into each queue, so a queue's
deliveries are complete when its marker has come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from subtrie import AMQP
from tests.brokers import Broker, Refused
from tests.brokers.server import ANSWER_LIMIT, LOOPBACK, free_port, program, running, wait_until

_SERVER = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
"""The server itself: the program on the path requires a system user and the system's folders."""
_END = b"end"


def _missing() -> str | None:
    if not _SERVER.exists() or program("epmd") is None:
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
            running([program("epmd") or "epmd"], root / "names", environment),
            running([str(_SERVER)], root / "output", environment) as is_alive,
        ):
            wait_until(lambda: _accepts_clients(port), is_alive, root / "output")
            yield port


def _accepts_clients(port: int) -> bool:
    """Return whether the server speaks AMQP yet."""
    pika = import_module("pika")
    try:
        _connect(pika, port).close()
    except (pika.exceptions.AMQPError, OSError):
        return False
    return True


def _connect(pika: Any, port: int) -> Any:
    parameters = pika.ConnectionParameters(LOOPBACK, port, blocked_connection_timeout=ANSWER_LIMIT, heartbeat=0)
    return pika.BlockingConnection(parameters)


class RabbitSession:
    """A channel, with an exchange of its own and the queues on it."""

    def __init__(self, pika: Any, channel: Any) -> None:
        self._closed = pika.exceptions.ChannelClosed
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
            for payload in self._drained(queue):
                delivered[int(payload)].append(subscriber)
        return delivered

    def _drained(self, queue: str) -> Iterator[bytes]:
        for _, _, payload in self._channel.consume(queue, auto_ack=True, inactivity_timeout=ANSWER_LIMIT):
            assert payload is not None, "a message is missing"
            if payload == _END:
                break
            yield payload
        self._channel.cancel()


@contextmanager
def _session(port: int) -> Iterator[RabbitSession]:
    pika = import_module("pika")
    connection = _connect(pika, port)
    try:
        yield RabbitSession(pika, connection.channel())
    finally:
        connection.close()


RABBITMQ = Broker("RabbitMQ", AMQP, _missing, _running, _session)
