"""A broker that is killed and continues where it was, and replicas in other processes
that never stop answering.

    python examples/broker_recovery.py

The broker publishes its subscriptions in a directory (`snapshot.Publisher`). It
acknowledges a client only after it has published a version with that client, so
acknowledged subscriptions are on the disk. Two replicas follow the directory
(`snapshot.follow`), each with a trie of its own, and match messages. The broker is
killed while some subscriptions are not published yet. The replicas do not notice. The
next broker takes the directory over (`snapshot.take_over`), which restores the newest
version, and continues. Clients without an acknowledgement subscribe again.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory
from typing import Any

from subtrie import MQTT, snapshot

CLIENTS, BATCH = 1_000, 100
TOPIC = "building/7/heat"


def subscriptions_of(client: int) -> list[tuple[str, str, dict[str, int]]]:
    """The subscriptions of a client: one of ten rooms, and for every fiftieth client
    all of them.
    """
    wanted = [(f"building/{client % 10}/+", f"client-{client}", {"qos": client % 3})]
    if client % 50 == 0:
        wanted.append(("building/#", f"client-{client}", {"qos": 0}))
    return wanted


def broker(where: str, pipe: Connection) -> None:
    """Take the directory over, then serve: subscribe clients, publish, and acknowledge
    them.
    """
    trie, publisher = snapshot.take_over(where, MQTT, keep=10)
    with publisher:
        pipe.send(("restored", len(trie)))
        while (question := pipe.recv()) is not None:
            clients, publishes = question
            for client in clients:
                trie.subscribe_many(subscriptions_of(client))
            pipe.send(
                ("acknowledged", publisher.publish())
                if publishes
                else ("subscribed", None)
            )


def replica(where: str, pipe: Connection) -> None:
    """Follow the directory, and match messages."""
    with snapshot.follow(where, every=0.01) as follower:
        pipe.send("ready")
        while (question := pipe.recv()) is not None:
            topic, version = question
            # only so that this example prints the same each time
            while follower.version < version:
                time.sleep(0.001)
            pipe.send(len(follower.trie.match(topic)))


def main() -> None:
    """Kill a broker and see what remains."""
    context = multiprocessing.get_context("spawn")

    def start(
        work: Callable[[str, Connection], None], where: str
    ) -> tuple[BaseProcess, Connection]:
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(where, theirs), daemon=True)
        process.start()
        return process, ours

    with TemporaryDirectory() as where:
        first, to_first = start(broker, where)
        to_first.recv()
        version = 0
        for begin in range(0, CLIENTS, BATCH):
            _, version = asked(to_first, (range(begin, begin + BATCH), True))
        print(f"The broker has acknowledged {CLIENTS} clients.")

        replicas = [start(replica, where)[1] for _ in range(2)]
        for to_replica in replicas:
            to_replica.recv()

        late = range(CLIENTS, CLIENTS + 3)
        asked(to_first, (late, False))
        first.kill()
        first.join()
        answers = [asked(to_replica, (TOPIC, version)) for to_replica in replicas]
        print(f"It was killed. The replicas go on: {TOPIC} reaches {answers} clients.")

        second, to_second = start(broker, where)
        _, held = to_second.recv()
        print(
            f"The next broker has restored {held} subscriptions; "
            f"{len(late)} clients subscribe again."
        )
        _, version = asked(to_second, (late, True))
        answers = [asked(to_replica, (TOPIC, version)) for to_replica in replicas]
        print(f"The replicas have them: {TOPIC} reaches {answers} clients.")

        for pipe in (to_second, *replicas):
            pipe.send(None)
        second.join()


def asked(pipe: Connection, question: object) -> Any:
    """Send a question and wait for the answer."""
    pipe.send(question)
    return pipe.recv()


if __name__ == "__main__":
    main()
