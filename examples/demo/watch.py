"""Watches a demonstration while it runs: reads the counters of its threads, ten times a second.

The counters are read by a thread that changes none of them, while the others continue. So a sample is not a cut of the
threads. Spark's verdict is about a snapshot, and does not depend on samples.
"""

from __future__ import annotations

import time
from itertools import pairwise
from threading import Event, Thread
from typing import NamedTuple

from examples.demo.crew import Crew

INTERVAL = 0.1
"""Seconds between two samples."""


class Sample(NamedTuple):
    """The counters at one time: messages matched, subscribers found, subscriptions made and ended."""

    seconds: float
    messages: int
    matches: int
    changes: int


class Rates(NamedTuple):
    """The rates per second between two samples; `seconds` is the time of the later one."""

    seconds: float
    messages: float
    matches: float
    changes: float


class Watch:
    """Samples of a crew at work, for as long as the context lasts.

    Args:
        total: the number of messages, if that is known.

    :ivar samples: the samples so far, which another thread may read
    """

    def __init__(self, crew: Crew, total: int | None) -> None:
        self.crew = crew
        self.total = total
        self.samples: list[Sample] = []
        self._began = time.perf_counter()
        self._over = Event()
        self._thread = Thread(target=self._look_again_and_again, name="watch", daemon=True)

    def __enter__(self) -> Watch:
        self._began = time.perf_counter()
        self.look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> None:
        """Take one more sample."""
        publishers, writers = self.crew.publishers, self.crew.writers
        self.samples.append(
            Sample(
                time.perf_counter() - self._began,
                sum(publisher.messages for publisher in publishers),
                sum(publisher.matches for publisher in publishers),
                sum(writer.completed for writer in writers),
            )
        )

    def moments(self) -> list[tuple[float, str]]:
        """The milestones that the exporter has reached, each with its time in seconds."""
        return [(at - self._began, what) for at, what in self.crew.exporter.moments]

    def rates(self) -> list[Rates]:
        """The rates per second, for each two consecutive samples."""
        return [
            Rates(later.seconds, *((now - then) / (later.seconds - earlier.seconds) for then, now in counts))
            for earlier, later in pairwise(list(self.samples))
            if later.seconds > earlier.seconds
            for counts in [tuple(zip(earlier[1:], later[1:], strict=True))]
        ]

    def _look_again_and_again(self) -> None:
        while not self._over.wait(INTERVAL):
            self.look()
