"""The targets of `python -m tests.tries run`: this distribution's own structures, or users' workloads.

A structure is imported only when it is used, so that nothing else depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from stress.recorder.record import Deferred
from stress.recorder.workload import Workload, one_of, unique
from stress.spec import Spec
from stress.specs import Map, Subscriptions
from tests.tries.field_subjects import FIELDS
from tests.tries.specs import Exclusions, Shares, Topics
from tests.tries.under_test import UnderTest, beside_a_fork, check


class MapUnderTest(UnderTest):
    """The calls of the map specification, on a mapping such as `ctrie.Ctrie`."""

    def items(self) -> frozenset[tuple[Any, Any]]:
        """All pairs, read at one instant."""
        return frozenset(self.trie.items())

    def keys(self) -> tuple[Any, ...]:
        """All keys, read at one instant."""
        return tuple(self.trie.keys())

    def values(self) -> tuple[Any, ...]:
        """All values, read at one instant."""
        return tuple(self.trie.values())

    def compute(self, key: Any, amount: int) -> Any:
        """Add `amount` to the value."""
        return self.trie.compute(key, lambda old: (old or 0) + amount)

    def get_or_create(self, key: Any, value: Any) -> Any:
        """With a factory that makes `value` if there is none."""
        return self.trie.get_or_create(key, lambda: value)

    def get_many(self, key: Any) -> Any:
        """The value of one key, by a call for many keys."""
        return self.trie.get_many([key])[0]

    def update(self, key: Any, value: Any) -> None:
        """Store one pair by a call for many, which stores them all at once if the map is empty."""
        self.trie.update([(key, value)])

    def readonly_snapshot(self) -> Deferred:
        """A read-only snapshot, read later."""
        taken = self.trie.readonly_snapshot()
        return Deferred(lambda: list(taken.items()))

    def snapshot(self) -> Deferred:
        """A writable snapshot, read later."""
        taken = self.trie.snapshot()
        return beside_a_fork(taken, taken.snapshot)


class SubscriptionsUnderTest(UnderTest):
    """The calls of the subscription specification, on a trie such as `subtrie.SubscriptionTrie`."""

    def entries(self, topic: str) -> list[tuple[str, Any]]:
        """Filter and subscriber of each entry that matches."""
        return [(entry.filter, entry.subscriber) for entry in self.trie.entries(topic)]

    def deliveries(self, topic: str) -> list[Any]:
        """The subscribers that get a message, each as often as it gets it."""
        return list(dict.fromkeys(delivery.subscriber for delivery in self.trie.deliveries(topic)))

    def deliveries_of(self, topic: str, subscriber: Any) -> Any:
        """The filters by which one subscriber gets a message."""
        return [delivery.filter for delivery in self.trie.deliveries_of(topic, subscriber)]

    def match_many(self, topic: str) -> Any:
        """As `match`, by a call for many topics."""
        return self.trie.match_many([topic])[0]

    def match_iter(self, topic: str) -> Any:
        """As `match`, one after another."""
        return tuple(self.trie.match_iter(topic))

    def deliveries_many(self, topic: str) -> list[Any]:
        """As `deliveries`, by a call for many topics."""
        return list(dict.fromkeys(delivery.subscriber for delivery in self.trie.deliveries_many([topic])[0]))

    def subscribe_many(self, *pairs: tuple[str, Any]) -> int:
        """Subscribe to several filters by one call."""
        return int(self.trie.subscribe_many(pairs))

    def unsubscribe_many(self, *pairs: tuple[str, Any]) -> int:
        """Unsubscribe from several filters by one call."""
        return int(self.trie.unsubscribe_many(pairs))

    def content_of(self, trie: Any) -> list[Any]:
        """Filter and subscriber of every entry."""
        return [(entry.filter, entry.subscriber) for entry in trie.subscriptions()]

    def subscriptions(self) -> list[Any]:
        """The content."""
        return self.content_of(self.trie)


class SharesUnderTest(SubscriptionsUnderTest):
    """The calls of the specification of one queue group, `g`, on a subscription trie."""

    def members(self, topic: str) -> list[Any]:
        """The members of the group."""
        return [one.subscriber for one in self.trie.members(topic, "g")]

    def groups(self, topic: str) -> list[Any]:
        """The same, of all groups of the filter."""
        return [one.subscriber for one in self.trie.groups(topic).get("g", ())]

    def deliveries_of(self, topic: str, subscriber: Any) -> bool:
        """Whether a subscriber may get a message as a member of the group."""
        return [one.group for one in self.trie.deliveries_of(topic, subscriber)] == ["g"]


class ExclusionsUnderTest(SubscriptionsUnderTest):
    """The calls of the specification of exclusions, on a subscription trie."""

    def subscribe(self, filter: str, subscriber: Any, without: str = "") -> bool:
        """Subscribe to the filter without a topic, or without none."""
        return bool(self.trie.subscribe(filter, subscriber, but=(without,) if without else ()))

    def content_of(self, trie: Any) -> list[Any]:
        """Filter, subscriber and topic left out, of every entry."""
        return [(entry.filter, entry.subscriber, entry.options.get("but", ("",))[0]) for entry in trie.subscriptions()]


class TopicsUnderTest(UnderTest):
    """The calls of the specification of topics, on a store such as `subtrie.TopicStore`."""

    def matching(self, filter: str) -> list[tuple[str, Any]]:
        """Topic and value of each topic that matches."""
        return list(self.trie.matching(filter))

    def snapshot(self) -> Deferred:
        """A snapshot, read later."""
        taken = self.trie.snapshot()
        return beside_a_fork(taken, taken.fork)


class JoinedUnderTest(TopicsUnderTest):
    """The same, with lookups by a subscription to the filter."""

    def matching(self, filter: str) -> list[tuple[str, Any]]:
        """Topic and value of each topic that reaches the subscription."""
        subscriptions = import_module("subtrie").SubscriptionTrie()
        subscriptions.subscribe(filter, 1)
        return [(topic, value) for topic, value, _ in self.trie.joined(subscriptions)]


class StoreUnderTest(UnderTest):
    """The calls of the map specification, on a `subtrie.TopicStore`, including its lookups by filter. `subscriptions`
    is a trie with a subscription to all topics."""

    def __init__(self, store: Any, subscriptions: Any) -> None:
        super().__init__(store)
        self._subscriptions = subscriptions

    def joined(self) -> list[tuple[str, Any]]:
        """All topics with their values, looked up by a subscription."""
        return [(topic, value) for topic, value, _ in self.trie.joined(self._subscriptions)]

    def matching(self, topic: str) -> Any:
        """The value of a topic, looked up with the topic as the filter."""
        return dict(self.trie.matching(topic)).get(topic)

    def matching_all(self) -> list[tuple[str, Any]]:
        """All topics with their values, looked up by a filter."""
        return list(self.trie.matching("#"))


class Key(str):
    """A key whose hash and equality are Python code, like a user's: threads can be interrupted there."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True

    def __hash__(self) -> int:
        return str.__hash__(self)


