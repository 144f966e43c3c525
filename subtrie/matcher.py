"""What every matcher does: the `Matcher` protocol, so that users can pick one by evidence and exchange it for
another.

===========================================  ==============================================  ===============
matcher                                      idea                                            thread-safe by
===========================================  ==============================================  ===============
:class:`subtrie.SubscriptionTrie`            a concurrent trie of words                      compare-and-set
:class:`subtrie.naive.NaiveMatcher`          every filter compared with every message        a lock
:class:`subtrie.inverted.InvertedMatcher`    a bitmap of subscriptions for every topic       a lock
:class:`subtrie.optimised.OptimisedMatcher`  a bitmap for every word at every position       a lock
:class:`subtrie.locked.LockedTrie`           a trie of words                                 a lock
:class:`subtrie.filtering.FilteringMatcher`  wide filters first, narrower ones beneath them  copy-on-write
===========================================  ==============================================  ===============
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from subtrie.dialects import Dialect, Words
from subtrie.errors import TopicError


class Matcher(Protocol):
    """Holds subscriptions, and finds those that want a message.

    A subscription is a pair of a filter and a subscriber. Filters that are written differently are different
    filters, whatever they mean. All operations are thread-safe; a class says how. Those that refuse their
    arguments change nothing.
    """

    @property
    def dialect(self) -> Dialect:
        """How filters and topics are written."""
        ...

    def subscribe(self, filter: str, subscriber: Any, /) -> bool:
        """Add a subscription.

        :returns: whether it was not there before
        :raises TopicError: where the filter is bad
        :raises TypeError: where the filter is no str or the subscriber is not hashable
        """
        ...

    def unsubscribe(self, filter: str, subscriber: Any, /) -> bool:
        """Remove a subscription.

        :returns: whether it was there
        :raises TopicError: where the filter is bad
        :raises TypeError: where the filter is no str or the subscriber is not hashable
        """
        ...

    def match(self, topic: str, /) -> tuple[Any, ...]:
        """Return the subscribers with a filter that matches the topic, each of them once, in no certain
        order.

        :raises TopicError: where the topic is bad
        :raises TypeError: where the topic is no str
        """
        ...

    def has_match(self, topic: str, /) -> bool:
        """Return whether anybody wants the topic.

        :raises TopicError: where the topic is bad
        :raises TypeError: where the topic is no str
        """
        ...

    def __len__(self) -> int:
        """Return the number of subscriptions."""
        ...

    def check(self) -> None:
        """Check every invariant, at rest only.

        :raises AssertionError: naming a broken one
        """
        ...


def checked_filter(dialect: Dialect, filter: str, subscriber: Hashable) -> Words:
    """Return the words of a filter, having checked both halves of a subscription.

    :raises TopicError: where the filter is bad, or is a shared subscription: to hand each message to one
        member of a group is what :class:`subtrie.SubscriptionTrie` alone does
    :raises TypeError: where the filter is no str or the subscriber is not hashable
    """
    words = dialect.split_filter(filter)
    if dialect.unshare(words)[0] is not None:
        raise TopicError(filter, 0, "shared subscription, which only a SubscriptionTrie itself serves,")
    hash(subscriber)
    return words
