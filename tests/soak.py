"""A long run of real threads in which every answer is verified: `make soak`.

python -m tests.soak [--operations N] [--threads N] [--seed N] [--log FILE]

Each worker has keys, filters and topics of its own in tries that all share, and a model of what it has done. So it knows
every answer that it gets, whatever the others do meanwhile: it reads back each change, compares snapshots and forks with
the model of their instant, also later, and ends after some time, when a new thread goes on with its model. Beside them one
thread publishes the subscriptions, if pyarrow is there, and restores what it has published.

Each answer that was compared counts as one verified operation. A wrong one ends the run with the seed and the operation.
"""

from __future__ import annotations

import argparse
import functools
import random
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ctrie
from ctrie import Ctrie, CtrieSet
from subtrie import MQTT, SubscriptionTrie, TopicStore

KEYS = 256  # of one worker
OF_A_THREAD = 50_000  # operations, then another thread goes on
BETWEEN_INSTANTS = 1_000  # operations of a worker
REPORTS = 60.0  # seconds


matches = functools.cache(MQTT.matches)


@dataclass
class Shared:
    """What all threads change."""

    workers: int
    ctrie: Ctrie[Any, Any] = field(default_factory=Ctrie)
    members: CtrieSet[Any] = field(default_factory=CtrieSet)
    trie: SubscriptionTrie[Any] = field(default_factory=lambda: SubscriptionTrie(MQTT, index=True))
    store: TopicStore[Any] = field(default_factory=lambda: TopicStore(MQTT))
    over: threading.Event = field(default_factory=threading.Event)
    wrong: list[str] = field(default_factory=list)
    published: int = 0

    def __post_init__(self) -> None:
        self.done = [0] * self.workers  # verified operations of each; its own worker alone writes it
        self.marks = [0] * self.workers  # the number that each has subscribed with last


class Worker:
    """One worker's model, and the operations that are held to it."""

    def __init__(self, shared: Shared, number: int, seed: int) -> None:
        self.shared, self.number = shared, number
        self.random = random.Random(f"{seed}/{number}")
        self.values: dict[Any, int] = {}
        self.members: set[Any] = set()
        self.filters: dict[str, int] = {}
        self.topics: dict[str, int] = {}
        self.instants: list[tuple[Any, Any, dict[Any, int], dict[str, int]]] = []
        self.operations: tuple[Callable[[int], None], ...] = (
            *(self.put, self.put, self.read, self.pop, self.compute, self.member, self.subscribe, self.subscribe),
            *(self.unsubscribe, self.match, self.topic, self.mark),
        )

    def expect(self, what: str, found: Any, wanted: Any) -> None:
        assert found == wanted, (
            f"worker {self.number}, operation {self.shared.done[self.number]}: {what}: {found!r}, not {wanted!r}"
        )
        self.shared.done[self.number] += 1

    def go(self, operations: int) -> None:
        for step in range(operations):
            self.random.choice(self.operations)(self.random.randrange(KEYS))
            if step % BETWEEN_INSTANTS == 0:
                if self.shared.over.is_set():
                    return
                self.instant()

    def key(self, index: int) -> Any:
        return (self.number, index) if index % 2 else f"{self.number}/{index}"

    def put(self, index: int) -> None:
        key = self.key(index)
        self.shared.ctrie[key] = self.values[key] = self.random.randrange(1 << 30)
        self.read(index)

    def read(self, index: int) -> None:
        key = self.key(index)
        self.expect("get", self.shared.ctrie.get(key), self.values.get(key))

    def pop(self, index: int) -> None:
        key = self.key(index)
        self.expect("pop", self.shared.ctrie.pop(key, None), self.values.pop(key, None))
        self.expect("popped", key in self.shared.ctrie, False)

    def compute(self, index: int) -> None:
        key = self.key(index)
        self.values[key] = self.values.get(key, 0) + 1
        self.expect("compute", self.shared.ctrie.compute(key, lambda value: value + 1, 0), self.values[key])

    def member(self, index: int) -> None:
        key = self.key(index)
        change = self.shared.members.discard if key in self.members else self.shared.members.add
        self.members ^= {key}
        self.expect(change.__name__, change(key), True)
        self.expect("in", key in self.shared.members, key in self.members)

    def filter(self, index: int) -> str:
        return f"w{self.number}/{index % 16}/{('+', '#', 'a', 'b/c')[index // 16 % 4]}"

    def subscribe(self, index: int) -> None:
        filter, number = self.filter(index), self.random.randrange(1 << 30)
        self.expect("subscribe", self.shared.trie.subscribe(filter, self.number, n=number), filter not in self.filters)
        self.filters[filter] = number

    def unsubscribe(self, index: int) -> None:
        filter = self.filter(index)
        there = self.filters.pop(filter, None) is not None
        self.expect("unsubscribe", self.shared.trie.unsubscribe(filter, self.number), there)

    def match(self, index: int) -> None:
        topic = f"w{self.number}/{index % 16}/{('a', 'b/c', 'z')[index % 3]}"
        wanted = {filter: n for filter, n in self.filters.items() if matches(filter, topic)}
        found = {told.filter: told.options["n"] for told in self.shared.trie.deliveries(topic)}
        self.expect("deliveries", found, wanted)
        self.expect("match", self.shared.trie.match(topic), (self.number,) if wanted else ())

    def topic(self, index: int) -> None:
        topic = f"w{self.number}/{index}"
        if self.topics.pop(topic, None) is not None:
            del self.shared.store[topic]
        else:
            self.topics[topic] = self.shared.store[topic] = index
        self.expect("store", self.shared.store.get(topic), self.topics.get(topic))

    def mark(self, _: int) -> None:
        """What the publishing thread looks for: numbers that only grow."""
        self.shared.trie.subscribe("marks", self.number, n=self.shared.marks[self.number] + 1)
        self.shared.marks[self.number] += 1

    def instant(self) -> None:
        """An instant of all tries has what this worker has done, and keeps it whatever is done later."""
        taken = self.shared.ctrie.readonly_snapshot(), self.shared.trie.snapshot()
        self.instants.append((*taken, dict(self.values), dict(self.filters)))
        if len(self.instants) > 4:
            self.instants.pop(self.random.randrange(4))
        fork = self.shared.trie.fork()
        fork.unsubscribe_all(self.number)
        self.expect("fork", fork.filters(self.number), [])
        for then, matcher, values, filters in (self.random.choice(self.instants), self.instants[-1]):
            for key in map(self.key, range(KEYS)):
                self.expect("snapshot", then.get(key), values.get(key))
            told = {filter for filter in matcher.filters(self.number) if filter != "marks"}
            self.expect("filters of an instant", told, set(filters))