_KEYS: Final = tuple(map(Key, "abcdef"))


def _map_calls(value: Any) -> list[tuple[Any, ...]]:
    """Every operation of a map on a few keys, with values drawn from `value`. Operations on one key are more
    frequent."""
    key = one_of(*_KEYS)
    on_key = [
        ("get", key), ("__getitem__", key), ("__contains__", key), ("__setitem__", key, value),
        ("put_if_absent", key, value), ("setdefault", key, value), ("get_or_create", key, value),
        ("replace", key, value), ("replace_if", key, value, value), ("remove_if", key, value),
        ("__delitem__", key), ("pop", key, None), ("compute", key, 1),
    ]  # fmt: skip
    return [
        *on_key * 3,
        *((op,) for op in ["popitem", "items", "keys", "values", "__len__", "clear", "snapshot", "readonly_snapshot"]),
    ]


def _map_workloads() -> list[Workload]:
    ctrie = import_module("ctrie")

    def plain() -> MapUnderTest:
        return MapUnderTest(ctrie.Ctrie())

    def colliding() -> MapUnderTest:
        """Only two different hashes for all keys: everything is in L-nodes at the bottom of two long paths."""
        return MapUnderTest(ctrie.Ctrie(hash=lambda key: len(key) and ord(key[0]) % 2))

    on_any, on_few = _map_calls(unique), _map_calls(one_of(1, 2, 3))
    on_one_key = [call for call in on_any if len(call) > 1]
    made = ((plain, on_any), (plain, on_one_key), (colliding, on_few), (plain, on_few), (colliding, on_one_key))
    return [Workload(make, Map(), calls, check, "map") for make, calls in made]


