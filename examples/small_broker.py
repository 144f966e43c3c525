"""The broker that the tutorial ends with: topics with wildcards, options, groups,
retained messages, threads.

    python examples/small_broker.py
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, Full, Queue
from threading import Thread

from subtrie import MQTT, SubscriptionTrie, TopicStore

PATIENCE = 5.0  # seconds that a publisher waits for a client that has no room


class Client:
    """A subscriber.

    Messages wait in a bounded queue. If it stays full, they are lost, and counted.
    """

    def __init__(self, name: str, room: int = 1_000) -> None:
        self.name = name
        self.lost = 0
        self._is_slow = False
        self._inbox: Queue[tuple[str, bytes]] = Queue(room)

    def receive(self, topic: str, payload: bytes) -> None:
        try:
            self._inbox.put((topic, payload), timeout=0 if self._is_slow else PATIENCE)
            self._is_slow = False
        except Full:
            self._is_slow = True  # until it reads again, it delays nobody
            self.lost += 1

    def messages(self) -> list[tuple[str, bytes]]:
        """Return the waiting messages."""
        found = []
        while True:
            try:
                found.append(self._inbox.get_nowait())
            except Empty:
                return found


class Broker:
    """A broker. Any number of threads may call any method."""

    def __init__(self) -> None:
        self._routes: SubscriptionTrie[Client] = SubscriptionTrie(MQTT, index=True)
        self._retained: TopicStore[bytes] = TopicStore(MQTT)

    def subscribe(self, client: Client, filter: str, **options: object) -> None:
        self._routes.subscribe(filter, client, **options)
        if not filter.startswith("$share/"):
            for topic, payload in self._retained.matching(filter):
                client.receive(topic, payload)

    def unsubscribe(self, client: Client, filter: str) -> None:
        self._routes.unsubscribe(filter, client)

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        sender: Client | None = None,
        retain: bool = False,
    ) -> int:
        """Give a message to all clients that want it; return how many copies they are.

        A client gets one for itself, and one for each group in which it is drawn.
        """
        if retain and payload:
            self._retained[topic] = payload
        elif retain:  # MQTT: an empty message removes the retained one
            self._retained.pop(topic, None)
        wanted = {
            (one.subscriber, one.group and one.filter)
            for one in self._routes.deliveries(topic)
            if not (one.options.get("no_local") and one.subscriber is sender)
        }
        for client, _ in wanted:
            client.receive(topic, payload)
        return len(wanted)

    @contextmanager
    def connected(self, name: str) -> Iterator[Client]:
        """Connect a client for the duration of the block.

        All its subscriptions end with it.
        """
        client = Client(name)
        try:
            yield client
        finally:
            self._routes.unsubscribe_all(client)

    def clients(self) -> list[str]:
        """The names of the subscribed clients, all of one instant."""
        return sorted({one.subscriber.name for one in self._routes.snapshot()})


def main() -> None:
    broker = Broker()
    broker.publish("heat/attic", b"31", retain=True)
    with (
        broker.connected("ann") as ann,
        broker.connected("bob") as bob,
        broker.connected("cleo") as cleo,
    ):
        broker.subscribe(ann, "heat/+", no_local=True)
        for worker in (bob, cleo):
            broker.subscribe(worker, "$share/workers/heat/#")
        publishers = [
            Thread(
                target=lambda: [broker.publish("heat/hall", b"21") for _ in range(100)]
            )
            for _ in range(4)
        ]
        for each in publishers:
            each.start()
        for each in publishers:
            each.join()
        broker.publish("heat/ann", b"20", sender=ann)
        print("subscribed:", broker.clients())
        print(
            "ann has",
            len(ann.messages()),
            "messages, bob and cleo together",
            sum(len(c.messages()) for c in (bob, cleo)),
        )
    print("subscribed:", broker.clients())


if __name__ == "__main__":
    main()
