"""The inverted bitmap: for every known topic, the bitmap of the subscriptions that want it.

A match of a known topic is one map read. A subscribe compares its filter with every known topic. When a topic occurs
for the first time, it is compared with every filter, so topics need not be declared. This is fast if there are few
topics and subscriptions rarely change, and expensive if either changes much.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from subtrie.baselines.bitmap import Bitmap, Numbering
from subtrie.dialects import AMQP, Dialect, Words, plain_text
from subtrie.matcher import checked_filter


class InvertedMatcher:
    """One bitmap for each topic.

    Thread-safe by one lock, held throughout each operation: ``__hash__`` and ``__eq__`` of subscribers run under it and
    must not call the matcher. Blocking. Every operation takes effect at one instant while it holds the lock.

    Args:
        dialect: how filters and topics are written.
        max_topics: how many topics are kept; a new topic beyond that replaces the oldest one.

    >>> matcher = InvertedMatcher()
    >>> matcher.subscribe("forex.*", "ann")
    True
    >>> matcher.match("forex.eur")
    ('ann',)
    """

    def __init__(self, dialect: Dialect = AMQP, max_topics: int = 100_000) -> None:
        if max_topics < 1:
            raise ValueError(f"max_topics must be at least 1, not {max_topics}")
        self.dialect = dialect
        self._max_topics = max_topics
        self._lock = Lock()
        self._numbers = Numbering()
        self._rows: dict[str, tuple[Words, Bitmap]] = {}

    def subscribe(self, filter: str, subscriber: Any) -> bool:
        """Add a subscription and tell whether it is new. O(known topics)."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            number = self._numbers.add(words, subscriber)
            if number is None:
                return False
            for topic, row in self._rows.values():
                if self.dialect.matches(words, topic):
                    row.add(number)
            return True

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        """Remove a subscription and tell whether it was there. O(known topics)."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            number = self._numbers.remove(words, subscriber)
            if number is None:
                return False
            for _, row in self._rows.values():
                row.discard(number)
            return True

    def match(self, topic: str) -> tuple[Any, ...]:
        """Return the subscribers that want the topic. O(answer), and O(subscriptions) for an unknown topic."""
        with self._lock:
            return tuple(self._numbers.subscribers(self._row(topic)))

    def has_match(self, topic: str) -> bool:
        """Return whether any subscriber wants the topic. O(1), and O(subscriptions) for an unknown topic."""
        with self._lock:
            return bool(self._row(topic))

    def __len__(self) -> int:
        with self._lock:
            return len(self._numbers)

    def check(self) -> None:
        """Check every bit of every row, and that there are no more rows than allowed."""
        self._numbers.check()
        assert len(self._rows) <= self._max_topics, f"{len(self._rows)} topics kept"
        for topic, row in self._rows.values():
            assert list(row) == list(self._compile(topic)), f"the row of {topic} is not what its topic says"

    def _row(self, topic: str) -> Bitmap:
        topic = plain_text(topic, "topic")
        if topic in self._rows:  # not `get`: see locked.py
            return self._rows[topic][1]
        words = self.dialect.split_topic(topic)
        row = self._compile(words)
        if len(self._rows) == self._max_topics:
            del self._rows[next(iter(self._rows))]
        self._rows[topic] = words, row
        return row

    def _compile(self, topic: Words) -> Bitmap:
        filter, matches = self._numbers.filter, self.dialect.matches
        return Bitmap(number for number in self._numbers if matches(filter(number), topic))
