"""What a type checker makes of the package: `make lint` checks the types asserted here, and they are what there is."""

from __future__ import annotations

import ast
import inspect
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import assert_type

import pytest

import ctrie
from ctrie import AtomicReference, Ctrie, CtrieSet

STUB = ast.parse((Path(__file__).parents[1] / "ctrie" / "__init__.pyi").read_text())
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
UNNAMED = {"Ctrie.pop"}  # its default is an object of which nobody else knows the name


def named(function: ast.FunctionDef) -> list[str]:
    return [each.arg for each in (*function.args.posonlyargs, *function.args.args)]


DECLARED = {
    f"{kind.name}.{name}": max((named(node) for node in overloads), key=len)
    for kind in CLASSES
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
    anything[1] = prices  # of what is empty nothing is known, and nothing is demanded
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


def test_all_that_the_package_has_is_declared() -> None:
    declared = {node.name for node in STUB.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert set(ctrie.__all__) - {"twin"} <= declared


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.name)
def test_every_public_method_is_declared(kind: ast.ClassDef) -> None:
    declared = {node.name for node in kind.body if isinstance(node, ast.FunctionDef)}
    there = {name for name, value in vars(getattr(ctrie, kind.name)).items() if callable(value) and name[0] != "_"}
    inherited = {"remove", "pop", "clear", "isdisjoint"} if kind.name == "CtrieSet" else set()
    assert there - inherited <= declared


@pytest.mark.parametrize("method", DECLARED)
def test_a_method_is_declared_with_the_parameters_that_it_has(method: str) -> None:
    parameters = inspect.signature(attrgetter(method)(ctrie)).parameters.values()
    assert DECLARED[method] == [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
