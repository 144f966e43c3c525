"""Specification of a map: Python's mapping methods, and the conditional and whole-map operations of a Ctrie."""

# ruff: noqa: D102 - the methods are those of Spec, and are explained there

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, ClassVar, Final

from stress.alike import fits
from stress.by_key import ByKey, FrozenMap
from stress.history import UNSEEN, Operation, Raised, freeze
from stress.spec import Element, State

_WHOLE: Final = frozenset({"items", "snapshot", "readonly_snapshot", "keys", "values", "len", "__len__"})
_GET: Final = frozenset({"get", "getitem", "__getitem__", "contains", "__contains__"})
VALUELESS: Final = _GET | frozenset({"pop", "delitem", "__delitem__"})
_ALIASES: Final = {
    "__getitem__": "getitem",
    "__setitem__": "put",
    "__delitem__": "delitem",
    "__contains__": "contains",
    "__len__": "len",
    "readonly_snapshot": "items",
    "snapshot": "items",
}


def _plain(op: str) -> str:
    """The operation that does the same under its plain name."""
    return _ALIASES.get(op, op)


_Outcome = tuple[FrozenMap, Hashable]


def _put(state: FrozenMap, key: Hashable, value: Hashable) -> _Outcome:
    return state.put(key, value), None


def _put_if_absent(state: FrozenMap, key: Hashable, value: Hashable, default: Hashable = None) -> _Outcome:
    return (state, state[key]) if key in state else (state.put(key, value), default)


def _setdefault(state: FrozenMap, key: Hashable, value: Hashable = None) -> _Outcome:
    return (state, state[key]) if key in state else (state.put(key, value), value)


def _replace(state: FrozenMap, key: Hashable, value: Hashable) -> _Outcome:
    return (state.put(key, value), True) if key in state else (state, False)


def _replace_if(state: FrozenMap, key: Hashable, old: Hashable, new: Hashable) -> _Outcome:
    return (state.put(key, new), True) if key in state and state[key] == old else (state, False)


def _remove_if(state: FrozenMap, key: Hashable, old: Hashable) -> _Outcome:
    return (state.without(key), True) if key in state and state[key] == old else (state, False)


def _compute(state: FrozenMap, key: Hashable, amount: Any) -> _Outcome:
    try:
        value = (state.get(key) or 0) + amount
    except TypeError:
        return state, Raised("TypeError")
    return state.put(key, value), value


def _delitem(state: FrozenMap, key: Hashable) -> _Outcome:
    return (state.without(key), None) if key in state else (state, Raised("KeyError"))


def _pop(state: FrozenMap, key: Hashable, *default: Hashable) -> _Outcome:
    if key in state:
        return state.without(key), state[key]
    return state, default[0] if default else Raised("KeyError")


_RULES: Final[dict[str, Callable[..., _Outcome]]] = {
    "get": lambda state, key, default=None: (state, state.get(key, default)),
    "getitem": lambda state, key: (state, state[key] if key in state else Raised("KeyError")),
    "contains": lambda state, key: (state, key in state),
    "put": _put,
    "put_if_absent": _put_if_absent,
    "setdefault": _setdefault,
    "get_or_create": _setdefault,
    "replace": _replace,
    "replace_if": _replace_if,
    "remove_if": _remove_if,
    "compute": _compute,
    "delitem": _delitem,
    "pop": _pop,
    "clear": lambda state: (FrozenMap(), None),
    "items": lambda state: (state, frozenset(state.items())),
    "keys": lambda state: (state, frozenset(state)),
    "values": lambda state: (state, frozenset(Counter(state.values()).items())),
    "len": lambda state: (state, len(state)),
}
_RULES.update({alias: _RULES[op] for alias, op in _ALIASES.items()})

_PARAMETERS: Final = {
    **dict.fromkeys(("getitem", "contains", "delitem"), "key"),
    **dict.fromkeys(("get", "pop"), "key, default=None"),
    **dict.fromkeys(("setdefault", "get_or_create"), "key, value=None"),
    **dict.fromkeys(("put", "replace"), "key, value"),
    **dict.fromkeys(("clear", "popitem", "items", "keys", "values", "len"), ""),
    "put_if_absent": "key, value, default=None",
    "replace_if": "key, old, new",
    "remove_if": "key, old",
    "compute": "key, n",
}
_PARAMETERS.update({alias: _PARAMETERS[op] for alias, op in _ALIASES.items()})


class Map(ByKey):
    """A map from keys to values. `initial` is its content at the start: a mapping or pairs.

    Operations and answers are those of `ctrie.Ctrie`: `get`, `put` (or `__setitem__`), `put_if_absent`, `setdefault`,
    `replace`, `replace_if`, `remove_if`, `delitem`, `pop`, `popitem`, `clear`, `compute`, `get_or_create`, `contains`,
    `getitem`, and those that see the whole map at one instant: `items`, `keys`, `values`, `len`, `snapshot`,
    `readonly_snapshot`. The names with underscores are also accepted. `compute(key, n)` means: add `n` to the value (0
    if there is none). `get_or_create(key, value)` means: with a factory that makes `value`.

    >>> spec = Map()
    >>> spec.step(FrozenMap(a=1), "replace_if", ("a", 1, 2))
    ({'a': 2}, True)
    """

    name = "map"
    read_only = _WHOLE | _GET
    unchanged: ClassVar[Mapping[str, object]] = {
        **dict.fromkeys(("replace", "replace_if", "remove_if"), False),
        **dict.fromkeys(("delitem", "__delitem__", "pop", "popitem"), Raised),
    }
    unordered = frozenset({"items", "keys", "snapshot", "readonly_snapshot"})
    vocabulary = frozenset(_RULES) | {"popitem"}
    parameters = _PARAMETERS

    def __init__(self, initial: Mapping[Any, Any] | Iterable[tuple[Any, Any]] | None = None) -> None:
        self.initial: FrozenMap = FrozenMap(initial or ())

    def step(self, state: FrozenMap, op: str, args: tuple[Any, ...]) -> tuple[State, Hashable]:
        rule = _RULES.get(op)
        return super().step(state, op, args) if rule is None else rule(state, *args)

    def successors(self, state: FrozenMap, op: str, args: tuple[Any, ...], result: Any) -> Iterable[State]:
        if op != "popitem":
            after, answer = self.step(state, op, args)
            return (after,) if fits(result, answer) else ()
        if result is UNSEEN:
            return [state.without(key) for key in state] or (state,)
        if isinstance(result, Raised):
            return () if state else (state,)
        key, value = result
        return (state.without(key),) if key in state and fits(value, state[key]) else ()

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        match _plain(op):
            case "put_if_absent":
                return result is not UNSEEN and result != (args[2] if len(args) > 2 else None)
            case "setdefault" | "get_or_create":
                return result is not UNSEEN and result != (args[1] if len(args) > 1 else None)
        return super().is_read_only(op, args, result)

    def elements(self, operation: Operation) -> Iterable[Element]:
        if operation.op == "popitem" and isinstance(operation.result, tuple):
            return operation.result[:1]
        return operation.args[:1]

    def normalise(self, op: str, result: Any) -> Hashable:
        if isinstance(result, (BaseException, Raised)) or result is UNSEEN:
            return freeze(result)
        match _plain(op):
            case "items" | "keys" as plain:
                result = tuple(result.items() if plain == "items" and isinstance(result, Mapping) else result)
            case "values":
                return frozenset(Counter(freeze(value) for value in result).items())
        return super().normalise(op, result)
