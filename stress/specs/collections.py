"""Specifications of a set and of a counter."""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from numbers import Number
from typing import Any, ClassVar

from stress.by_key import OfElements
from stress.history import UNSEEN, Operation, Raised
from stress.spec import Element, Spec, State


class Set(OfElements):
    """A set: `add(x)`, `discard(x)`, `remove(x)`, `contains(x)`, `pop()`, `items()` (or `read()`), `len()`,
    `clear()`.

    `add` and `discard` may answer whether they changed anything, or None as the methods of Python's `set` do. None says
    nothing.

    >>> Set().step(frozenset({1}), "remove", (2,))
    (frozenset({1}), raised KeyError)
    """

    name = "set"
    read_only = frozenset({"contains", "__contains__", "items", "read", "len", "__len__"})
    unchanged: ClassVar[Mapping[str, object]] = {"add": False, "discard": False, "remove": Raised, "pop": Raised}
    unordered = frozenset({"items", "read"})
    vocabulary = read_only | frozenset({"add", "discard", "remove", "pop", "clear"})
    parameters: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("items", "read", "len", "__len__", "pop", "clear"), ""),
        **dict.fromkeys(("add", "discard", "remove", "contains", "__contains__"), "member"),
    }

    def __init__(self, initial: Iterable[Hashable] | None = None) -> None:
        self.initial: frozenset[Hashable] = frozenset(initial or ())

    def step(self, state: frozenset[Hashable], op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        match op:
            case "add":
                return state | {args[0]}, args[0] not in state
            case "discard":
                return state - {args[0]}, args[0] in state
            case "remove":
                return (state - {args[0]}, None) if args[0] in state else (state, Raised("KeyError"))
            case "contains" | "__contains__":
                return state, args[0] in state
            case "items" | "read":
                return state, state
            case "len" | "__len__":
                return state, len(state)
            case "clear":
                return frozenset(), None
        return super().step(state, op, args)

    def successors(
        self, state: frozenset[Hashable], op: str, args: tuple[Any, ...], result: Hashable
    ) -> Iterable[State]:
        if op == "pop":
            return self._popped(state, result)
        return super().successors(state, op, args, UNSEEN if op in {"add", "discard"} and result is None else result)

    @staticmethod
    def _popped(state: frozenset[Hashable], result: Hashable) -> Iterable[State]:
        if result is UNSEEN:
            return [state - {member} for member in state] or (state,)
        if isinstance(result, Raised):
            return () if state else (state,)
        return (state - {result},) if result in state else ()

    def elements(self, operation: Operation) -> Iterable[Element]:
        if operation.op == "pop":
            return () if operation.result is UNSEEN or isinstance(operation.result, Raised) else (operation.result,)
        return operation.args[:1]


class Counter(Spec):
    """A counter: `increment(n=1)` (or `add`), `decrement(n=1)`, `value()` (or `read`, `get`).

    An update answers the new value, or None. None says nothing.

    >>> Counter().step(4, "increment", ())
    (5, 5)
    """

    name = "counter"
    read_only = frozenset({"value", "read", "get"})
    vocabulary = read_only | frozenset({"increment", "add", "decrement"})
    parameters: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(read_only, ""),
        **dict.fromkeys(("increment", "add", "decrement"), "n=1"),
    }

    def __init__(self, initial: Hashable = 0) -> None:
        self.initial: Any = 0 if initial is None else initial
        if not isinstance(self.initial, Number):
            raise ValueError("it must be a number")

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        if op in self.read_only:
            return state, state
        amount = args[0] if args else 1
        match op:
            case "increment" | "add":
                return state + amount, state + amount
            case "decrement":
                return state - amount, state - amount
        return super().step(state, op, args)

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        weak = result is None and op not in self.read_only
        return super().successors(state, op, args, UNSEEN if weak else result)
