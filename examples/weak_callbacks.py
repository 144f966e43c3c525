"""Callbacks that keep no object alive: an event bus that holds bound methods weakly.

    python examples/weak_callbacks.py

An object that subscribes one of its methods would live as long as the bus. With
`weak=True` it lives only as long as something else holds it, and its subscriptions end
with it. A bound method lives as long as its object.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

from subtrie import AMQP, SubscriptionTrie

Callback = Callable[[str, object], object]


class Bus:
    """Calls its subscribers.

    An error in one callback is reported, and the others are still called.
    """

    def __init__(self) -> None:
        self._callbacks: SubscriptionTrie[Callback] = SubscriptionTrie(AMQP, weak=True)

    def subscribe(self, filter: str, callback: Callback) -> bool:
        """Call `callback` with each event that `filter` matches, as long as something
        else holds it.
        """
        return self._callbacks.subscribe(filter, callback)

    def unsubscribe(self, filter: str, callback: Callback) -> bool:
        return self._callbacks.unsubscribe(filter, callback)

    def publish(self, topic: str, event: object) -> int:
        # one instant; they live until this returns
        callbacks = self._callbacks.match(topic)
        for callback in callbacks:
            try:
                callback(topic, event)
            # an error of the callback's own code
            except Exception as error:  # noqa: BLE001
                print(f"{callback!r} raised {error!r}", file=sys.stderr)
        return len(callbacks)

    def __len__(self) -> int:
        return len(self._callbacks)


class Thermostat:
    def __init__(self, room: str) -> None:
        self.room = room
        self.seen: list[object] = []

    def measured(self, topic: str, event: object) -> None:
        self.seen.append(event)


def main() -> None:
    bus = Bus()
    kitchen, attic = Thermostat("kitchen"), Thermostat("attic")
    bus.subscribe("heat.kitchen", kitchen.measured)
    bus.subscribe("heat.#", attic.measured)
    print("called:", bus.publish("heat.kitchen", 21))
    print(
        "subscribed again, as the same one:",
        not bus.subscribe("heat.#", attic.measured),
    )
    del attic
    gc.collect()  # CPython does not need this; other interpreters do
    print(
        "called after the attic has gone:",
        bus.publish("heat.kitchen", 22),
        "- subscriptions:",
        len(bus),
    )
    print("the kitchen has seen", kitchen.seen)

    bus.subscribe("heat.#", lambda topic, event: print("never called"))
    print(
        "a lambda that nobody holds is gone at once:",
        bus.publish("heat.attic", 5),
        "called",
    )


if __name__ == "__main__":
    main()
