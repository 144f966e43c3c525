"""The `Matcher` protocol: what every matcher does, so that users can pick one by evidence and exchange it for another.

=====================================================  =========================================  ===============
matcher                                                idea                                       thread-safe by
=====================================================  =========================================  ===============
:class:`subtrie.SubscriptionTrie`                      a concurrent trie of words                 compare-and-set
:class:`subtrie.baselines.naive.NaiveMatcher`          every filter compared with every message   a lock
:class:`subtrie.baselines.inverted.InvertedMatcher`    a bitmap of subscriptions for every topic  a lock
:class:`subtrie.baselines.optimised.OptimisedMatcher`  a bitmap for every word at every position  a lock
:class:`subtrie.baselines.locked.LockedTrie`           a trie of words                            a lock
:class:`subtrie.baselines.filtering.FilteringMatcher`  wide filters first, the others after them  copy-on-write
=====================================================  =========================================  ===============
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from subtrie.dialects import Dialect, Words
from subtrie.errors import TopicError


class Matcher(Protocol):
    """Holds subscriptions, and finds those that want a message.

    A subscription is a pair of a filter and a subscriber. Filters with different texts are different filters, whatever
    they mean. All operations are thread-safe; each class says how. An operation that refuses its arguments changes
    nothing.
    """

    @property
    def dialect(self) -> Dialect:
        """How filters and topics are written."""
        ...

    def subscribe(self, filter: str, subscriber: Any, /) -> bool:
        """Add a subscription.

        Returns:
            Whether it was not there before.

        Raises:
            TopicError: if the filter is bad.
            TypeError: if the filter is not a str or the subscriber is not hashable.
        """
        ...

    def unsubscribe(self, filter: str, subscriber: Any, /) -> bool:
        """Remove a subscription.

        Returns:
            Whether it was there.

        Raises:
            TopicError: if the filter is bad.
            TypeError: if the filter is not a str or the subscriber is not hashable.
        """
        ...

    def match(self, topic: str, /) -> tuple[Any, ...]:
        """Return the subscribers with a filter that matches the topic, each of them once, in no particular order.

        Raises:
            TopicError: if the topic is bad.
            TypeError: if the topic is not a str.
        """
        ...

    def has_match(self, topic: str, /) -> bool:
        """Return whether any subscriber wants the topic.

        Raises:
            TopicError: if the topic is bad.
            TypeError: if the topic is not a str.
        """
        ...

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        ...

    def check(self) -> None:
        """Check every invariant, at rest only.

        Raises:
            AssertionError: naming the broken one.
        """
        ...


def checked_filter(dialect: Dialect, filter: str, subscriber: Hashable) -> Words:
    """Check a filter and a subscriber; return the words of the filter.

    Raises:
        TopicError: if the filter is bad, or is that of a shared subscription: only :class:`subtrie.SubscriptionTrie`
            gives each message to one member of a group.
        TypeError: if the filter is not a str or the subscriber is not hashable.
    """
    words = dialect.split_filter(filter)
    if dialect.unshare(words)[0] is not None:
        raise TopicError(filter, 0, "shared subscription, which only a SubscriptionTrie itself serves,")
    hash(subscriber)
    return words
