"""What outlives an execution, as it was before the first one: variables of the program's modules, attributes of its
classes, and what hangs on them.

Code that has steps tells what it changes, so that can be put back. Before code has got steps it changes things unseen:
therefore all of this is copied beforehand, and compared after.
"""

from __future__ import annotations

import builtins
import os
import sys
import sysconfig
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO, StringIO
from operator import is_
from random import Random
from types import ModuleType
from typing import Any, Final

from stress.explorer.kinds import CONTAINERS, Kind, is_of_c, kind_of
from stress.explorer.policy import Treatment, treatment_of_file

__all__ = ["OF_C", "Snapshot", "fill_again", "items_of", "set_again", "state_again"]

OF_C: Final = (Kind.FOREIGN, Kind.ITERATOR, Kind.GENERATOR)
"""Kinds of objects whose state is in C."""

_INSTALLED: Final = tuple({os.path.join(sysconfig.get_path(each), "") for each in ("purelib", "platlib")})
_MOST: Final = 200_000
"""Containers and objects that are copied."""
_MISSING: Final = object()


class Snapshot:
    """The state of the program's own modules, classes, and what they hold; `put_back` restores it."""

    def __init__(self) -> None:
        self._spaces: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._classes: list[tuple[type, dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        seen: dict[int, Any] = {}
        waiting: list[Any] = [vars(module) for module in (builtins, *_own_modules())]
        for names in waiting:
            self._spaces.append((names, dict(names)))
        seen.update((id(names), names) for names in waiting)
        waiting = [value for names in waiting[1:] for value in names.values()]
        while waiting and len(seen) < _MOST:
            each = waiting.pop()
            if id(each) in seen:
                continue
            kind = kind_of(type(each))
            if kind is Kind.TYPE and _is_own(each):
                seen[id(each)] = each
                held = {name: value for name, value in vars(each).items() if not name.startswith("__")}
                self._classes.append((each, held))
                waiting += held.values()
            elif kind is Kind.CONTAINER and not (isinstance(each, dict) and dict.__contains__(each, "__builtins__")):
                seen[id(each)] = each
                copy = items_of(each)
                self._containers.append((each, copy))
                waiting += copy.values() if isinstance(copy, dict) else copy
            elif kind is Kind.PLAIN or kind in OF_C:
                if not _has_own_state(type(each)):
                    if kind in OF_C:
                        seen[id(each)] = each
                    continue
                seen[id(each)] = each  # taken as a whole, it may have attributes, too
                space = getattr(each, "__dict__", None)
                if type(space) is dict:
                    self._spaces.append((space, dict(space)))
                    waiting += space.values()
        self.is_whole = not waiting
        """Whether all is in it."""
        self._seen = seen

    def has(self, each: Any) -> bool:
        """Whether something was there before."""
        return id(each) in self._seen

    def put_back(self) -> None:
        """Restore what has been changed."""
        for names, before in self._spaces:
            if list(names) == list(before) and all(map(is_, names.values(), before.values())):
                continue
            for name in [name for name in names if name not in before and not isinstance(names[name], ModuleType)]:
                del names[name]
            for name, value in before.items():
                if names.get(name, _MISSING) is not value:
                    names[name] = value
        for cls, before in self._classes:
            now = vars(cls)
            for name in [name for name in now if name not in before and not name.startswith("__")]:
                type.__delattr__(cls, name)
            for name, value in before.items():
                if now.get(name, _MISSING) is not value:
                    type.__setattr__(cls, name, value)
        for container, before in self._containers:
            if not _are_same(items_of(container), before):
                fill_again(container, before)


def _own_modules() -> Iterator[ModuleType]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) if type(module) is ModuleType else None
        if module is sys.modules.get("__main__") or (
            isinstance(file, str) and not file.startswith(_INSTALLED) and treatment_of_file(file) is Treatment.EXPLORED
        ):
            yield module


def _is_own(cls: type) -> bool:
    module = sys.modules.get(getattr(cls, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if module is not None and module.__name__ == "__main__":
        return not is_of_c(cls)
    own = isinstance(file, str) and not file.startswith(_INSTALLED)
    return own and treatment_of_file(str(file)) is Treatment.EXPLORED and not is_of_c(cls)


def _has_own_state(cls: type) -> bool:
    """Whether the objects of a class belong to the program, or to what it uses, and not to the code that tests it: a
    module of tests can name all of pytest's session, which is changed by the test that runs, and by nothing else.
    """
    return (cls.__module__ or "").partition(".")[0] not in _TESTING and not is_of_c(cls)


_TESTING: Final = frozenset({"pytest", "_pytest", "pluggy", "hypothesis", "pytest_timeout", "xdist", "execnet"})


def _are_same(now: Any, before: Any) -> bool:
    if len(now) != len(before) or not all(map(is_, now, before)):
        return False
    return not isinstance(before, dict) or all(map(is_, now.values(), before.values()))


def items_of(container: Any) -> Any:
    """A copy of the items of a list, dictionary, set or deque, in their order."""
    if isinstance(container, OrderedDict):
        return dict(OrderedDict.items(container))  # its order is not that of the dictionary that it is, too
    return dict.copy(container) if isinstance(container, dict) else list(container)


def fill_again(container: Any, items: Any) -> None:
    """Give a container the items that it had."""
    base: Any = next(each for each in (OrderedDict, *CONTAINERS) if isinstance(container, each))
    base.clear(container)
    if issubclass(base, dict):
        for key, value in items.items():
            base.__setitem__(container, key, value)
    elif base is set:
        set.update(container, items)
    else:
        base.extend(container, items)


def state_again(of_c: Any) -> Callable[[], object] | None:
    """A function that gives an object of C its present state again; None if there is no way."""
    if isinstance(of_c, (bytearray, array)):
        return partial(of_c.__setitem__, slice(None), of_c[:])
    if isinstance(of_c, Random):
        return partial(of_c.setstate, of_c.getstate())
    if type(of_c) in (StringIO, BytesIO) and not of_c.closed:
        return partial(of_c.__setstate__, of_c.__getstate__())
    return None


def set_again(owner: type, name: str) -> Callable[[], None]:
    """A function that gives an attribute of a class its present value again, or removes it if there is none."""
    if name in vars(owner):
        return partial(type.__setattr__, owner, name, vars(owner)[name])
    return partial(_remove, owner, name)


def _remove(owner: type, name: str) -> None:
    if name in vars(owner):
        type.__delattr__(owner, name)
