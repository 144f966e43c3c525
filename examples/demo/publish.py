"""Publisher threads: each matches its share of the messages and counts the results."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Barrier, Event

from examples.demo.feed import Feed
from examples.demo.workload import Workload
from subtrie import SubscriptionTrie
from subtrie.cli.lines import LineFile, match_lines

CHUNK = 100
"""Messages matched between two readings of the clock."""
PAUSE = 0.005
"""Seconds between two chunks at a slow pace."""


class Publisher:
    """The counters of every publisher.

    :ivar messages: messages matched so far
    :ivar matches: subscribers found for them
    :ivar checked: messages whose number of subscribers could be checked
    :ivar wrong: checked messages whose number cannot have been right at any instant
    :ivar seconds: time spent on matching
    :ivar stopping: set by another thread to end `run` early
    """

    def __init__(self) -> None:
        self.messages = 0
        self.matches = 0
        self.checked = 0
        self.wrong = 0
        self.seconds = 0.0
        self.stopping = False

    def run(self, trie: SubscriptionTrie, ready: Barrier, filled: Barrier, matched: Callable[[], None]) -> None:
        """Match messages once the trie is filled, and call ``matched`` after each chunk of them."""
        raise NotImplementedError


class MessagePublisher(Publisher):
    """Matches messages drawn from the topics of a workload.

    Each writer renews its subscriptions one at a time, and adds the new one before it removes the old one. So at every
    instant a topic has the workload's number of matches, or up to one more for each writer.

    Args:
        messages: how many to match.
        until: if given, continue after that until it is set, at a slow pace: with a GIL, the thread that waits for
            Spark's answers has to wait for its turn at each of them.
    """

    def __init__(self, workload: Workload, messages: int, writers: int, seed: str, until: Event | None = None) -> None:
        super().__init__()
        self._workload = workload
        self._share = messages
        self._until = until
        self._writers = writers
        self._chance = random.Random(seed)

    def run(self, trie: SubscriptionTrie, ready: Barrier, filled: Barrier, matched: Callable[[], None]) -> None:
        """Match this publisher's share of the messages."""
        expected = list(zip(map(_own_copy, self._workload.topics), self._workload.matching, strict=True))
        match, surplus = trie.match, self._writers
        ready.wait()
        filled.wait()
        while (left := self._left()) and not self.stopping:
            chunk = self._chance.choices(expected, k=min(CHUNK, left))
            matches = wrong = 0
            start = time.perf_counter()
            for topic, least in chunk:
                found = len(match(topic))
                matches += found
                if not least <= found <= least + surplus:
                    wrong += 1
            self.seconds += time.perf_counter() - start
            self.matches += matches
            self.checked += len(chunk)
            self.wrong += wrong
            self.messages += len(chunk)
            matched()

    def _left(self) -> int:
        if self.messages < self._share:
            return self._share - self.messages
        return 0 if self._until is None or self._until.wait(PAUSE) else CHUNK


class FilePublisher(Publisher):
    """Matches topics from a file, and passes on the subscribers that come from a file."""

    def __init__(self, feed: Feed, lines: LineFile) -> None:
        super().__init__()
        self._feed = feed
        self._lines = lines

    def run(self, trie: SubscriptionTrie, ready: Barrier, filled: Barrier, matched: Callable[[], None]) -> None:
        """Match portions of the feed until none is left."""
        ready.wait()
        filled.wait()
        while (taken := self._feed.take()) is not None:
            number, portion = taken
            start = time.perf_counter()
            answer = "".join(match_lines(trie, self._lines, portion))
            self.seconds += time.perf_counter() - start
            self.matches += answer.count("\n")
            self.messages += len(portion)
            self._feed.put(number, answer.encode())
            matched()


def _own_copy(topic: str) -> str:
    """A copy of the string made by the calling thread: free-threaded Python is slower with strings of other threads."""
    return "".join(list(topic))
