"""What is older than an execution: all that the program's modules, their classes and their functions led to before the
first one. What code with steps changes of it is put back (`undo`).
"""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
import warnings
from array import array
from collections.abc import Callable, Iterable
from functools import partial
from io import BytesIO, StringIO
from random import Random, SystemRandom
from types import CellType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

from stress.explorer.containers import is_a, is_namespace, items_in
from stress.explorer.kinds import LOCKS, Kind, is_of_c, kind_of
from stress.explorer.policy import Treatment, module_of, treatment_of_file

__all__ = ["OF_C", "Environment", "Older", "set_again", "state_again"]

OF_C: Final = (Kind.FOREIGN, Kind.ITERATOR, Kind.GENERATOR)
"""Kinds of objects whose state is in C."""

_INSTALLED: Final = tuple({os.path.join(sysconfig.get_path(each), "") for each in ("purelib", "platlib", "stdlib")})
"""Where the program's own modules do not lie, nor do those that are frozen."""
_MOST: Final = 200_000
"""Objects that are looked at."""


class Older:
    """What the program's own modules, and `roots`, lead to now. It is kept alive, so that no other object has its
    identity.
    """

    def __init__(self, roots: Iterable[Any] = ()) -> None:
        self._seen: dict[int, Any] = {}
        modules = filter(_is_own_module, list(sys.modules.values()))
        waiting: list[Any] = [*roots, *(value for module in modules for value in vars(module).values())]
        while waiting and len(self._seen) < _MOST:
            each = waiting.pop()
            if id(each) not in self._seen:
                led = _led_to_by(each)
                if led is not None:
                    self._seen[id(each)] = each
                    waiting += led
        self.is_whole = not waiting
        """Whether all is in it."""

    def has(self, each: Any) -> bool:
        """Whether something was there."""
        return id(each) in self._seen

    def forget(self) -> None:
        """Keep nothing of it any more."""
        self._seen.clear()


def _led_to_by(each: Any) -> Iterable[Any] | None:
    """What something leads to that is the program's; None if it is not, or never changes and leads to nothing."""
    of, kind = type(each), kind_of(type(each))
    if kind is Kind.TYPE:
        return (*vars(each).values(), *each.__mro__, of) if _is_own(each) else None
    if kind is Kind.CONTAINER:
        return None if is_namespace(each) else items_in(each)
    if of is FunctionType:
        return gc.get_referents(each) if _is_own_file(each.__code__.co_filename) else ()
    if kind is Kind.CACHE:
        return (getattr(each, "__wrapped__", None),)
    if of in _LEADING or kind is Kind.VIEW or is_a(each, BaseException):
        return gc.get_referents(each)
    if (kind is Kind.PLAIN or kind in OF_C) and _has_own_state(of):
        return gc.get_referents(each)
    return () if kind in OF_C or of in LOCKS else None


_LEADING: Final = frozenset({
    tuple, frozenset, MethodType, staticmethod, classmethod, property, partial, CellType, SimpleNamespace,
})  # fmt: skip


def _is_own_file(file: Any) -> bool:
    own = isinstance(file, str) and not file.startswith(_INSTALLED)
    return own and treatment_of_file(file) is Treatment.EXPLORED


def _is_own_module(module: Any) -> bool:
    """Whether a module is one of the program's. Nothing is asked of one that loads itself when it is used."""
    if type(module) is not ModuleType:
        return False
    return module is sys.modules.get("__main__") or _is_own_file(getattr(module, "__file__", None))


def _is_own(cls: type) -> bool:
    return not is_of_c(cls) and _is_own_module(sys.modules.get(module_of(cls)))


def _has_own_state(cls: type) -> bool:
    """Whether the objects of a class belong to the program, or to what it uses, and not to the code that tests it: a
    module of tests can name all of pytest's session.
    """
    return module_of(cls).partition(".")[0] not in _TESTING and not is_of_c(cls)


_TESTING: Final = frozenset({"pytest", "_pytest", "pluggy", "hypothesis", "pytest_timeout", "xdist", "execnet"})


def state_again(of_c: Any) -> Callable[[], object] | None:
    """A function that gives an object of C its present state again; None if there is no way."""
    for base in (bytearray, array):
        if is_a(of_c, base):
            return partial(base.__setitem__, of_c, slice(None), base.__getitem__(of_c, slice(None)))
    if is_a(of_c, Random) and not is_a(of_c, SystemRandom):
        return partial(Random.setstate, of_c, Random.getstate(of_c))
    if type(of_c) in (StringIO, BytesIO) and not of_c.closed:
        return partial(of_c.__setstate__, of_c.__getstate__())
    return None


class Environment:
    """The environment variables of the process, and how warnings are told, as they were when this was made. Code that
    is taken as a whole changes these.
    """

    def __init__(self) -> None:
        self._warnings = [(name, vars(warnings)[name]) for name in ("filters", "showwarning", "_showwarnmsg_impl")]
        self._filters = list(warnings.filters)
        self._variables: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]  # looked at after each execution
        self._before, self._texts = dict(self._variables), dict(os.environ)

    def is_changed(self) -> bool:
        """Whether they are others now."""
        return self._variables != self._before or self._warns_otherwise()

    def _warns_otherwise(self) -> bool:
        is_same = all(vars(warnings)[name] is value for name, value in self._warnings)
        return not is_same or list(warnings.filters) != self._filters

    def put_back(self) -> None:
        """Restore them."""
        if self._warns_otherwise():  # what `catch_warnings` puts back is what another thread has put there
            vars(warnings).update(self._warnings)
            warnings.filters[:] = self._filters  # type: ignore[index]
        if self._variables != self._before:
            for name in [name for name in os.environ if name not in self._texts]:
                del os.environ[name]
            os.environ.update(self._texts)


def set_again(owner: type, name: str) -> Callable[[], None]:
    """A function that gives an attribute of a class its present value again, or removes it if there is none."""
    if name in vars(owner):
        return partial(type.__setattr__, owner, name, vars(owner)[name])
    return partial(_remove, owner, name)


def _remove(owner: type, name: str) -> None:
    if name in vars(owner):
        type.__delattr__(owner, name)
