"""Replaces objects by others, under every name by which code refers to them.

After `from threading import Lock`, a module has its own name for the lock, so changing `threading` alone would not
reach it; after `import threading`, it has the module. The garbage collector tells which containers refer to an object:
modules, classes (an attribute), functions (a default argument, a variable of an outer function). Objects that the
collector was told to ignore (`gc.freeze`) are not found.
"""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from types import CellType, FunctionType, ModuleType
from typing import Any, Final

__all__ = ["exchanged", "is_foreign", "substituted"]

_STANDARD: Final = sysconfig.get_path("stdlib") + os.sep
_INSTALLED: Final = tuple({sysconfig.get_path("purelib") + os.sep, sysconfig.get_path("platlib") + os.sep})
_OURS: Final = (
    "stress", "ctrie", "subtrie", "snapshot", "pytest", "_pytest", "pluggy", "hypothesis", "pytest_timeout", "xdist",
    "execnet", "greenlet",
)  # fmt: skip
"""Packages that stay unchanged while an object is explored, besides the standard library."""


def is_foreign(module: Any) -> bool:
    """Whether a module, by its name, belongs to the testing code or to Python itself."""
    name = str(module)
    if name == "queue":
        return False
    if name.partition(".")[0] in _OURS or name in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return (file.startswith(_STANDARD) and not file.startswith(_INSTALLED)) or (
        not file and name not in ("__main__", "")
    )


@contextmanager
def substituted(everywhere: Mapping[Any, Any], in_code: Mapping[Any, Any]) -> Iterator[None]:
    """Within the block, the keys of `everywhere` are replaced in all modules, and those of `in_code` in modules that
    are not foreign.
    """
    undo: list[Callable[[], None]] = []
    try:
        _exchange(everywhere, in_code, undo)
        yield
    finally:
        for step in reversed(undo):
            step()
        back = {id(new): old for old, new in {**everywhere, **in_code}.items()}
        for names in _modules():  # including those imported meanwhile
            _exchange_in(names, back, [])


def _exchange(everywhere: Mapping[Any, Any], in_code: Mapping[Any, Any], undo: list[Callable[[], None]]) -> None:
    """Replace the keys of the tables by their values; `undo` gets the functions that reverse it."""
    in_foreign = {id(old): new for old, new in everywhere.items()}
    by_id = {**in_foreign, **{id(old): new for old, new in in_code.items()}}

    @cache
    def table(module: str) -> Mapping[int, Any]:
        return in_foreign if is_foreign(module) else by_id

    owners = _owners()
    for names in _modules():
        here = table(str(names.get("__name__", "")))
        _exchange_in(names, here, undo)
        if here is by_id:
            _exchange_inside(names, here, undo)
    for holder in gc.get_referrers(*everywhere, *in_code):
        if type(holder) is CellType:
            old = holder.cell_contents
            holder.cell_contents = by_id[id(old)]
            undo.append(partial(setattr, holder, "cell_contents", old))
        elif type(holder) is dict and "__builtins__" in holder:
            _exchange_in(holder, table(str(holder.get("__name__", ""))), undo)
    for owner in owners:
        _exchange_of(owner, table(str(owner.__module__)), undo)


def _owners() -> list[Any]:
    """All classes, and all functions with default arguments. The collector cannot be asked who holds them: it forgets
    tuples and dictionaries in which it follows nothing, such as classes of extension modules. Nor does it always know
    functions: on free-threaded 3.13 it forgets those that there are when the first thread starts.
    """
    owners: dict[int, Any] = {}
    waiting: list[Any] = [object]
    while waiting:
        for each in type.__subclasses__(waiting.pop()):
            if id(each) not in owners:
                owners[id(each)] = each
                waiting.append(each)
    places = [gc.get_objects(), *(list(names.values()) for names in (*_modules(), *map(vars, owners.values())))]
    for place in places:
        for each in place:
            if type(each) is FunctionType and (each.__defaults__ or each.__kwdefaults__):
                owners[id(each)] = each
    return list(owners.values())


_HOLDERS: Final = frozenset({tuple, partial, staticmethod})


def _found(names: Any, by_id: Mapping[int, Any]) -> list[tuple[Any, Any, Any]]:
    """What is to be replaced of the values of a dictionary, or the items of a list: where it is, itself, and what
    replaces it.
    """
    found = []
    for name, value in list(enumerate(names) if isinstance(names, list) else names.items()):
        if id(value) in by_id or type(value) in _HOLDERS:
            new = _in_place_of(value, by_id)
            if new is not value:
                found.append((name, value, new))
    return found


def _exchange_in(names: Any, by_id: Mapping[int, Any], undo: list[Callable[[], None]]) -> None:
    """The same for the values of a dictionary, or the items of a list."""
    for name, value, new in _found(names, by_id):
        undo.append(partial(names.__setitem__, name, value))
        names[name] = new


def _in_place_of(value: Any, by_id: Mapping[int, Any]) -> Any:
    """What replaces a value: a key of the table, a tuple that holds one, a `partial` of one, or a static method."""
    if id(value) in by_id:
        return by_id[id(value)]
    kind = type(value)
    if kind is tuple and not by_id.keys().isdisjoint(map(id, value)):
        return tuple(by_id.get(id(each), each) for each in value)
    if kind is partial and id(value.func) in by_id:
        return partial(by_id[id(value.func)], *value.args, **value.keywords)
    if kind is staticmethod:
        inner = _in_place_of(value.__func__, by_id)
        return value if inner is value.__func__ else staticmethod(inner)
    return value


_SERIES: Final = frozenset({dict, list})
_MOST_ITEMS: Final = 100


def _exchange_inside(names: Mapping[str, Any], by_id: Mapping[int, Any], undo: list[Callable[[], None]]) -> None:
    """Replace the keys of the table in dictionaries and lists that are variables of a module, or attributes of a
    class."""
    for value in list(names.values()):
        if type(value) in _SERIES and len(value) <= _MOST_ITEMS:
            _exchange_in(value, by_id, undo)


def _exchange_of(owner: Any, by_id: Mapping[int, Any], undo: list[Callable[[], None]]) -> None:
    """The same for attributes of a class, or default arguments of a function."""
    if type(owner) is FunctionType:
        _exchange_in(owner.__kwdefaults__ or {}, by_id, undo)
        old = owner.__defaults__
        new = _in_place_of(old, by_id)
        if new is not old:
            owner.__defaults__ = new
            undo.append(partial(setattr, owner, "__defaults__", old))
        return
    for name, value, new in _found(vars(owner), by_id):
        setattr(owner, name, new)
        undo.append(partial(setattr, owner, name, value))
    _exchange_inside(vars(owner), by_id, undo)


@contextmanager
def exchanged(found: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Within the block, a variable of a module (its dictionary) or an attribute of a class has another value."""
    before = []
    for owner, name, new in found:
        before.append((owner, name, _get(owner, name)))
        _set(owner, name, new)
    try:
        yield
    finally:
        for owner, name, old in reversed(before):
            _set(owner, name, old)


def _get(owner: Any, name: str) -> Any:
    return owner[name] if isinstance(owner, dict) else vars(owner)[name]


def _set(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)


def _modules() -> Iterator[dict[str, Any]]:
    for module in list(sys.modules.values()):
        if issubclass(type(module), ModuleType):
            yield object.__getattribute__(module, "__dict__")  # without loading a lazy module
