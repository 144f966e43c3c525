"""Specifications of small collections: a set, a first-in-first-out queue and a counter."""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from numbers import Number
from typing import Any, ClassVar, Final

from stress.history import UNSEEN, Operation, Raised, freeze, show
from stress.spec import EVERYTHING, Element, Excerpt, Spec, State
from stress.specs import fifo

__all__ = ["Counter", "Queue", "Set"]


class Set(Spec):
    """A set: `add(x)`, `discard(x)`, `remove(x)`, `contains(x)`, `pop()`, `items()` (or `read()`), `len()`,
    `clear()`.

    `add` and `discard` may answer whether they changed anything, or None as the methods of Python's `set` do,
    which says nothing.

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
        named, result = tuple(self.elements(operation)), operation.result
        if operation.op == "pop" and not named:
            if (
                result is UNSEEN
            ):  # it may have taken another member: as far as this one goes, it may never have happened
                return operation._replace(op="discard", args=(element,), returned=None)
            return operation._replace(op="contains", args=(element,), result=False)
        if named:
            taken = operation._replace(op="remove", args=named, result=None) if operation.op == "pop" else operation
            return taken if named == (element,) else None
        if operation.op == "clear":
            return operation._replace(op="discard", args=(element,), result=UNSEEN)
        if operation.op in {"items", "read"} and isinstance(result, frozenset):
            return operation._replace(op="contains", args=(element,), result=element in result)
        return operation._replace(op="contains", args=(element,), result=False) if result == 0 else None

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

    def refusal(self, state: frozenset[Hashable], operation: Operation) -> str:
        if operation.op == "pop":
            return f"cannot take {operation.result!r} out of {self.describe(state)}"
        return super().refusal(state, operation)

    def normalise(self, op: str, result: Any) -> Hashable:
        frozen = freeze(result)
        if op in {"items", "read"} and isinstance(frozen, tuple) and len(set(frozen)) == len(frozen):
            return frozenset(frozen)
        return frozen


_PUT: Final = frozenset({"enqueue", "put", "append"})
_GET: Final = frozenset({"dequeue", "get", "get_nowait", "popleft"})


class Queue(Spec):
    """A first-in-first-out queue: `enqueue(x)` (`put`, `append`), `dequeue()` (`get`, `popleft`), `len()`.

    A dequeue that finds nothing answers None or an exception.

    >>> Queue().step((1, 2), "dequeue", ())
    ((2,), 1)
    """

    name = "queue"
    read_only = frozenset({"len", "__len__", "qsize"})
    vocabulary = read_only | _PUT | _GET
    parameters: ClassVar[Mapping[str, str]] = dict.fromkeys(_PUT, "item")

    def __init__(self, initial: Iterable[Hashable] | None = None) -> None:
        self.initial: tuple[Hashable, ...] = tuple(initial or ())

    def step(self, state: tuple[Hashable, ...], op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        if op in _PUT:
            return (*state, args[0]), None
        if op in _GET:
            return (state[1:], state[0]) if state else (state, None)
        if op in self.read_only:
            return state, len(state)
        return super().step(state, op, args)

    def successors(
        self, state: tuple[Hashable, ...], op: str, args: tuple[Any, ...], result: Hashable
    ) -> Iterable[State]:
        if op in _GET and not state and isinstance(result, Raised):
            return (state,)
        return super().successors(state, op, args, result)

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        return op in self.read_only or (op in _GET and isinstance(result, Raised))

    def elements(self, operation: Operation) -> Iterable[Element]:
        if operation.op in _PUT:
            return operation.args[:1]
        says_nothing = operation.result in (UNSEEN, None) or isinstance(operation.result, Raised)
        return () if says_nothing or operation.op not in _GET else (operation.result,)

    def elements_of(self, state: tuple[Hashable, ...]) -> Iterable[Element]:
        return state

    def restrict(self, state: tuple[Hashable, ...], elements: Collection[Element]) -> State:
        return tuple(each for each in state if each in elements)

    def project(self, operation: Operation, element: Element, universe: Collection[Element]) -> Operation | None:
        """Values that are equal are a queue of their own, whatever stands between them."""
        op, result = operation.op, operation.result
        if op in self.read_only:
            return operation if result == 0 else None
        if op in _GET and result is UNSEEN:  # it may have taken another value
            return operation._replace(returned=None)
        if op in _GET and result is None:  # it found nothing, or took a None
            return operation if element is None or None not in universe else None
        return operation if isinstance(result, Raised) or element in self.elements(operation) else None

    def glance(self, operations: Sequence[Operation], start: tuple[Hashable, ...]) -> Spec | Excerpt | None:
        """The order in which the values went through, as the times of their puts and gets tell it (`fifo`)."""
        passages = self._passages(operations, start)
        if passages is None:
            return None
        found = fifo.read_off(passages, _gets_of_nothing(operations))
        if not isinstance(found, fifo.Contradiction):
            return _QueueInOrder(found, len(start))
        universe = {each.value for each in passages}
        said = (self._said_of(operation, found.values, universe) for operation in operations)
        return Excerpt(found.values, [operation for operation in said if operation is not None])

    def _passages(self, operations: Sequence[Operation], start: tuple[Hashable, ...]) -> list[fifo.Passage] | None:
        """How the values came and went; None if a value came twice, or is None, which a get may not have found."""
        puts = {each.args[0]: each for each in operations if each.op in _PUT}
        gets = {each.result: each for each in operations if each.op in _GET}
        values = dict.fromkeys([*start, *puts])
        if len(values) < len(start) + sum(each.op in _PUT for each in operations) or None in values:
            return None
        first = min((each.call for each in operations), default=0)
        passages = [
            fifo.Passage(value, puts.get(value), gets.get(value), first - 1 - len(start) + place)
            for place, value in enumerate(values)
        ]
        return [each for each in passages if each.got or each.put is None or not each.put.pending]

    def _said_of(
        self, operation: Operation, values: Iterable[Element], universe: Collection[Element]
    ) -> Operation | None:
        """What an operation says about a queue of these values, which may have had others among them."""
        said = (self.project(operation, value, universe) for value in values)
        return next((each for each in said if each is not None), None)

    def shows(self, operation: Operation) -> Iterable[Hashable]:
        return self.elements(operation) if operation.op in _GET else ()

    def brings(self, operation: Operation) -> Any:
        if operation.op in _PUT:
            return operation.args[:1]
        return () if operation.op in self.vocabulary else EVERYTHING

    def content(self, state: tuple[Hashable, ...]) -> Collection[Hashable]:
        return state


def _is_nothing(result: Hashable) -> bool:
    return result is None or isinstance(result, Raised)


def _gets_of_nothing(operations: Iterable[Operation]) -> Iterator[Operation]:
    return (each for each in operations if each.op in _GET and _is_nothing(each.result))


class _QueueInOrder(Queue):
    """A queue through which values go in one certain order, each once. It allows what a queue allows, and no more; its
    states are how many values were put in and got out.
    """

    def __init__(self, order: Sequence[Hashable], present: int) -> None:
        self.initial: tuple[Hashable, ...] = (present, 0)
        self._place = {value: place for place, value in enumerate(order)}

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        put, got = state
        if op in _PUT:
            return ((put + 1, got),) if self._place.get(args[0]) == put and result in (None, UNSEEN) else ()
        if op in self.read_only:
            return (state,) if result in (UNSEEN, put - got) else ()
        if put == got:
            return (state,) if result is UNSEEN or _is_nothing(result) else ()
        return ((put, got + 1),) if result is UNSEEN or self._place.get(result) == got else ()

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        return op in self.read_only or (op in _GET and _is_nothing(result))


class Counter(Spec):
    """A counter: `increment(n=1)` (or `add`), `decrement(n=1)`, `value()` (or `read`, `get`).

    An update answers the new value, or None, which says nothing.

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
