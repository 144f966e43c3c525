"""Published directories: the cost of a version with 100 changes, and the delay until a follower has it."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import snapshot
from benchmarks.model import Benchmark, Contender, Group, OneRun, check, timed
from benchmarks.workloads import growing_filters
from subtrie import SubscriptionTrie

INSERTS, DELETES, UPDATES = 30, 30, 39  # and one more, which marks the version
POLL_EVERY = 0.02
WHOLE = 10_000
"""At this size, the alternative to a published directory is measured, too: writing the whole set."""


class _Publishing:
    """A trie that is changed and published, and a follower in a process of its own."""

    def __init__(self, count: int, where: Path) -> None:
        self._trie = SubscriptionTrie()
        self._held = list(growing_filters(count))
        self._fresh = (f"{filter}.new" for filter in self._held)
        self._rng = random.Random(11)
        self._versions = 0
        self._trie.subscribe_many((filter, "subscriber", {"version": 0}) for filter in self._held)
        self._publisher = snapshot.Publisher(self._trie, where)
        self._publisher.publish()
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._follower = context.Process(target=_follow, args=(str(where), theirs), daemon=True)
        self._follower.start()
        check(self._pipe.recv() == count, "the follower lacks subscriptions")

    def version(self) -> list[float]:
        """Publish 100 changes. Return the seconds until `publish` returned, and from then until they were followed."""
        self._change()
        start = time.perf_counter()
        version = self._publisher.publish()
        published = time.perf_counter()
        self._pipe.send((version, self._versions))
        followed, updated = self._pipe.recv()
        check(updated, "the follower has another version")
        return [published - start, max(0.0, followed - published)]

    def write(self, path: Path) -> float:
        """Write the whole set."""
        return timed(partial(snapshot.write, self._trie, path))

    def close(self) -> None:
        """End the follower."""
        self._pipe.send(None)
        self._follower.join()
        self._publisher.close()

    def _change(self) -> None:
        self._versions += 1
        self._rng.shuffle(self._held)
        for filter in self._held[:DELETES]:
            self._trie.unsubscribe(filter, "subscriber")
        for filter in self._held[DELETES : DELETES + UPDATES]:
            self._trie.subscribe(filter, "subscriber", version=self._versions)
        self._held[:INSERTS] = [next(self._fresh) for _ in range(INSERTS)]
        for filter in self._held[:INSERTS]:
            self._trie.subscribe(filter, "subscriber", version=self._versions)
        self._trie.subscribe("which.version", "subscriber", version=self._versions)


def _follow(where: str, pipe: Connection) -> None:
    """Follow in the background; for each version asked for, return when it arrived, by a clock that all share."""
    with snapshot.follow(where, every=POLL_EVERY) as follower:
        pipe.send(len(follower.trie))
        while (asked := pipe.recv()) is not None:
            version, number = asked
            while follower.version < version:
                time.sleep(0.0005)
            followed = time.perf_counter()
            (mark,) = follower.trie.subscriptions("which.version")
            pipe.send((followed, mark.options["version"] == number))


def _groups(quick: bool) -> Iterator[Group]:
    for count in (1_000,) if quick else (WHOLE, 100_000, 1_000_000):
        with TemporaryDirectory() as folder:
            publishing = _Publishing(count, Path(folder, "published"))
            both = OneRun(publishing.version)
            group = [Contender("publish", both.next, 1, count), Contender("until it is followed", both.next, 1, count)]
            if count <= WHOLE:
                whole = Path(folder, "whole.parquet")
                group.append(Contender("write the whole set", partial(publishing.write, whole), 1, count))
            yield group
            publishing.close()


BENCHMARKS = [
    Benchmark(
        name="publish",
        title=f"A version of {INSERTS + DELETES + UPDATES + 1} changes, published and followed",
        operation="version",
        groups=_groups,
        unit="us",
        x_label="subscriptions",
        plot="growth",
        note=f"Publishing includes the flush to the disk. The follower is another process, which polls every "
        f"{POLL_EVERY * 1000:.0f} ms; its time starts when publish has returned.",
    )
]
