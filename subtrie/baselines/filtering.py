"""Filtering: a matcher for applications that mostly ask "does anyone want this?".

Only the *widest* filters need to be compared for that: those that no other filter subsumes (if ``forex.*`` is there,
``forex.eur`` is skipped). They are compared in the order in which they are likely to match: those with the most
many-words wildcards first, then those with the largest share of one-word wildcards, then the shorter ones. The first
that matches ends the search. A topic that none of them matches has no subscriber. Only for the other topics are all
filters compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ctrie import AtomicReference
from subtrie.dialects import AMQP, Dialect, Words
from subtrie.matcher import checked_filter


class _State(NamedTuple):
    """The state of the matcher at one instant; never changed once published."""

    subscribers: dict[Words, frozenset[Any]]
    widest: tuple[Words, ...]


class FilteringMatcher:
    """Filters in a hash map, and the widest of them in a separate list.

    Thread-safe by copy-on-write: the state is immutable and held by an atomic reference. Readers are wait-free. A
    writer builds another state and puts it in place by compare-and-set; it starts again if another writer was faster
    (lock-free). A read takes effect when it loads the state, a change when its compare-and-set succeeds.

    Args:
        dialect: how filters and topics are written.

    >>> matcher = FilteringMatcher()
    >>> matcher.subscribe("forex.eur", "ann"), matcher.subscribe("forex.*", "bob")
    (True, True)
    >>> matcher.has_match("forex.usd"), sorted(matcher.match("forex.eur"))
    (True, ['ann', 'bob'])
    """

    def __init__(self, dialect: Dialect = AMQP) -> None:
        self.dialect = dialect
        self._state = AtomicReference(_State({}, ()))

    def subscribe(self, filter: str, subscriber: Any) -> bool:
        """Add a subscription and tell whether it is new. O(filters)."""
        words = checked_filter(self.dialect, filter, subscriber)
        while True:
            state: _State = self._state.load()
            present = state.subscribers.get(words, frozenset())
            if subscriber in present:
                return False
            subscribers = {**state.subscribers, words: present | {subscriber}}
            widest = state.widest if present else self._widen(state.widest, words)
            if self._state.compare_and_set(state, _State(subscribers, widest)):
                return True

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        """Remove a subscription and tell whether it was there.

        O(filters), and O(filters x widest filters) if the last subscriber of one of the widest filters is removed.
        """
        words = checked_filter(self.dialect, filter, subscriber)
        while True:
            state: _State = self._state.load()
            present = state.subscribers.get(words, frozenset())
            if subscriber not in present:
                return False
            subscribers = {**state.subscribers, words: present - {subscriber}}
            widest = state.widest
            if not subscribers[words]:
                del subscribers[words]
                widest = self._narrow(widest, words, subscribers)
            if self._state.compare_and_set(state, _State(subscribers, widest)):
                return True

    def match(self, topic: str) -> tuple[Any, ...]:
        """Return the subscribers that want the topic: compares all filters, if one of the widest matches."""
        words = self.dialect.split_topic(topic)
        state: _State = self._state.load()
        matches = self.dialect.matches
        if not any(matches(filter, words) for filter in state.widest):
            return ()
        wanting = (found for filter, found in state.subscribers.items() if matches(filter, words))
        return tuple(set().union(*wanting))

    def has_match(self, topic: str) -> bool:
        """Return whether any subscriber wants the topic: stops at the first of the widest filters that matches."""
        words = self.dialect.split_topic(topic)
        return any(self.dialect.matches(filter, words) for filter in self._state.load().widest)

    def __len__(self) -> int:
        return sum(map(len, self._state.load().subscribers.values()))

    def check(self) -> None:
        """Check that the widest filters subsume all others but not each other, and that they are in order."""
        subscribers, widest = self._state.load()
        subsumes = self.dialect.subsumes
        assert all(subscribers.values()), "a filter without a subscriber"
        assert subscribers.keys() >= set(widest), "a widest filter that is not there"
        for filter in subscribers:
            above = [wide for wide in widest if subsumes(wide, filter)]
            assert above, f"no widest filter subsumes {filter}"
            assert filter not in widest or above == [filter], f"{filter} is not one of the widest"
        assert widest == self._in_order(widest), "a narrow filter is asked before a wide one"

    def _widen(self, widest: tuple[Words, ...], new: Words) -> tuple[Words, ...]:
        """Return the widest filters after a new filter was added."""
        subsumes = self.dialect.subsumes
        if any(subsumes(wide, new) for wide in widest):
            return widest
        return self._in_order([*(wide for wide in widest if not subsumes(new, wide)), new])

    def _narrow(self, widest: tuple[Words, ...], gone: Words, others: Iterable[Words]) -> tuple[Words, ...]:
        """Return the widest filters after `gone` was removed: filters that it subsumed may now be among them."""
        if gone not in widest:
            return widest
        widest = tuple(wide for wide in widest if wide != gone)
        for filter in others:
            if self.dialect.subsumes(gone, filter):
                widest = self._widen(widest, filter)
        return widest

    def _in_order(self, filters: Iterable[Words]) -> tuple[Words, ...]:
        return tuple(sorted(filters, key=self._narrowness))

    def _narrowness(self, filter: Words) -> tuple[int, float, int, Words]:
        many = filter.count(self.dialect.many_words) if self.dialect.many_words is not None else 0
        share = filter.count(self.dialect.one_word) / len(filter) if filter else 0.0
        return -many, -share, len(filter), filter
