"""What is watched while a demonstration runs: the counters of its threads, ten times a second.

The counters are read as they stand, by a thread that changes none of them: a sample is a look at threads that go on
meanwhile, and no cut of them. Spark's verdict is about a snapshot, and needs none of this.
"""

from __future__ import annotations

import time
from itertools import pairwise
from threading import Event, Thread
from typing import NamedTuple

from subtrie.cli.crew import Crew

INTERVAL = 0.1
"""Seconds between two samples."""


class Sample(NamedTuple):
    """What had been done when somebody looked: messages matched, subscribers found, subscriptions made and ended."""

    seconds: float
    messages: int
    matches: int
    changes: int


class Rates(NamedTuple):
    """What was done in a second, between two samples; `seconds` is the later one's."""

    seconds: float
    messages: float
    matches: float
    changes: float


class Watch:
    """Samples of a crew at work, for as long as the context lasts.

    :param total: how many messages there are, if that is known
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
        """What the exporter has come to, and after how many seconds each."""
        return [(at - self._began, what) for at, what in self.crew.exporter.moments]

    def rates(self) -> list[Rates]:
        """What was done in a second, for each two samples that follow each other."""
        return [
            Rates(later.seconds, *((now - then) / (later.seconds - earlier.seconds) for then, now in counts))
            for earlier, later in pairwise(list(self.samples))
            if later.seconds > earlier.seconds
            for counts in [tuple(zip(earlier[1:], later[1:], strict=True))]
        ]

    def _look_again_and_again(self) -> None:
        while not self._over.wait(INTERVAL):
            self.look()
