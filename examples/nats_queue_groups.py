"""NATS in one process: queue groups, request and reply, and subscriptions that end
after some messages.

python examples/nats_queue_groups.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from ctrie import AtomicReference
from subtrie import NATS, SubscriptionTrie


@dataclass(frozen=True)
class Message:
    subject: str
    data: str
    reply: str | None = None


Handler = Callable[[Message], object]


# hashed by identity: as in NATS, each subscription gets its own copy of a message
@dataclass(eq=False)
class Subscribed:
    """One subscription.

    `left` is how many messages it may still get; None: any number.
    """

    subject: str
    handler: Handler
    queue: str | None
    left: AtomicReference[int | None] = field(
        default_factory=lambda: AtomicReference[int | None](None)
    )

    def may_have(self) -> tuple[bool, bool]:
        """Return whether it may have one more message, and whether that is its last."""
        while True:
            left = self.left.load()
            if left is None:
                return True, False
            if left == 0:
                return False, True
            # each thread takes a different number
            if self.left.compare_and_set(left, left - 1):
                return True, left == 1


class Bus:
    """Subjects, handlers and queue groups."""

    def __init__(self) -> None:
        self._routes: SubscriptionTrie[Subscribed] = SubscriptionTrie(NATS)
        self._inboxes = count(1)

    def subscribe(
        self,
        subject: str,
        handler: Handler,
        queue: str | None = None,
        messages: int | None = None,
    ) -> Subscribed:
        one = Subscribed(subject, handler, queue, AtomicReference(messages))
        self._routes.subscribe(subject, one, queue=queue)
        return one

    def unsubscribe(self, one: Subscribed) -> bool:
        return self._routes.unsubscribe(one.subject, one, queue=one.queue)

    def publish(self, subject: str, data: str, reply: str | None = None) -> int:
        """Give a message to each subscription, and to one member of each queue group;
        return how many got it.
        """
        delivered = 0
        for one in self._routes.match(subject):
            may, is_last = one.may_have()
            if is_last:
                self.unsubscribe(one)
            if may:
                one.handler(Message(subject, data, reply))
                delivered += 1
        return delivered

    def request(self, subject: str, data: str) -> str | None:
        """Return the first answer, or None if no subscription serves the subject."""
        answers: list[Message] = []
        inbox = f"_INBOX.{next(self._inboxes)}"
        listening = self.subscribe(inbox, answers.append, messages=1)
        try:
            self.publish(subject, data, inbox)
        finally:
            self.unsubscribe(listening)
        return answers[0].data if answers else None


def main() -> None:
    bus = Bus()
    done: dict[str, list[str]] = {"ann": [], "bob": [], "log": []}
    bus.subscribe("jobs.*", lambda m: done["ann"].append(m.data), queue="workers")
    bus.subscribe("jobs.>", lambda m: done["bob"].append(m.data), queue="workers")
    bus.subscribe("jobs.>", lambda m: done["log"].append(m.data))
    bus.subscribe("jobs.mow", lambda m: print("told once:", m.data), messages=1)
    for n in range(4):
        bus.publish("jobs.mow", f"lawn {n}")
    print(
        "the workers had",
        len(done["ann"]) + len(done["bob"]),
        "of",
        len(done["log"]),
    )

    def serve(message: Message) -> None:
        if message.reply:
            bus.publish(message.reply, message.data.upper())

    bus.subscribe("text.upper", serve, queue="servers")
    print(
        "answer:",
        bus.request("text.upper", "thanks"),
        "- nobody:",
        bus.request("text.lower", "thanks"),
    )


if __name__ == "__main__":
    main()
