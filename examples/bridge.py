"""A bridge between two brokers which carries only what somebody on the other side wants.

    python examples/bridge.py

`on_interest` says when a filter gets its first subscriber and when it has lost its last. So each side subscribes on the
other one to exactly the filters that its own clients have, once each, however many clients there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from subtrie import MQTT, SubscriptionTrie

Receive = Callable[[str, bytes], object]


class Broker:
    """Delivers to its clients, and to bridges. What came over a bridge does not go back over one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.interests: list[Callable[[str, bool], object]] = []
        self._clients: SubscriptionTrie[Receive] = SubscriptionTrie(MQTT, on_interest=self._interest)
        self._bridges: SubscriptionTrie[Receive] = SubscriptionTrie(MQTT)

    def _interest(self, filter: str, wanted: bool) -> None:
        for tell in self.interests:
            tell(filter, wanted)

    def subscribe(self, filter: str, receive: Receive) -> bool:
        return self._clients.subscribe(filter, receive)

    def unsubscribe(self, filter: str, receive: Receive) -> bool:
        return self._clients.unsubscribe(filter, receive)

    def publish(self, topic: str, payload: bytes, bridged: bool = False) -> None:
        for receive in self._clients.match(topic):
            receive(topic, payload)
        if not bridged:
            for forward in self._bridges.match(topic):  # once for each bridge, however many filters match
                forward(topic, payload)

    def wants(self, filter: str, forward: Receive, wanted: bool) -> None:
        """A bridge says that its side wants a filter, or wants it no more."""
        if wanted:
            self._bridges.subscribe(filter, forward)
        else:
            self._bridges.unsubscribe(filter, forward)


def bridge(one: Broker, other: Broker) -> None:
    """Join two brokers, before their first clients come: what is subscribed already is not told."""
    for here, there in ((one, other), (other, one)):
        here.interests.append(partial(_tell, here, there, partial(here.publish, bridged=True)))


def _tell(here: Broker, there: Broker, forward: Receive, filter: str, wanted: bool) -> None:
    print(f"{here.name} to {there.name}: {filter} {'wanted' if wanted else 'not wanted any more'}")
    there.wants(filter, forward, wanted)


def main() -> None:
    plant, office = Broker("plant"), Broker("office")
    got: list[tuple[str, str]] = []

    def receiver(name: str) -> Receive:
        return lambda topic, payload: got.append((name, topic))

    ann, bob, log = receiver("ann"), receiver("bob"), receiver("log")
    bridge(plant, office)
    plant.subscribe("#", log)
    office.subscribe("press/+/heat", ann)
    office.subscribe("press/+/heat", bob)  # the plant is not told again
    plant.publish("press/7/heat", b"80")
    plant.publish("press/7/noise", b"50")  # stays at the plant
    office.publish("menu", b"soup")  # the plant's log wants everything
    print(sorted(got))
    office.unsubscribe("press/+/heat", ann)
    office.unsubscribe("press/+/heat", bob)


if __name__ == "__main__":
    main()
