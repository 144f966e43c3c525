"""A bridge between two brokers. It carries a message only if a client on the other side
wants it.

    python examples/bridge.py

`on_interest` tells when a filter gets its first subscriber and when it loses its last.
So each broker subscribes at the other one to exactly the filters that its own clients
have, once each, however many clients there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from subtrie import MQTT, SubscriptionTrie

Receive = Callable[[str, bytes], object]


class Broker:
    """Delivers to its clients and to bridges.

    A message that came over a bridge goes over no other bridge.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.interests: list[Callable[[str, bool], object]] = []
        self._clients: SubscriptionTrie[Receive] = SubscriptionTrie(
            MQTT, on_interest=self._interest
        )
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
            # once for each bridge, however many filters match
            for forward in self._bridges.match(topic):
                forward(topic, payload)

    def wanted(self) -> set[str]:
        """All filters that the clients want at one instant, as `on_interest` names
        them: without their groups.
        """
        filters = {one.filter for one in self._clients.snapshot()}
        return {
            MQTT.join(MQTT.unshare(MQTT.split_filter(filter))[1]) for filter in filters
        }

    def wants_only(self, filters: set[str], forward: Receive) -> None:
        """Called by a bridge when its connection is up again: forward these filters,
        and no others.
        """
        for filter in set(self._bridges.filters(forward)) - filters:
            self._bridges.unsubscribe(filter, forward)
        for filter in filters:
            self._bridges.subscribe(filter, forward)

    def wants(self, filter: str, forward: Receive, wanted: bool) -> None:
        """Called by a bridge when its side starts or stops wanting a filter."""
        if wanted:
            self._bridges.subscribe(filter, forward)
        else:
            self._bridges.unsubscribe(filter, forward)


def bridge(one: Broker, other: Broker) -> None:
    """Join two brokers that have no clients yet: there are no notices of earlier
    subscriptions.
    """
    for here, there in ((one, other), (other, one)):
        here.interests.append(
            partial(_tell, here, there, partial(here.publish, bridged=True))
        )


def _tell(
    here: Broker, there: Broker, forward: Receive, filter: str, wanted: bool
) -> None:
    wish = "wanted" if wanted else "not wanted any more"
    print(f"{here.name} to {there.name}: {filter} {wish}")
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
