"""Retained messages: the last value of each topic, which a new subscriber gets at once.

    python examples/retained_messages.py

No subscriber may miss a message between the retained messages and the later ones. So a
subscriber first subscribes, and then asks for the retained messages. A message that is
published in between arrives twice; its number shows this.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from queue import SimpleQueue
from threading import Thread

from subtrie import MQTT, SubscriptionTrie, TopicStore


@dataclass(frozen=True)
class Message:
    number: int
    topic: str
    payload: bytes


Inbox = SimpleQueue[Message]


class Retaining:
    """Keeps the last message of each topic that was published with `retain`.

    An empty payload removes it.
    """

    def __init__(self) -> None:
        self._routes: SubscriptionTrie[Inbox] = SubscriptionTrie(MQTT)
        self._retained: TopicStore[Message] = TopicStore(MQTT)
        self._numbers = count(1)

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> None:
        message = Message(next(self._numbers), topic, payload)
        if retain and payload:
            # keep it before delivering it; otherwise a subscriber could miss it
            self._retained[topic] = message
        elif retain:
            self._retained.pop(topic, None)
        for inbox in self._routes.match(topic):
            inbox.put(message)

    def subscribe(self, filter: str, inbox: Inbox) -> list[Message]:
        """Subscribe; return the retained messages of one instant.

        Members of a group get none (MQTT 5, 4.8.2).
        """
        self._routes.subscribe(filter, inbox)
        if filter.startswith("$share/"):
            return []
        return [message for _, message in self._retained.matching(filter)]


def main() -> None:
    broker = Retaining()
    for room, heat in (("attic", b"31"), ("cellar", b"12"), ("kitchen", b"21")):
        broker.publish(f"heat/{room}", heat, retain=True)
    broker.publish("heat/attic", b"", retain=True)
    inbox: Inbox = SimpleQueue()
    kept = broker.subscribe("heat/+", inbox)
    print("retained:", sorted((message.topic, message.payload) for message in kept))
    broker.publish("heat/cellar", b"13", retain=True)
    print("live:", inbox.get_nowait().payload)

    # A subscriber that comes while another thread publishes gets the last value,
    # retained or live.
    def count_up() -> None:
        for n in range(1_000):
            broker.publish("heat/hall", b"%d" % n, retain=True)

    busy = Thread(target=count_up)
    late: Inbox = SimpleQueue()
    busy.start()
    seen = {message.number: message for message in broker.subscribe("heat/hall", late)}
    busy.join()
    while not late.empty():
        message = late.get()
        # by number, so a message that arrived twice counts once
        seen[message.number] = message
    print(
        "the last one seen:",
        seen[max(seen)].payload,
        "- without a gap:",
        len(seen) == max(seen) - min(seen) + 1,
    )


if __name__ == "__main__":
    main()
