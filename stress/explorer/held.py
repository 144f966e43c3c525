"""What an object consists of: its attributes, items, and variables of its functions, with all that these hold."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from functools import lru_cache, partial
from types import FunctionType, MethodType, SimpleNamespace
from typing import Any, Final

from stress.answers import attributes_of
from stress.explorer.containers import items_in, items_of
from stress.explorer.kinds import ATOMS, QUIET, Kind, is_of_c, kind_of

__all__ = ["FUNCTION_OF_C", "content_of", "held", "parts_of"]

FUNCTION_OF_C: Final = type(len)
_SAID: Final = ATOMS - {type, FunctionType}
_LEAVES: Final = ATOMS - {FunctionType}
_HOLDING: Final[dict[type, tuple[str, ...]]] = {
    MethodType: ("__self__", "__func__"),
    partial: ("func", "args", "keywords"),
    FUNCTION_OF_C: ("__self__",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    type(lru_cache(lambda: None)): ("__wrapped__",),
}
"""Types of C whose objects hold others, and the attributes that tell which."""


def held(made: Any, kinds: tuple[type, ...] = (), most: int = 2_000) -> Iterator[tuple[Any, str]]:
    """What an object consists of and may change, and objects of the given `kinds`, each with its place."""
    seen: dict[int, Any] = {}
    waiting: deque[tuple[Any, str]] = deque([(made, "")])
    while waiting and len(seen) < most:
        each, where = waiting.popleft()
        of = type(each)
        if of in _LEAVES or id(each) in seen:
            continue
        seen[id(each)] = each
        kind = kind_of(of)
        if kind is Kind.MODULE or kind is Kind.TYPE:
            continue
        if kind is not QUIET or (kinds and issubclass(of, kinds)):
            yield each, where
        for part, words in parts_of(each, Kind.PLAIN if each is made and kind is QUIET else kind):
            waiting.append((part, where + words if where else words.removeprefix(".")))


def parts_of(each: Any, kind: Kind) -> Iterator[tuple[Any, str]]:
    """What an object of a kind holds itself, but for plain values: each part with the words for its place, which come
    behind those for the object.
    """
    of = type(each)
    if kind is Kind.MODULE or kind is Kind.TYPE:
        return
    is_python = not is_of_c(of)
    if is_python and of.__base__ is object:
        pass  # it has attributes, and nothing else
    elif issubclass(of, dict):
        for at, (key, item) in enumerate(items_of(each).items()):
            if type(item) not in _SAID:
                yield item, f"[{repr(key) if type(key) in _SAID else f'key {at}'}]"
            if type(key) not in _SAID:
                yield key, ".keys()"
    elif issubclass(of, (list, tuple, deque)):
        for at, item in enumerate(items_in(each)):
            if type(item) not in _SAID:
                yield item, f"[{at}]"
    elif issubclass(of, (set, frozenset)):
        yield from ((item, "[*]") for item in items_in(each) if type(item) not in _SAID)
    elif issubclass(of, BaseException):
        yield each.args, ".args"
    elif of is FunctionType:
        for name, cell in zip(each.__code__.co_freevars, each.__closure__ or (), strict=True):
            yield cell, "()"
            yield content_of(cell), f"().{name}"
        yield from ((item, "()") for item in (*(each.__defaults__ or ()), *(each.__kwdefaults__ or {}).values()))
        yield from ((item, f".{name}") for name, item in vars(each).items())
    elif of in _HOLDING:
        yield from ((getattr(each, name, None), f".{name}") for name in _HOLDING[of])
    elif kind in (Kind.VIEW, Kind.ITERATOR):
        yield from ((item, "[*]") for item in gc.get_referents(each))
    if (is_python or of is SimpleNamespace) and kind is not QUIET:
        for name, item in attributes_of(each):
            if type(item) not in _SAID:
                yield item, f".{name}"


def content_of(cell: Any) -> Any:
    """What a variable of a function holds; None if it is not assigned yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
