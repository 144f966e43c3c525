"""An AMQP topic exchange: bindings, queues, consumers, and an alternate exchange for
messages that no binding matches.

    python examples/amqp_exchange.py

A binding connects a queue with a binding key. A message goes once into each queue with
a binding that matches its routing key, even if several match. Consumers share a queue:
each message goes to one of them.
"""

from __future__ import annotations

from collections import Counter, deque
from threading import Thread
from typing import NamedTuple

from ctrie import Ctrie
from subtrie import AMQP, SubscriptionTrie


class Message(NamedTuple):
    key: str
    body: str


class Queue:
    """A named queue. Any number of threads put and take."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._messages: deque[Message] = deque()

    def put(self, message: Message) -> None:
        self._messages.append(message)

    def take(self) -> Message | None:
        try:
            return self._messages.popleft()
        except IndexError:
            return None

    def __len__(self) -> int:
        return len(self._messages)


class TopicExchange:
    """Routes messages to queues. Messages that no binding matches go to `alternate`."""

    def __init__(self, alternate: TopicExchange | None = None) -> None:
        self._queues: Ctrie[str, Queue] = Ctrie()
        self._bindings: SubscriptionTrie[Queue] = SubscriptionTrie(AMQP, index=True)
        self._alternate = alternate

    def declare(self, name: str) -> Queue:
        """Return the queue of that name.

        If several threads declare it at once, one makes it.
        """
        return self._queues.get_or_create(name, lambda: Queue(name))

    def bind(self, name: str, key: str) -> bool:
        return self._bindings.subscribe(key, self.declare(name))

    def delete(self, name: str) -> int:
        """Delete a queue and its bindings; return how many bindings it had."""
        queue = self._queues.pop(name, None)
        return 0 if queue is None else self._bindings.unsubscribe_all(queue)

    def publish(self, key: str, body: str) -> int:
        """Route a message; return how many queues got it.

        TopicError for a key that AMQP refuses.
        """
        queues = self._bindings.match(key)
        for queue in queues:
            queue.put(Message(key, body))
        if not queues and self._alternate is not None:
            return self._alternate.publish(key, body)
        return len(queues)


def main() -> None:
    unrouted = TopicExchange()
    unrouted.bind("unrouted", "#")
    exchange = TopicExchange(alternate=unrouted)
    for name, key in (
        ("errors", "*.error"),
        ("shop", "shop.#"),
        ("shop", "#.error"),
        ("audit", "#"),
    ):
        exchange.bind(name, key)
    print("shop.error reaches", exchange.publish("shop.error", "no stock"), "queues")
    print(
        "shop.order.new reaches",
        exchange.publish("shop.order.new", "7 nails"),
        "queues",
    )
    print("deleted with audit:", exchange.delete("audit"), "binding")
    exchange.publish("bank.order", "a loan")
    print("unrouted:", unrouted.declare("unrouted").take())

    publishers = [
        Thread(target=lambda: [exchange.publish("shop.order", "") for _ in range(500)])
        for _ in range(4)
    ]
    for each in publishers:
        each.start()
    for each in publishers:
        each.join()
    shop = exchange.declare("shop")
    taken = Counter(message.key for message in iter(shop.take, None))
    print("shop had", dict(taken))


if __name__ == "__main__":
    main()
