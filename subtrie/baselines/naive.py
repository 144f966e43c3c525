"""The naive matcher: every filter is compared with every message.

It is the slow end of every comparison, and the reference for the answers of the others.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from subtrie.dialects import AMQP, Dialect, Words
from subtrie.matcher import checked_filter


class NaiveMatcher:
    """Filters in a hash map, compared one by one.

    Thread-safe by one lock, held throughout each operation: ``__hash__`` and ``__eq__`` of subscribers run under it and
    must not call the matcher. Blocking. Every operation takes effect at one instant while it holds the lock.

    Args:
        dialect: how filters and topics are written.

    >>> matcher = NaiveMatcher()
    >>> matcher.subscribe("*.stock.#", "ann"), matcher.subscribe("*.stock.#", "ann")
    (True, False)
    >>> matcher.match("usd.stock.db")
    ('ann',)
    """

    def __init__(self, dialect: Dialect = AMQP) -> None:
        self.dialect = dialect
        self._lock = Lock()
        self._subscribers: dict[Words, set[Any]] = {}

    def subscribe(self, filter: str, subscriber: Any) -> bool:
        """Add a subscription and tell whether it is new. O(length of the filter)."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            subscribers = self._subscribers.get(words, set())
            if subscriber in subscribers:
                return False
            subscribers.add(subscriber)
            self._subscribers[words] = subscribers
            return True

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        """Remove a subscription and tell whether it was there. O(length of the filter)."""
        words = checked_filter(self.dialect, filter, subscriber)
        with self._lock:
            subscribers = self._subscribers.get(words, set())
            if subscriber not in subscribers:
                return False
            subscribers.remove(subscriber)
            if not subscribers:
                del self._subscribers[words]
            return True

    def match(self, topic: str) -> tuple[Any, ...]:
        """Return the subscribers that want the topic. O(filters x their words x words of the topic)."""
        words = self.dialect.split_topic(topic)
        matches = self.dialect.matches
        with self._lock:
            wanting = (found for filter, found in self._subscribers.items() if matches(filter, words))
            return tuple(set().union(*wanting))

    def has_match(self, topic: str) -> bool:
        """Return whether any subscriber wants the topic: stops at the first filter that matches."""
        words = self.dialect.split_topic(topic)
        matches = self.dialect.matches
        with self._lock:
            return any(matches(filter, words) for filter in self._subscribers)

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._subscribers.values()))

    def check(self) -> None:
        """Check that no filter is kept without a subscriber."""
        assert all(self._subscribers.values()), "a filter without a subscriber"
