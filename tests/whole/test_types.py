"""What a type checker finds in the package: `make lint` checks the types asserted here, the tests run them.

test_signatures.py compares the stubs with what there is at run time.
"""

from __future__ import annotations

from typing import assert_type

import pytest

from ctrie import AtomicReference, Ctrie, CtrieSet
from subtrie import MQTT, Delivery, Subscription, SubscriptionTrie, TopicStore
from subtrie.fields import Equals, FieldDelivery, FieldMatcher, FieldSubscription, Route, RoutingMatcher


def test_maps_sets_and_references_of_what_they_were_made_with() -> None:
    prices, letters, latest = Ctrie({"gold": 1}), CtrieSet("ab"), AtomicReference(1)
    assert_type((prices, letters, latest), "tuple[Ctrie[str, int], CtrieSet[str], AtomicReference[int]]")
    assert_type((prices["gold"], prices.get("oil"), prices.get("oil", "none")), tuple[int, int | None, int | str])
    assert_type(
        (prices.compute("gold", lambda price: price + 1, 0), prices.put_if_absent("gold", 2)), tuple[int, int | None]
    )
    assert_type((prices.snapshot(), prices | {1: "one"}), "tuple[Ctrie[str, int], Ctrie[str | int, int | str]]")
    assert_type(list(prices.items()), list[tuple[str, int]])
    assert_type(list(prices.diff(Ctrie())), list[tuple[str, int | None, int | None]])
    assert_type((letters.add("c"), letters - {"a"}), "tuple[bool, CtrieSet[str]]")
    assert_type(list(letters.diff(letters.snapshot())), list[tuple[str, bool]])
    assert_type((latest.load(), latest.compare_and_set(1, 2)), tuple[int, bool])
    anything = Ctrie()
    anything[1] = prices  # an empty map has an unknown type, so any key and value may be stored
    prices.check()


def test_a_trie_of_its_subscribers() -> None:
    trie = SubscriptionTrie[str](MQTT)
    trie.subscribe("a", "ann", qos=1)
    trie.subscribe("a", 5)  # type: ignore[arg-type]
    assert_type((trie.match("a"), trie.snapshot().match("a")), tuple[tuple[str, ...], tuple[str, ...]])
    assert_type((trie.deliveries("a"), trie.deliveries("a")[0].subscriber), tuple[tuple[Delivery[str], ...], str])
    assert_type(list(trie.entries("a")), list[Subscription[str]])
    with pytest.raises(TypeError, match="read-only"):
        trie.snapshot().subscribe("a", "bob")  # type: ignore[misc]
    with pytest.raises(TypeError, match="read-only"):
        trie.snapshot().clear()  # type: ignore[misc]
    whole: SubscriptionTrie[str] = trie.snapshot()
    assert len(whole) == 2
    SubscriptionTrie().subscribe("a", object())  # without an annotation, nothing is required
    trie.check()


def test_matchers_by_fields_of_their_subscribers() -> None:
    fields, routes = FieldMatcher[str](), RoutingMatcher[int](MQTT)
    fields.subscribe([Equals("a", 1)], "ann", qos=1)
    fields.subscribe([Equals("a", 1)], 5)  # type: ignore[arg-type]
    fields.unsubscribe_all(5)  # type: ignore[arg-type]
    assert_type((fields.match_all({"a": 1}), fields.match_any({"a": 1})), tuple[tuple[str, ...], tuple[str, ...]])
    assert_type((fields.match_many([{"a": 1}]), fields.snapshot()), "tuple[list[tuple[str, ...]], FieldMatcher[str]]")
    assert_type(
        (fields.deliveries({"a": 1}), fields.hits({"a": 1})),
        tuple[tuple[FieldDelivery[str], ...], dict[FieldSubscription[str], int]],
    )
    assert_type([change.subscription.subscriber for change in fields.diff(fields.fork())], list[str])
    FieldMatcher().subscribe([Equals("a", 1)], object())  # without an annotation, nothing is required
    routes.subscribe("a/+", [Equals("f", 1)], 7)
    routes.subscribe("a/+", [], "ann")  # type: ignore[arg-type]
    routes.unsubscribe("a/+", [], "ann")  # type: ignore[arg-type]
    assert_type((routes.match("a/b", {"f": 1}), routes.fork()), "tuple[tuple[int, ...], RoutingMatcher[int]]")
    assert_type(routes.match_many([("a/b", {"f": 1})]), list[tuple[int, ...]])
    assert_type((routes.deliveries("a/b", {"f": 1})[0], list(routes)), tuple[FieldDelivery[int], list[Route[int]]])
    fields.check()
    routes.check()


def test_a_store_of_its_values() -> None:
    store = TopicStore[int](MQTT, {"a": 1})
    assert_type(
        (store["a"], store.get("b", "none"), list(store.matching("#"))), tuple[int, int | str, list[tuple[str, int]]]
    )
    with pytest.raises(TypeError, match="read-only"):
        store.snapshot()["a"] = 2  # type: ignore[misc]
    store.check()
