"""The brokers that are installed."""

from __future__ import annotations

from benchmarks.brokers import Broker
from benchmarks.brokers.mosquitto import MOSQUITTO
from benchmarks.brokers.nats import NATS
from benchmarks.brokers.rabbitmq import RABBITMQ

BROKERS = (MOSQUITTO, RABBITMQ, NATS)


def present() -> list[Broker]:
    """Leave out those that are not installed, and say so."""
    found = []
    for broker in BROKERS:
        missing = broker.missing()
        if missing:
            print(f"{broker.name} left out: {missing}")
        else:
            found.append(broker)
    return found
