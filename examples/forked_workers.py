"""Workers made by fork: they inherit a filled trie for nothing, change their own, and the parent's stays as it is.

    python examples/forked_workers.py

A fork takes the whole trie along, also while threads of the parent write: there is no lock that could be held for ever
by a thread which did not come along. Afterwards the two are two tries, as all memory is. For tries that follow one
another, see `broker_recovery.py`.
"""

from __future__ import annotations

import os
import warnings
from threading import Event, Thread

from subtrie import MQTT, SubscriptionTrie

WORKERS = 4

# Python 3.12 and later warn of every fork beside threads. What the threads here use, the trie, is made for it.
warnings.filterwarnings("ignore", message=".*multi-threaded.*fork", category=DeprecationWarning)


def worker(routes: SubscriptionTrie[str], number: int, pipe: int) -> None:
    """What a child does: it matches with what it has inherited, and with changes of its own."""
    inherited = routes.count("sensors/7/heat")
    routes.subscribe("sensors/+/heat", f"worker {number}")
    routes.check()
    os.write(pipe, f"{inherited} {routes.count('sensors/7/heat')}\n".encode())


def main() -> None:
    routes: SubscriptionTrie[str] = SubscriptionTrie(MQTT)
    routes.subscribe_many((f"sensors/{n % 100}/heat", f"client {n}") for n in range(10_000))

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
        print("inherited and then, in each worker:", sorted(set(answers.read().splitlines())))
    print("statuses:", statuses, "- the parent has", routes.count("sensors/7/heat"), "still")
    routes.check()


if __name__ == "__main__":
    main()
