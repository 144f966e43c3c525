"""Lists, dictionaries and sets are arguments and answers: the object gets its own, and reports show them as they are."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest

import stress
from stress import Operation, Spec, Verdict, check, freeze
from stress.formats import jsonl
from stress.history import History, show, steady
from stress.values import fresh

CALLS: list[list[tuple[Any, ...]]] = [[("update", {"a": 1, "b": [1, 2]})], [("keys", {"a"}), ("content",)]]


class Content:
    """It keeps and changes what it is given, as it may."""

    def __init__(self) -> None:
        self.lock, self.content = threading.Lock(), dict[str, Any]()

    def update(self, other: dict[str, Any]) -> None:
        assert type(other) is dict
        with self.lock:
            self.content.update(other)
            other.clear()

    def keys(self, wanted: set[str]) -> list[str]:
        assert type(wanted) is set
        with self.lock:
            found = sorted(wanted & self.content.keys())
            wanted.clear()
            return found

    def content_(self) -> dict[str, Any]:
        with self.lock:
            return dict(self.content)


class Forgets(Content):
    """An update that comes between is lost."""

    def update(self, other: dict[str, Any]) -> None:
        content = dict(self.content)
        content.update(other)
        self.content = content


class Frozen(Spec):
    """States that can be hashed."""

    initial: Any = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        content: dict[str, Any] = dict(state)
        if op == "update":
            content.update(args[0])
            return tuple(sorted(content.items())), None
        if op == "keys":
            return state, sorted(key for key in content if key in args[0])
        return state, content


class InPlace(Spec):
    """States that are changed in place, and of which an argument becomes a part."""

    initial: Any = {}  # noqa: RUF012 - never changed

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "update":
            state.update(args[0])
            for item in state.values():
                if item == [1, 2]:
                    item.append(3)
                    item.pop()
            return state, None
        if op == "keys":
            return state, [key for key in state if key in args[0]]
        return state, state


SPECS = [None, Frozen(), InPlace()]
NAMED = [[(op.replace("content", "content_"), *args) for op, *args in calls] for calls in CALLS]


@pytest.mark.parametrize("spec", SPECS, ids=["none", "frozen", "in place"])
def test_they_may_be_arguments_and_answers(spec: Spec | None) -> None:
    outcome = stress.run(Content, spec, [], roles=NAMED, rounds=30, seed=1)
    explored = stress.explore(Content, spec, NAMED)

    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()
    assert explored.verdict is Verdict.LINEARIZABLE, explored.report()


@pytest.mark.parametrize("spec", SPECS, ids=["none", "frozen", "in place"])
def test_reports_show_them_as_they_are(spec: Spec | None) -> None:
    threads = [[("update", {"a": 1})], [("update", {"b": [1, 2]})]]
    found = stress.explore(Forgets, spec, threads, at_end=[("content_",)])

    assert found.verdict is Verdict.ILLEGAL
    assert "update({'b': [1, 2]})" in found.report()
    assert "content_() -> {'a': 1}" in found.report() or "content_() -> {'b': [1, 2]}" in found.report()


@pytest.mark.parametrize("value", [[1, [2]], {"a": {"b": [1]}}, {1, 2}, (1, [2]), [], {}, (), set(), frozenset({1})])
def test_a_value_comes_back_as_what_it_was(value: Any) -> None:
    for kept in (steady(value), freeze(value)):
        assert hash(kept) == hash(steady(value))
        assert kept == value == fresh(kept)
        assert type(fresh(kept)) is type(value)
        assert show(kept) == show(value) if value != set() else True

    history = History((Operation(0, 0, 1, 2, "put", (steady(value),), freeze(value)),))
    text = io.StringIO()
    jsonl.dump(history, text)
    operation = jsonl.parse(text.getvalue()).operations[0]
    assert operation == history.operations[0]
    assert operation.describe() == history.operations[0].describe()


def test_what_was_a_tuple_or_a_frozen_set_is_still_the_same_answer() -> None:
    assert freeze([1, [2]]) == (1, (2,))
    assert (1, (2,)) == freeze([1, [2]])
    assert frozenset({("a", 1)}) == freeze({"a": 1})
    assert len({freeze([1]), (1,), freeze({"a": 1}), frozenset({("a", 1)}), freeze({1}), frozenset({1})}) == 3


def test_another_thing_that_may_change_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="bytearray"):
        stress.run(Content, None, [("keys", bytearray(b"a"))], rounds=1)
    with pytest.raises(ValueError, match="bytearray"):
        stress.explore(Content, None, [[("keys", [bytearray(b"a")])]])


def test_a_specification_cannot_change_an_argument_that_is_in_the_history() -> None:
    class Careless(Frozen):
        def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
            args[0]["c"] = 1
            return state, None

    with pytest.raises(stress.SpecError, match="take a copy"):
        check([Operation(0, 0, 1, 2, "update", (steady({"a": 1}),), None)], Careless())


class Named:
    """Its module is no text, as that of some classes of libraries."""

    __module__ = property(lambda self: "m")  # type: ignore[assignment]

    def __init__(self) -> None:
        self.n = 0


class Counts:
    of: Any = Named

    def __init__(self) -> None:
        self.lock, self.named = threading.Lock(), self.of()

    def increment(self) -> int:
        with self.lock:
            self.named.n += 1
            found: int = self.named.n
            return found


@pytest.mark.parametrize("factory", [Counts, Named])
def test_a_class_may_have_any_module(factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if factory is Named:
        monkeypatch.setattr(factory, "increment", lambda self: None, raising=False)
    outcome = stress.run(factory, None, [("increment",)], rounds=20, seed=1)

    assert outcome.verdict is (Verdict.UNKNOWN if factory is Named else Verdict.LINEARIZABLE), outcome.report()
