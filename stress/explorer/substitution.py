"""Replaces objects by others, under every name by which code refers to them.

After `from threading import Lock`, a module has its own name for the lock, so changing `threading` alone would not
reach it; after `import threading`, it has the module. The garbage collector tells which containers refer to an object:
modules, classes (an attribute), functions (a default argument, a variable of an outer function). Objects that the
collector was told to ignore (`gc.freeze`) are not found.
"""

from __future__ import annotations

import gc
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from types import CellType, FunctionType, ModuleType
from typing import Any, Final

from stress.explorer.policy import is_ours, whole_of

__all__ = ["all_functions", "is_foreign", "substituted"]


def is_foreign(module: Any) -> bool:
    """Whether a module, by its name, belongs to the testing code, is taken as a whole, or has no code in Python."""
    name = str(module)
    if is_ours(name) or whole_of(name):
        return True
    return name not in ("__main__", "") and not getattr(sys.modules.get(name), "__file__", None)


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

    classes, functions = _classes(), all_functions()
    for names in _modules():
        _exchange_in(names, table(str(names.get("__name__", ""))), undo)
    own = {id(cell) for new in by_id.values() if type(new) is FunctionType for cell in new.__closure__ or ()}
    for holder in gc.get_referrers(*everywhere, *in_code):
        if id(holder) in own:
            continue  # what stands in for something calls it
        if type(holder) is CellType:
            old = holder.cell_contents
            holder.cell_contents = by_id[id(old)]
            undo.append(partial(setattr, holder, "cell_contents", old))
        elif isinstance(holder, defaultdict) and id(holder.default_factory) in by_id:
            undo.append(partial(setattr, holder, "default_factory", holder.default_factory))
            holder.default_factory = by_id[id(holder.default_factory)]
        elif type(holder) is dict and "__builtins__" in holder:
            _exchange_in(holder, table(str(holder.get("__name__", ""))), undo)
    for cls in classes:
        _exchange_in(cls, table(str(cls.__module__)), undo)
    for function in functions:
        here = table(str(function.__module__))
        if function.__kwdefaults__:
            _exchange_in(function.__kwdefaults__, here, undo)
        defaults = function.__defaults__ or ()
        if not here.keys().isdisjoint(map(id, defaults)):
            function.__defaults__ = tuple(here.get(id(each), each) for each in defaults)
            undo.append(partial(setattr, function, "__defaults__", defaults))
    _exchange_in(sys.modules, by_id, undo)  # for code that imports one of them when it is called


def _classes() -> list[type]:
    """All classes, each after those that it is derived from."""
    found: dict[int, type] = {id(object): object}
    waiting: list[Any] = [object]
    while waiting:
        for each in type.__subclasses__(waiting.pop()):
            if id(each) not in found:
                found[id(each)] = each
                waiting.append(each)
    return list(found.values())


def all_functions() -> list[FunctionType]:
    """The functions that there are. The collector does not know all: it forgets those that `gc.freeze` has set aside,
    and on a free-threaded build those that there are when the first thread starts. Names of modules and classes lead to
    these, or to what holds them, such as a property.
    """
    there = gc.get_objects()
    if _FORGETS or gc.get_freeze_count():
        there += [value for names in (*_modules(), *map(vars, _classes())) for value in list(names.values())]
        there += gc.get_referents(*there)
    return list({id(each): each for each in there if type(each) is FunctionType}.values())


_FORGETS: Final = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def _exchange_in(place: Any, by_id: Mapping[int, Any], undo: list[Callable[[], None]]) -> None:
    """Replace the keys of the table among the values of a dictionary, or the attributes of a class."""
    put: Any = partial(setattr, place) if isinstance(place, type) else place.__setitem__
    for name, value in list((vars(place) if isinstance(place, type) else place).items()):
        if id(inner := value.__func__ if type(value) is staticmethod else value) in by_id:
            new = by_id[id(inner)]
            put(name, new if inner is value else staticmethod(new))
            undo.append(partial(put, name, value))


def _modules() -> Iterator[dict[str, Any]]:
    for module in list(sys.modules.values()):
        if issubclass(type(module), ModuleType):
            yield object.__getattribute__(module, "__dict__")  # without loading a lazy module
