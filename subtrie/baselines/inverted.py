"""The inverted bitmap: for every known topic, the bitmap of the subscriptions that want it.

A match of a known topic is one map read. A subscribe compares its filter with every known topic. When a topic occurs
for the first time, it is compared with every filter, so topics need not be declared. This is fast if there are few
topics and subscriptions rarely change, and expensive if either changes much.
"""

from __future__ import annotations

from typing import Any

from subtrie.baselines.bitmap import Bitmap, Numbered
from subtrie.dialects import AMQP, Dialect, Words, plain_text


class InvertedMatcher(Numbered):
    """One bitmap for each topic.

    A subscribe, and an unsubscribe, is O(known topics). As to threads, see `Numbered`.

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
        super().__init__(dialect)
        self._max_topics = max_topics
        self._rows: dict[str, tuple[Words, Bitmap]] = {}

    def _file(self, number: int, words: Words) -> None:
        for topic, row in self._rows.values():
            if self.dialect.matches(words, topic):
                row.add(number)

    def _remove(self, number: int, words: Words) -> None:
        for _, row in self._rows.values():
            row.discard(number)

    def match(self, topic: str) -> tuple[Any, ...]:
        """Return the subscribers that want the topic. O(answer), and O(subscriptions) for an unknown topic."""
        with self._lock:
            return tuple(self._numbers.subscribers(self._row(topic)))

    def has_match(self, topic: str) -> bool:
        """Return whether any subscriber wants the topic. O(1), and O(subscriptions) for an unknown topic."""
        with self._lock:
            return bool(self._row(topic))

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
