"""Workers made by `os.fork`: they inherit a filled trie for free, and their changes do
not reach the parent's.

    python examples/forked_workers.py

The child gets the whole trie, even if threads of the parent are writing at that moment.
The child lacks these threads, but the trie has no lock that they could leave locked.
Afterwards parent and child have separate tries, like all other memory. For tries that
follow one another, see `broker_recovery.py`.
"""

from __future__ import annotations

import os
import warnings
from threading import Event, Thread

from subtrie import MQTT, SubscriptionTrie

WORKERS = 4

# Python 3.12 and later warn of every fork of a process with threads. The trie, which
# these threads use, supports it.
warnings.filterwarnings(
    "ignore", message=".*multi-threaded.*fork", category=DeprecationWarning
)


def worker(routes: SubscriptionTrie[str], number: int, pipe: int) -> None:
    """The work of a child: match with the inherited subscriptions, then with one of its
    own.
    """
    inherited = routes.count("sensors/7/heat")
    routes.subscribe("sensors/+/heat", f"worker {number}")
    routes.check()
    os.write(pipe, f"{inherited} {routes.count('sensors/7/heat')}\n".encode())


def main() -> None:
    routes: SubscriptionTrie[str] = SubscriptionTrie(MQTT)
    routes.subscribe_many(
        (f"sensors/{n % 100}/heat", f"client {n}") for n in range(10_000)
    )

    done = Event()

    def keep_busy(number: int) -> None:
        while not done.is_set():
            routes.subscribe(f"busy/{number}", "nobody")
            routes.unsubscribe(f"busy/{number}", "nobody")

    busy = [Thread(target=keep_busy, args=(number,)) for number in range(2)]
    for each in busy:
        each.start()
    reading, writing = os.pipe()
    for number in range(WORKERS):
        if os.fork() == 0:
            status = 1
            try:
                worker(routes, number, writing)
                status = 0
            finally:
                os._exit(status)  # a child leaves without the parent's clean-up
    os.close(writing)
    statuses = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(WORKERS)]
    done.set()
    for each in busy:
        each.join()
    with open(reading) as answers:
        print(
            "inherited and then, in each worker:",
            sorted(set(answers.read().splitlines())),
        )
    print(
        "statuses:",
        statuses,
        "- the parent has",
        routes.count("sensors/7/heat"),
        "still",
    )
    routes.check()


if __name__ == "__main__":
    main()