def publishing(shared: Shared) -> None:
    """Publish again and again; what is restored is of an instant between the call and its return."""
    import snapshot

    with tempfile.TemporaryDirectory() as folder, snapshot.Publisher(shared.trie, folder) as publisher:
        while not shared.over.wait(0.05):
            before = list(shared.marks)
            publisher.publish()
            after = [number + 1 for number in shared.marks]  # a worker counts a mark after it has subscribed with it
            restored = snapshot.restore(folder)
            restored.check()
            marks = {told.subscriber: told.options["n"] for told in restored.deliveries("marks")}
            for worker, (least, most) in enumerate(zip(before, after, strict=True)):
                told = f"published: worker {worker} has {marks.get(worker)}, not {least} to {most}"
                assert least <= marks.get(worker, 0) <= most, told
            shared.published += 1


def guarded(shared: Shared, work: Callable[[], object]) -> None:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 (it is reported, and ends the run)
        shared.wrong.append(f"{type(error).__name__}: {error}")
        shared.over.set()


def soak(operations: int, threads: int, seed: int, say: Callable[[str], None]) -> list[str]:
    """Run until so many operations are verified; what was wrong."""
    shared = Shared(threads)
    begun = reported = time.monotonic()
    workers = [Worker(shared, number, seed) for number in range(threads)]
    running: list[threading.Thread] = []

    def start(work: Callable[[], object]) -> threading.Thread:
        running.append(threading.Thread(target=guarded, args=(shared, work)))
        running[-1].start()
        return running[-1]

    def report() -> None:
        spent, done = time.monotonic() - begun, sum(shared.done)
        say(
            f"{spent:.0f} s: {done:,} verified operations, {done / spent:,.0f} a second; {len(running)} threads; "
            f"{shared.published} published; at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB"
        )

    if find_spec("pyarrow"):
        import_module("snapshot")  # takes a second, and many where workers are busy
        start(functools.partial(publishing, shared))
    at_work: dict[int, threading.Thread] = {}
    while not shared.over.is_set():
        for number, worker in enumerate(workers):
            if number not in at_work or not at_work[number].is_alive():
                at_work[number] = start(functools.partial(worker.go, OF_A_THREAD))
        if sum(shared.done) >= operations:
            shared.over.set()
        at_work[0].join(0.2)
        if time.monotonic() - reported > REPORTS:
            reported = time.monotonic()
            report()
    for thread in running:
        thread.join()
    for checked in (shared.ctrie, shared.trie, shared.members, shared.store):
        guarded(shared, checked.check)  # type: ignore[attr-defined]
    ctrie.drain()
    report()
    return shared.wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=10**8)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args()

    def say(line: str) -> None:
        print(line, flush=True)
        if asked.log:
            with asked.log.open("a") as log:
                log.write(f"{line}\n")

    gil = "with" if getattr(sys, "_is_gil_enabled", lambda: True)() else "without"
    what = f"CPython {sys.version.split()[0]} {gil} the GIL, {ctrie.twin}"
    say(f"{what}, {asked.threads} workers, --seed {asked.seed}")
    wrong = soak(asked.operations, asked.threads, asked.seed, say)
    say("\n".join(wrong) or "nothing wrong")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
