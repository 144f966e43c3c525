"""Specifications of registers and locks: one register, a store of many, transactions over many, a mutex."""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, ClassVar, cast

from stress.alike import fits
from stress.by_key import ByKey, FrozenMap
from stress.history import UNSEEN, Operation, Raised
from stress.spec import Element, Excerpt, Spec, State
from stress.specs import overwriting
from stress.specs.moments import Contradiction


class Register(Spec):
    """One register: `read() -> value`, `write(value)`, `cas(old, new) -> bool`.

    >>> Register(initial=3).step(3, "cas", (3, 4))
    (4, True)
    """

    name = "register"
    read_only = frozenset({"read"})
    unchanged: ClassVar[Mapping[str, object]] = {"cas": False}
    vocabulary = frozenset({"read", "write", "cas"})
    parameters: ClassVar[Mapping[str, str]] = {"read": "", "write": "value", "cas": "old, new"}

    def __init__(self, initial: Hashable = None) -> None:
        self.initial = initial

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        match op:
            case "read":
                return state, state
            case "write":
                return args[0], None
            case "cas":
                old, new = args
                return (new, True) if state == old else (state, False)
        return super().step(state, op, args)

    def glance(self, operations: Sequence[Operation], start: Any) -> Spec | Excerpt | None:
        """The order of the values in the register, derived from the times of their writes and reads (`overwriting`)."""
        found = overwriting.read_off(operations, start) if self.steps_like(Register) else None
        if not isinstance(found, Contradiction):
            return None if found is None else _RegisterInOrder(found)
        values = set(found.values)
        said = [each for each in operations if (each.result if each.op == "read" else each.args[-1]) in values]
        return Excerpt(found.values, [each for each in said if each.op != "cas"])


class _RegisterInOrder(Register):
    """A register that holds values in one fixed order, each once. It allows only what a register allows. Its state is
    the position of its present value.
    """

    def __init__(self, order: Sequence[Hashable]) -> None:
        super().__init__(0)
        self._order, self._place = order, {value: place for place, value in enumerate(order)}

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        here = self._order[state]
        if op == "read":
            return (state,) if fits(result, here) else ()
        if op == "write":
            return (state + 1,) if self._place.get(args[0]) == state + 1 and result in (None, UNSEEN) else ()
        return (state,) if result is False and here != args[0] else ()


class KeyValue(ByKey):
    """A store of text: `get(key)`, `put(key, value)`, `append(key, text)`; a key never written holds `initial`. To
    append to a value that is neither text nor None raises a TypeError.

    >>> store = KeyValue()
    >>> store.step(FrozenMap(k="ab"), "append", ("k", "c"))
    ({'k': 'abc'}, None)
    """

    name = "kv"
    read_only = frozenset({"get"})
    vocabulary = frozenset({"get", "put", "append"})
    parameters: ClassVar[Mapping[str, str]] = {"get": "key", "put": "key, value", "append": "key, text"}

    def __init__(self, initial: Hashable = "") -> None:
        self.missing: Any = initial
        self.initial: FrozenMap = FrozenMap()

    def options(self) -> dict[str, Any]:
        return {"initial": self.missing}

    def step(self, state: FrozenMap, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        match op:
            case "get":
                return state, state.get(args[0], self.missing)
            case "put":
                return state.put(args[0], args[1]), None
            case "append":
                before = state.get(args[0], self.missing)
                if not isinstance(before, (str, NoneType)):
                    return state, Raised("TypeError")
                return state.put(args[0], (before or "") + args[1]), None
        return super().step(state, op, args)


class MultiRegister(ByKey):
    """Registers by key, read and written by transactions: `txn(("read", key), ("write", key, value), ...)`.

    The answer is the tuple of the values read. A register never written holds `initial`; a map as `initial` gives each
    key its own. An operation spans several keys, so a history cannot be split by key alone.

    >>> spec = MultiRegister()
    >>> spec.step(spec.initial, "txn", (("write", "x", 1), ("read", "x"), ("read", "y")))
    ({'x': 1}, (1, None))
    """

    name = "multi-register"
    vocabulary = frozenset({"txn"})

    def __init__(self, initial: Hashable = None) -> None:
        by_key = isinstance(initial, (dict, frozenset))
        self.missing: Hashable = None if by_key else initial
        self.initial: FrozenMap = FrozenMap(cast(Any, initial) if by_key else ())

    def options(self) -> dict[str, Any]:
        return {"initial": self.initial or self.missing}

    def _run(self, state: FrozenMap, args: tuple[Any, ...]) -> tuple[FrozenMap, tuple[Hashable, ...]]:
        seen = []
        for kind, key, *value in args:
            if kind == "read":
                seen.append(state.get(key, self.missing))
            else:
                state = state.put(key, value[0])
        return state, tuple(seen)

    def step(self, state: FrozenMap, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        return self._run(state, args)

    def successors(self, state: FrozenMap, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        after, seen = self._run(state, args)
        is_listed = isinstance(result, tuple) and len(result) == len(seen)
        return (after,) if result is UNSEEN or (is_listed and all(map(fits, cast(Any, result), seen))) else ()

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        return all(kind == "read" for kind, *_ in args)

    def elements(self, operation: Operation) -> Iterable[Element]:
        args: Any = operation.args
        return {key for _, key, *_ in args}

    def footprint(self, operation: Operation, universe: Collection[Element]) -> Collection[Element]:
        return set(self.elements(operation))


class Mutex(Spec):
    """A lock: `acquire()` and `release()`. Acquiring a held lock, or releasing a free one, is not possible.

    A release that answers with an exception is legal if the lock is free. `acquire` may answer False while the lock is
    held, like a lock's `acquire` without waiting.
    """

    name = "mutex"
    vocabulary = frozenset({"acquire", "release"})
    unchanged: ClassVar[Mapping[str, object]] = {"acquire": False, "release": Raised}

    def __init__(self, initial: Hashable = False) -> None:
        self.initial = bool(initial)

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterable[State]:
        after = op == "acquire"
        before = after if self.is_read_only(op, args, result) else not after
        return (after,) if bool(state) is before else ()

    def describe(self, state: Any) -> str:
        return "held" if state else "free"
