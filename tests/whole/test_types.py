"""What a type checker finds in the package: `make lint` checks the types asserted here, the tests at run time."""

from __future__ import annotations

import ast
import inspect
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import assert_type

import pytest

import ctrie
import subtrie
import subtrie.fields
from ctrie import AtomicReference, Ctrie, CtrieSet
from subtrie import MQTT, Delivery, Subscription, SubscriptionTrie, TopicStore
from subtrie.fields import Equals, FieldDelivery, FieldMatcher, FieldSubscription, Route, RoutingMatcher

PACKAGES = (ctrie, subtrie, subtrie.fields)
STUBS = {package: ast.parse(Path(str(package.__file__)).with_suffix(".pyi").read_text()) for package in PACKAGES}
CLASSES = [
    (package, node)
    for package in PACKAGES
    for node in STUBS[package].body
    if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name != "Change"
]
UNNAMED = {"Ctrie.pop", "TopicStore.pop"}  # their default is an object without a public name


def named(function: ast.FunctionDef) -> list[str]:
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


DECLARED = {
    (package, f"{kind.name}.{name}"): max((named(node) for node in overloads), key=len)
    for package, kind in CLASSES
    for name, overloads in groupby((n for n in kind.body if isinstance(n, ast.FunctionDef)), lambda n: n.name)
    if name[0] != "_" and f"{kind.name}.{name}" not in UNNAMED
}


def test_a_map_of_what_it_was_made_with() -> None:
    prices = Ctrie({"gold": 1})
    assert_type(prices, "Ctrie[str, int]")
    assert_type(prices["gold"], int)
    assert_type(prices.get("oil"), int | None)
    assert_type(prices.get("oil", "none"), int | str)
    assert_type(prices.compute("gold", lambda price: price + 1, 0), int)
    assert_type(prices.put_if_absent("gold", 2), int | None)
    assert_type(prices.snapshot(), "Ctrie[str, int]")
    assert_type(list(prices.items()), list[tuple[str, int]])
    assert_type(list(prices.diff(Ctrie())), list[tuple[str, int | None, int | None]])
    assert_type(prices | {1: "one"}, "Ctrie[str | int, int | str]")
    anything = Ctrie()
    anything[1] = prices  # an empty map has an unknown type, so any key and value may be stored
    prices.check()


def test_a_set_of_what_it_was_made_with() -> None:
    letters = CtrieSet("ab")
    assert_type(letters, "CtrieSet[str]")
    assert_type(letters.add("c"), bool)
    assert_type(letters - {"a"}, "CtrieSet[str]")
    assert_type(list(letters.diff(letters.snapshot())), list[tuple[str, bool]])
    letters.check()


def test_a_reference_to_what_it_was_made_with() -> None:
    latest = AtomicReference(1)
    assert_type(latest.load(), int)
    assert_type(latest.compare_and_set(1, 2), bool)


def test_a_trie_of_its_subscribers() -> None:
    trie = SubscriptionTrie[str](MQTT)
    trie.subscribe("a", "ann", qos=1)
    trie.subscribe("a", 5)  # type: ignore[arg-type]
    assert_type(trie.match("a"), tuple[str, ...])
    assert_type(trie.deliveries("a"), tuple[Delivery[str], ...])
    assert_type(trie.deliveries("a")[0].subscriber, str)
    assert_type(list(trie.entries("a")), list[Subscription[str]])
    assert_type(next(trie.diff(trie.snapshot()), None) is None, bool)
    snapshot = trie.snapshot()
    assert_type(snapshot.match("a"), tuple[str, ...])
    with pytest.raises(TypeError, match="read-only"):
        snapshot.subscribe("a", "bob")  # type: ignore[misc]
    with pytest.raises(TypeError, match="read-only"):
        snapshot.clear()  # type: ignore[misc]
    whole: SubscriptionTrie[str] = snapshot
    assert len(whole) == 2
    anybody = SubscriptionTrie()
    anybody.subscribe("a", object())  # without an annotation, nothing is required
    trie.check()


