"""All brokers that a test can ask."""

from __future__ import annotations

from tests.brokers.mosquitto import MOSQUITTO
from tests.brokers.nats import NATS
from tests.brokers.rabbitmq import RABBITMQ

BROKERS = (MOSQUITTO, RABBITMQ, NATS)
