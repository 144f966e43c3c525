"""Specifications of maps, and of many objects of one kind, told apart by keys."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Any

from stress.history import Operation
from stress.spec import EVERYTHING, Element, Footprint, Spec, State


class FrozenMap(dict[Hashable, Any]):
    """An immutable, hashable dict for states: `put` and `without` make changed copies. It is meant for small maps."""

    __slots__ = ("_hash",)

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash: int = hash(frozenset(self.items()))
            return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMap, (dict(self),)  # without the hash: another process may hash strings differently

    def put(self, key: Hashable, value: Hashable) -> FrozenMap:
        """This map with `key` mapped to `value`."""
        changed = FrozenMap(self)
        changed[key] = value
        return changed

    def without(self, key: Hashable) -> FrozenMap:
        """This map without `key`, which may be absent."""
        return FrozenMap((other, value) for other, value in self.items() if other != key)


class OfElements(Spec):
    """A specification whose states are sets of elements. The first argument of an operation is the element that it is
    about, if it is about one.
    """

    def elements(self, operation: Operation) -> Iterable[Element]:
        """The element."""
        return operation.args[:1]

    def elements_of(self, state: Any) -> Iterable[Element]:
        """The elements that are there."""
        return state  # type: ignore[no-any-return]

    def footprint(self, operation: Operation, universe: Collection[Element]) -> Footprint:
        """The element; else everything."""
        return tuple(self.elements(operation)) or EVERYTHING

    def restrict(self, state: Any, elements: Collection[Element]) -> State:
        """Those of some elements that are there."""
        return state & frozenset(elements)


class ByKey(OfElements):
    """A specification whose states are `FrozenMap`, and whose elements are the keys."""

    def restrict(self, state: FrozenMap, elements: Collection[Element]) -> State:
        """What some keys have."""
        return FrozenMap((key, value) for key, value in state.items() if key in elements)


class PerKey(ByKey):
    """Many independent objects of one kind. The first argument of every operation selects the object."""

    def __init__(self, inner: Spec) -> None:
        self.inner = inner
        self.initial: FrozenMap = FrozenMap()

    def successors(self, state: FrozenMap, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        """The successors for the object of that key."""
        key, *rest = args
        here = state.get(key, self.inner.initial)
        return [state.put(key, after) for after in self.inner.successors(here, op, tuple(rest), result)]

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        """As for the object of that key."""
        return self.inner.is_read_only(op, args[1:], result)

    def refusal(self, state: FrozenMap, operation: Operation) -> str:
        """The refusal by the object of that key."""
        key, *rest = operation.args
        return self.inner.refusal(state.get(key, self.inner.initial), operation._replace(args=tuple(rest)))

    def normalise(self, op: str, result: Any) -> Hashable:
        """As for one object."""
        return self.inner.normalise(op, result)