def test_a_matcher_by_fields_of_its_subscribers() -> None:
    fields = FieldMatcher[str]()
    fields.subscribe([Equals("a", 1)], "ann", qos=1)
    fields.subscribe([Equals("a", 1)], 5)  # type: ignore[arg-type]
    fields.unsubscribe_all(5)  # type: ignore[arg-type]
    assert_type(fields.match_all({"a": 1}), tuple[str, ...])
    assert_type(fields.match_any({"a": 1}), tuple[str, ...])
    assert_type(fields.match_many([{"a": 1}]), list[tuple[str, ...]])
    assert_type(fields.deliveries({"a": 1}), tuple[FieldDelivery[str], ...])
    assert_type(fields.deliveries({"a": 1})[0].subscriber, str)
    assert_type(fields.hits({"a": 1}), dict[FieldSubscription[str], int])
    assert_type([change.subscription.subscriber for change in fields.diff(fields.fork())], list[str])
    assert_type(fields.snapshot(), "FieldMatcher[str]")
    anybody = FieldMatcher()
    anybody.subscribe([Equals("a", 1)], object())  # without an annotation, nothing is required
    fields.check()


def test_routes_of_their_subscribers() -> None:
    routes = RoutingMatcher[int](MQTT)
    routes.subscribe("a/+", [Equals("f", 1)], 7)
    routes.subscribe("a/+", [], "ann")  # type: ignore[arg-type]
    routes.unsubscribe("a/+", [], "ann")  # type: ignore[arg-type]
    assert_type(routes.match("a/b", {"f": 1}), tuple[int, ...])
    assert_type(routes.match_many([("a/b", {"f": 1})]), list[tuple[int, ...]])
    assert_type(routes.deliveries("a/b", {"f": 1})[0], FieldDelivery[int])
    assert_type(list(routes), list[Route[int]])
    assert_type(routes.fork(), "RoutingMatcher[int]")
    routes.check()


def test_a_store_of_its_values() -> None:
    store = TopicStore[int](MQTT, {"a": 1})
    assert_type(store["a"], int)
    assert_type(store.get("b", "none"), int | str)
    assert_type(list(store.matching("#")), list[tuple[str, int]])
    with pytest.raises(TypeError, match="read-only"):
        store.snapshot()["a"] = 2  # type: ignore[misc]
    store.check()


@pytest.mark.compiled  # interpreted, `__new__` hides it
@pytest.mark.parametrize("kind", [SubscriptionTrie, TopicStore])
def test_a_class_has_the_signature_that_is_declared(kind: type) -> None:
    (declared,) = [node for _, node in CLASSES if node.name == kind.__name__]
    (made,) = [node for node in declared.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    expected = [*named(made)[1:], *(each.arg for each in made.args.kwonlyargs)]
    signature = inspect.signature(kind)
    assert list(signature.parameters) == expected
    assert signature.parameters["dialect"].default is not inspect.Parameter.empty


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_all_that_the_package_has_is_declared(package: ModuleType) -> None:
    body = STUBS[package].body
    declared = {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    declared |= {name.asname or name.name for node in body if isinstance(node, ast.ImportFrom) for name in node.names}
    declared |= {ast.unparse(node.target) for node in body if isinstance(node, ast.AnnAssign)}
    assert set(package.__all__) - {"twin"} <= declared


@pytest.mark.parametrize(("package", "kind"), CLASSES, ids=lambda each: each.name if hasattr(each, "name") else "")
def test_every_public_method_is_declared(package: ModuleType, kind: ast.ClassDef) -> None:
    declared = {node.name for node in kind.body if isinstance(node, ast.FunctionDef)}
    there = {name for name, value in vars(getattr(package, kind.name)).items() if callable(value) and name[0] != "_"}
    inherited = {"remove", "pop", "clear", "isdisjoint"} if kind.name == "CtrieSet" else {"as_dict"}
    assert there - inherited <= declared


@pytest.mark.parametrize(("package", "method"), DECLARED, ids=lambda each: each if isinstance(each, str) else "")
def test_a_method_is_declared_with_the_parameters_that_it_has(package: ModuleType, method: str) -> None:
    thing = attrgetter(method)(package)
    if not callable(thing):
        return  # a property
    declared = DECLARED[package, method]
    parameters = inspect.signature(thing).parameters.values()
    assert declared == [
        each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
