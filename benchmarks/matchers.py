"""The contenders in matching topics: one adapter each, all with the methods of `subtrie.matcher.Matcher`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from threading import Lock
from typing import Any

from benchmarks.model import check, same
from subtrie import AMQP, MQTT, Dialect, SubscriptionTrie
from subtrie.baselines.filtering import FilteringMatcher
from subtrie.baselines.locked import LockedTrie
from subtrie.baselines.naive import NaiveMatcher


class UnderLock:
    """A matcher with every call under one lock, as programs share a structure that is not thread-safe."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._matcher = make()
        self._lock = Lock()

    def subscribe(self, filter: str, subscriber: Any) -> bool:
        with self._lock:
            return bool(self._matcher.subscribe(filter, subscriber))

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        with self._lock:
            return bool(self._matcher.unsubscribe(filter, subscriber))

    def match(self, topic: str) -> tuple[Any, ...]:
        with self._lock:
            found: tuple[Any, ...] = self._matcher.match(topic)
            return found


class Paho:
    """paho's MQTTMatcher: one value for each filter, here the subscribers in a dict, and no lock of its
    own."""

    def __init__(self) -> None:
        self._matcher = import_module("paho.mqtt.matcher").MQTTMatcher()

    def subscribe(self, filter: str, subscriber: Any) -> bool:
        try:
            subscribers = self._matcher[filter]
        except KeyError:
            subscribers = self._matcher[filter] = {}
        if subscriber in subscribers:
            return False
        subscribers[subscriber] = None
        return True

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        try:
            subscribers = self._matcher[filter]
        except KeyError:
            return False
        if subscriber not in subscribers:
            return False
        del subscribers[subscriber]
        if not subscribers:
            del self._matcher[filter]
        return True

    def match(self, topic: str) -> tuple[Any, ...]:
        found: dict[Any, None] = {}
        for subscribers in self._matcher.iter_match(topic):
            found |= subscribers
        return tuple(found)


@dataclass(frozen=True)
class Entrant:
    """A contender and its dialect."""

    name: str
    make: Callable[[], Any]
    dialect: Dialect = AMQP
    is_slow: bool = False
    """Whether its matches take so long that it gets fewer of them."""

    def text(self, amqp: str) -> str:
        """Translate a filter or topic of our workloads."""
        return translated(amqp, self.dialect)

    def texts(self, amqp: Iterable[str]) -> list[str]:
        """Translate many."""
        return [self.text(text) for text in amqp]


def translated(amqp: str, dialect: Dialect) -> str:
    """Translate a filter or topic of our workloads, in which `*` is the only wildcard."""
    if dialect is AMQP:
        return amqp
    words = amqp.split(AMQP.separator)
    return dialect.join([dialect.one_word if word == AMQP.one_word else word for word in words])


def of_bitmaps(module: str, name: str) -> Any:
    """Make one of the matchers that need the extra `bitmaps`, which not every interpreter has."""
    return getattr(import_module(f"subtrie.baselines.{module}"), name)()


TRIE = Entrant("SubscriptionTrie", SubscriptionTrie)
CACHED = Entrant("SubscriptionTrie with a cache", partial(SubscriptionTrie, cache=4_096))
EXACT = Entrant("SubscriptionTrie, exact", partial(SubscriptionTrie, exact=True))
UNDER_LOCK = Entrant("SubscriptionTrie under a lock", partial(UnderLock, SubscriptionTrie))
LOCKED = Entrant("locked trie (S8)", LockedTrie)
NAIVE = Entrant("naive (S1)", NaiveMatcher, is_slow=True)
INVERTED = Entrant("inverted bitmap (S2)", partial(of_bitmaps, "inverted", "InvertedMatcher"))
OPTIMISED = Entrant("optimised bitmap (S3)", partial(of_bitmaps, "optimised", "OptimisedMatcher"))
FILTERING = Entrant("filtering (S5)", FilteringMatcher, is_slow=True)
PAHO = Entrant("paho MQTTMatcher", Paho, MQTT)
PAHO_UNDER_LOCK = Entrant("paho MQTTMatcher under a lock", partial(UnderLock, Paho), MQTT)


def present(entrants: Sequence[Entrant]) -> list[Entrant]:
    """Leave out those that are not installed, and say so."""
    found = []
    for entrant in entrants:
        try:
            entrant.make()
        except ImportError as missing:
            print(f"{entrant.name} left out: {missing}")
        else:
            found.append(entrant)
    return found


def filled(entrant: Entrant, filters: Iterable[str], subscriber: Callable[[int], Any] = int) -> Any:
    """Return a matcher with filters. The subscriber of each is its number, or an object made from that."""
    matcher = entrant.make()
    for number, filter in enumerate(filters):
        matcher.subscribe(entrant.text(filter), subscriber(number))
    return matcher


def verify(entrant: Entrant, matcher: Any, filters: Sequence[str], topics: Iterable[str]) -> None:
    """Check a matcher with filters and their numbers against a comparison with each filter."""
    words = [AMQP.split_filter(filter) for filter in filters]
    for topic in topics:
        split = AMQP.split_topic(topic)
        expected = [number for number, filter in enumerate(words) if AMQP.matches(filter, split)]
        found = matcher.match(entrant.text(topic))
        same(found, expected, f"{entrant.name}: {topic}")
        check(len(found) == len(expected), f"{entrant.name}: {topic} has a subscriber twice")
