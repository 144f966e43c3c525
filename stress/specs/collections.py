"""Specifications of a set and of a counter."""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, ClassVar

from stress.history import UNSEEN, Operation, Raised, freeze, show
from stress.spec import EVERYTHING, Element, Excerpt, Spec, State
from stress.specs import presence
from stress.specs.moments import EVER, Contradiction

__all__ = ["Counter", "Set"]


class Set(Spec):
    """A set: `add(x)`, `discard(x)`, `remove(x)`, `contains(x)`, `pop()`, `items()` (or `read()`), `len()`,
    `clear()`.

    `add` and `discard` may answer whether they changed anything, or None as the methods of Python's `set` do. None says
    nothing.

    >>> Set().step(frozenset({1}), "remove", (2,))
    (frozenset({1}), raised KeyError)
    """

    name = "set"
    read_only = frozenset({"contains", "__contains__", "items", "read", "len", "__len__"})
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

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        if op in {"add", "discard"}:
            return result is False
        return op in self.read_only or (op in {"remove", "pop"} and isinstance(result, Raised))

    def elements(self, operation: Operation) -> Iterable[Element]:
        if operation.op == "pop":
            return () if operation.result is UNSEEN or isinstance(operation.result, Raised) else (operation.result,)
        return operation.args[:1]

    def elements_of(self, state: frozenset[Hashable]) -> Iterable[Element]:
        return state

    def footprint(self, operation: Operation, universe: Collection[Element]) -> Any:
        return tuple(self.elements(operation)) or EVERYTHING

    def restrict(self, state: frozenset[Hashable], elements: Collection[Element]) -> State:
        return state & frozenset(elements)

    def project(self, operation: Operation, element: Element, universe: Collection[Element]) -> Operation | None:
        op, named, result = operation.op, tuple(self.elements(operation)), operation.result
        if named:
            taken = operation._replace(op="remove", args=named, result=None) if op == "pop" else operation
            return taken if named == (element,) else None
        if op == "clear":
            return operation._replace(op="discard", args=(element,), result=UNSEEN)
        if op == "pop" and result is UNSEEN:
            # It may have taken another member: as far as this one shows, it may never have happened.
            return operation._replace(op="discard", args=(element,), returned=None)
        there = False
        if op in {"items", "read"} and isinstance(result, frozenset):
            there = element in result
        elif op != "pop" and result != 0:
            return None
        return operation._replace(op="contains", args=(element,), result=there)

    def shows(self, operation: Operation) -> Iterable[Hashable]:
        match operation.op, operation.result:
            case (("items" | "read"), frozenset() as members):
                return members
            case (("contains" | "__contains__" | "discard"), True):
                return operation.args
            case ("add", False) | ("remove", None):
                return operation.args
        return self.elements(operation) if operation.op == "pop" else ()

    def brings(self, operation: Operation) -> Any:
        if operation.op == "add":
            return operation.args
        return () if operation.op in self.vocabulary else EVERYTHING

    def content(self, state: frozenset[Hashable]) -> Collection[Hashable]:
        return state

    def glance(self, operations: Sequence[Operation], start: frozenset[Hashable]) -> Spec | Excerpt | None:
        """The order in which members came and went, derived from the times of the operations that saw them
        (`presence`)."""
        found = presence.read_off(operations, start) if self.steps_like(Set) else None
        if not isinstance(found, Contradiction):
            return None if found is None else _SetInOrder(found, start)
        said = (_said_of(each, found.values) for each in operations)
        return Excerpt(found.values, [each for each in said if each is not None])

    def refusal(self, state: frozenset[Hashable], operation: Operation) -> str:
        if operation.op == "pop":
            return f"cannot take {operation.result!r} out of {self.describe(state)}"
        return super().refusal(state, operation)

    def normalise(self, op: str, result: Any) -> Hashable:
        frozen = freeze(result)
        if op in {"items", "read"} and isinstance(frozen, tuple) and len(set(frozen)) == len(frozen):
            return frozenset(frozen)
        return frozen


def _said_of(operation: Operation, values: Collection[Hashable]) -> Operation | None:
    """What an operation says about these values alone, while others may have been in the set."""
    op, result = operation.op, operation.result
    if op == "pop" and not isinstance(result, Raised):
        return operation._replace(op="remove", args=(result,), result=None) if result in values else None
    if operation.args:
        return operation if operation.args[0] in values else None
    if isinstance(result, frozenset):
        return operation._replace(result=result & frozenset(values))
    return operation if result == 0 or op not in {"len", "__len__"} else None


class _SetInOrder(Set):
    """A set whose members come and go in one fixed order, each once. It allows only what a set allows. Its state is the
    number of arrivals and departures so far.
    """

    def __init__(self, order: presence.Order, start: Collection[Hashable]) -> None:
        self.initial: Any = 0
        self._changes, self._doubtful = [*order.changes, None], order.doubtful
        self._came, self._went = dict.fromkeys(start, -1), dict[Hashable, float]()
        self._sizes = [len(start)]
        for at, (value, comes) in enumerate(order.changes):
            (self._came if comes else self._went)[value] = at
            self._sizes.append(self._sizes[-1] + (1 if comes else -1))

    def _has(self, state: int, value: Hashable) -> bool:
        return self._came.get(value, EVER) < state <= self._went.get(value, EVER)

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        match op:
            case "add":
                return self._changed(state, (args[0], True), result is not False, result is not True)
            case "discard" | "remove" | "pop" if args or not isinstance(result, Raised):
                value = args[0] if args else result
                if value in self._doubtful and result in (None, UNSEEN) and state <= self._came[value]:
                    return ()  # this operation takes it, but only later
                took = result is not False and not isinstance(result, Raised)
                return self._changed(state, (value, False), took, self._missed(op, result))
            case "pop":
                return () if self._sizes[state] else (state,)
            case "contains" | "__contains__":
                return (state,) if result is UNSEEN or result == self._has(state, args[0]) else ()
            case "len" | "__len__":
                return (state,) if result is UNSEEN or result == self._sizes[state] else ()
            case "items" | "read":
                return (state,) if result is UNSEEN or self._is_all(state, result) else ()
        return ()

    def _changed(self, state: int, change: presence.Change, may: bool, may_not: bool) -> Iterable[State]:
        """The next state, if the change is the next one and may happen; this state, if nothing needs to change."""
        if self._changes[state] == change:
            return (state + 1,) if may else ()
        value, comes = change
        return (state,) if may_not and self._has(state, value) == comes else ()

    @staticmethod
    def _missed(op: str, result: Hashable) -> bool:
        """Whether a `discard` or `remove` with this answer may have found nothing."""
        if op == "remove":
            return result in (UNSEEN, Raised("KeyError"))
        return op == "discard" and result in (False, None, UNSEEN)

    def _is_all(self, state: int, result: Hashable) -> bool:
        is_set = isinstance(result, frozenset) and len(result) == self._sizes[state]
        return is_set and all(self._has(state, value) for value in result)  # type: ignore[attr-defined]


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

    def complaint(self, operation: Operation) -> str | None:
        wrong = super().complaint(operation)
        if wrong is None and not all(isinstance(amount, Number) for amount in operation.args):
            return f"the n of {operation.op}(n=1) is a number, not {show(operation.args[0])}"
        return wrong