_WHO, _BETWEEN = one_of(1, 2), one_of("a.b", "a.c", "a.d")
_SHARE: Final = ("$share/g/a/b", one_of(1, 2, 3))
_SHARED: Final[list[tuple[Any, ...]]] = [
    *[("subscribe", *_SHARE), ("unsubscribe", *_SHARE)] * 3,
    *[("members", "a/b"), ("deliveries_of", "a/b", _SHARE[1])] * 2, ("has_match", "a/b"),
]  # fmt: skip
"""Without matches: these take their turns later than they answer."""
_EXCLUDED: Final[list[tuple[Any, ...]]] = [
    *[("subscribe", "a.*", _WHO, one_of("", "a.b", "a.c")), ("match", _BETWEEN)] * 4,
    *[("unsubscribe", "a.*", _WHO), ("has_match", _BETWEEN)] * 2, ("subscriptions",), ("snapshot",), ("clear",),
]  # fmt: skip


def _subscription_workloads() -> list[Workload]:
    subtrie = import_module("subtrie")

    def made(kind: Any, spec: Spec, calls: list[tuple[Any, ...]], *dialect: Any, **settings: Any) -> Workload:
        return Workload(
            lambda: kind(subtrie.SubscriptionTrie(*dialect, **settings)), spec, calls, check, "subscriptions"
        )

    settings: Sequence[dict[str, Any]] = ({}, {"cache": 4}, {"index": True}, {"exact": True})
    shallow = ["a.b", "*.b", "a.*", "#", "a.#"], ["a.b", "x.b"]
    deep = ["a.b.c.d", "a.b.#", "a.*.c", "#.c.d", "a.b.c", "x.y.z", "x.#"], ["a.b.c.d", "a.b.c", "x.y.z"]
    calls = [_subscription_calls(*of, whole) for of in (shallow, deep) for whole in (True, False)]
    plain = [made(SubscriptionsUnderTest, Subscriptions(), each, **these) for these in settings for each in calls]
    excluding = [made(ExclusionsUnderTest, Exclusions(), _EXCLUDED, **these) for these in settings]
    return [*plain, *excluding, made(SharesUnderTest, Shares(), _SHARED, subtrie.MQTT)]


def _subscription_calls(filters: Sequence[str], topics: Sequence[str], whole: bool) -> list[tuple[Any, ...]]:
    filter, topic = one_of(*filters), one_of(*topics)
    calls = [("subscribe", filter, _WHO), ("unsubscribe", filter, _WHO), ("match", topic)] * 6
    calls += [("has_match", topic), ("count", topic), ("entries", topic), *[("deliveries_of", topic, _WHO)] * 2]
    of_all = [("subscriptions",), ("filters", _WHO), ("snapshot",), ("__len__",), ("clear",)]
    return [*calls, *of_all] if whole else calls


def _topic_workloads() -> list[Workload]:
    subtrie = import_module("subtrie")

    def made(kind: Any, calls: list[tuple[Any, ...]]) -> Workload:
        return Workload(lambda: kind(subtrie.TopicStore()), Topics(), calls, check, "topics")

    shallow = _topic_calls(["a", "a.b", "a.c", "b.c"], ["a.*", "*.c", "#", "a.#", "a.b"])
    deep = _topic_calls(["a.b.c.d", "a.b.c", "a.b.x.d", "x.y"], ["a.b.#", "a.*.*.d", "a.b.c.*", "*.b.#", "x.y"])
    plain = [made(TopicsUnderTest, calls) for calls in (shallow, deep, [*shallow, *deep])]
    return [*plain, made(JoinedUnderTest, shallow)]


def _topic_calls(topics: Sequence[str], filters: Sequence[str]) -> list[tuple[Any, ...]]:
    topic = one_of(*topics)
    of_one: list[tuple[Any, ...]] = [
        *[("__setitem__", topic, unique), ("pop", topic, None)] * 2,
        ("setdefault", topic, unique), ("__delitem__", topic), ("get", topic), ("__getitem__", topic),
    ]  # fmt: skip
    of_all = [("popitem",), ("items",), ("__len__",), ("snapshot",), ("clear",)]
    return [*of_one * 2, *[("matching", one_of(*filters))] * 8, *of_all]


TARGETS: Final[Mapping[str, Callable[[], list[Workload]]]] = {
    "map": _map_workloads,
    "subscriptions": _subscription_workloads,
    "topics": _topic_workloads,
    **FIELDS,
}
