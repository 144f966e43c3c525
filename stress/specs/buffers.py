"""Specifications of objects that return values in an order of their own: a queue and a stack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar, Final

from stress.alike import fits
from stress.history import UNSEEN, Operation, Raised
from stress.spec import Element, Excerpt, Spec, State
from stress.specs import fifo, lifo
from stress.specs.moments import EVER, Contradiction, Interval, intervals, overlooked, passages

_LEN: Final = frozenset({"len", "__len__", "qsize"})


class _Buffer(Spec):
    """The common part of a queue and a stack: operations that put a value in, that get one out, and that count."""

    _put: ClassVar[frozenset[str]]
    _get: ClassVar[frozenset[str]]
    _next: ClassVar[int]
    """The index of the value that the next get returns."""
    read_only = _LEN

    def __init__(self, initial: Iterable[Hashable] | None = None) -> None:
        self.initial: tuple[Hashable, ...] = tuple(initial or ())

    def step(self, state: tuple[Hashable, ...], op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        if op in self._put:
            return (*state, args[0]), None
        if op in self._get:
            rest = state[:-1] if self._next else state[1:]
            return (rest, state[self._next]) if state else (state, None)
        if op in self.read_only:
            return state, len(state)
        return super().step(state, op, args)

    def successors(
        self, state: tuple[Hashable, ...], op: str, args: tuple[Any, ...], result: Hashable
    ) -> Iterable[State]:
        if op in self._get and not state and isinstance(result, Raised):
            return (state,)
        return super().successors(state, op, args, result)

    def restrict(self, state: tuple[Hashable, ...], elements: Collection[Element]) -> State:
        return tuple(each for each in state if each in elements)

    def _said(self, operation: Operation, values: Collection[Hashable]) -> Operation | None:
        """What an operation says about some values, none of them None: they are a buffer of the same kind by
        themselves, whatever values are between them.
        """
        op, result = operation.op, operation.result
        if op in self._put:
            return operation if operation.args[0] in values else None
        if op not in self._get:
            return operation if result == 0 else None
        if result is UNSEEN:  # it may have taken another value
            return operation._replace(returned=None)
        return operation if _is_nothing(result) or result in values else None

    def _excerpt(self, operations: Iterable[Operation], values: Collection[Hashable]) -> Excerpt:
        """What operations say about these values alone, while others may have been among them."""
        return Excerpt(values, [said for each in operations if (said := self._said(each, values)) is not None])

    def _read_off(
        self, read_off: Callable[..., Any], base: type[Spec], operations: Sequence[Operation], start: Sequence[Hashable]
    ) -> Any:
        """What `read_off` makes of how the values passed through, and when operations found nothing to get; or an
        excerpt. Of a value that was put in again, only its number is certain: it was got too often, or it was there
        when nothing was found. None if nothing is certain: a value is None (a get that answers None may have found
        nothing), and none was got too often; or this object is no `base`.
        """
        if not self.steps_like(base):
            return None
        put, got = defaultdict[Hashable, list[Interval]](list), defaultdict[Hashable, list[Interval]](list)
        nothing: list[Interval] = []
        for at, value in enumerate(start, start=-len(start)):
            put[value].append(Interval(at - 0.5, at))
        for each, ran in zip(operations, intervals(operations), strict=True):
            if each.op in self._put:
                put[each.args[0]].append(ran)
            elif each.op in self._get and not each.pending:
                if _is_nothing(each.result):
                    nothing.append(ran)
                elif each.result is not UNSEEN:
                    got[each.result].append(ran)
        there = [each for value in {**put, **got} for each in passages(value, put[value], got[value])]
        found: Any = next((Contradiction((each.value,)) for each in there if each.got.returned < each.put.called), None)
        if found is None and None not in put:
            if len(there) == len(put):
                found = read_off([each for each in there if each.was_got or each.put.returned < EVER], nothing)
            elif missed := overlooked((each.stay() for each in there), nothing):
                found = missed[0]
        return self._excerpt(operations, found.values) if isinstance(found, Contradiction) else found


def _is_nothing(result: Hashable) -> bool:
    return result is None or isinstance(result, Raised)


class Queue(_Buffer):
    """A first-in-first-out queue: `enqueue(x)` (`put`, `append`), `dequeue()` (`get`, `popleft`), `len()`.

    A dequeue that finds nothing answers None or an exception.

    >>> Queue().step((1, 2), "dequeue", ())
    ((2,), 1)
    """

    name = "queue"
    _put = frozenset({"enqueue", "put", "append"})
    _get = frozenset({"dequeue", "get", "get_nowait", "popleft"})
    _next = 0
    unchanged: ClassVar[Mapping[str, object]] = dict.fromkeys(_get, Raised)
    vocabulary = _LEN | _put | _get
    parameters: ClassVar[Mapping[str, str]] = dict.fromkeys(_put, "item")

    def glance(self, operations: Sequence[Operation], start: tuple[Hashable, ...]) -> Spec | Excerpt | None:
        """The order in which the values passed through, derived from the times of their puts and gets (`fifo`)."""
        order = self._read_off(fifo.read_off, Queue, operations, start)
        return _QueueInOrder(order, len(start)) if isinstance(order, list) else order


class Stack(_Buffer):
    """A last-in-first-out stack: `push(x)` (`put`, `append`), `pop()` (`get`), `len()`.

    A pop that finds nothing answers None or an exception.

    >>> Stack().step((1, 2), "pop", ())
    ((1,), 2)
    """

    name = "stack"
    _put = frozenset({"push", "put", "append"})
    _get = frozenset({"pop", "get", "get_nowait"})
    _next = -1
    unchanged: ClassVar[Mapping[str, object]] = dict.fromkeys(_get, Raised)
    vocabulary = _LEN | _put | _get
    parameters: ClassVar[Mapping[str, str]] = dict.fromkeys(_put, "item")

    def glance(self, operations: Sequence[Operation], start: tuple[Hashable, ...]) -> Spec | Excerpt | None:
        """The order of pushes and pops, derived from their times (`lifo`)."""
        order = self._read_off(lifo.read_off, Stack, operations, start)
        return _StackInOrder(order[len(start) :], len(start)) if isinstance(order, list) else order


class _InOrder(_Buffer):
    """A buffer through which values pass in one fixed order, each once, and never None."""

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        return op in self.read_only or (op in self._get and _is_nothing(result))


class _QueueInOrder(_InOrder, Queue):
    """A queue through which values pass in one fixed order, each once. It allows only what a queue allows. Its states
    are the numbers of values that were put in and got out.
    """

    def __init__(self, order: Sequence[Hashable], present: int) -> None:
        self.initial: tuple[Hashable, ...] = (present, 0)
        self._order, self._place = order, {value: place for place, value in enumerate(order)}

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        put, got = state
        if op in self._put:
            return ((put + 1, got),) if self._place.get(args[0]) == put and result in (None, UNSEEN) else ()
        if op in self.read_only:
            return (state,) if fits(result, put - got) else ()
        if put == got:
            return (state,) if result is UNSEEN or _is_nothing(result) else ()
        return ((put, got + 1),) if fits(result, self._order[got]) else ()


class _StackInOrder(_InOrder, Stack):
    """A stack onto which values are pushed and popped in one fixed order, each once. It allows only what a stack
    allows. Its state is the number of pushes and pops so far.
    """

    def __init__(self, changes: Sequence[lifo.Change], present: int) -> None:
        self.initial: Any = 0
        self._changes = [*changes, None]
        self._sizes = list(accumulate((1 if is_push else -1 for _, is_push in changes), initial=present))

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        if op in self._put:
            return (state + 1,) if self._changes[state] == (args[0], True) and result in (None, UNSEEN) else ()
        if op in self.read_only:
            return (state,) if fits(result, self._sizes[state]) else ()
        if not self._sizes[state]:
            return (state,) if result is UNSEEN or _is_nothing(result) else ()
        change = self._changes[state]
        return (state + 1,) if change is not None and not change[1] and fits(result, change[0]) else ()
