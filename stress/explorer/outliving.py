"""What outlives an execution, as it was before the first one: variables of the program's modules, attributes of its
classes, and what hangs on them.

Code that has steps tells what it changes, so that can be put back. Before code has got steps it changes things unseen:
therefore all of this is copied beforehand, and compared after.
"""

from __future__ import annotations

import builtins
import gc
import os
import sys
import sysconfig
import threading
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import BytesIO, StringIO
from operator import is_
from random import Random, SystemRandom
from types import CellType, FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

from stress.answers import space_of
from stress.explorer.containers import fill_again, is_a, is_namespace, items_in, items_of
from stress.explorer.kinds import LOCKS, Kind, is_of_c, kind_of
from stress.explorer.policy import Treatment, module_of, treatment_of_file

__all__ = ["OF_C", "Environment", "Snapshot", "is_free", "set_again", "state_again"]

OF_C: Final = (Kind.FOREIGN, Kind.ITERATOR, Kind.GENERATOR)
"""Kinds of objects whose state is in C."""

_INSTALLED: Final = tuple({os.path.join(sysconfig.get_path(each), "") for each in ("purelib", "platlib", "stdlib")})
"""Where the program's own modules do not lie, nor do those that are frozen."""
_MOST: Final = 200_000
"""Containers and objects that are copied."""
_MISSING: Final = object()


class Snapshot:
    """The state of the program's own modules, classes, and what they hold, and of what the `roots` lead to. `put_back`
    restores it.
    """

    def __init__(self, roots: Iterable[Any] = ()) -> None:
        self._spaces: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._classes: list[tuple[type, dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._places: list[tuple[Any, Any, Any]] = []
        """Slots of objects, and what is in closures: a descriptor, its owner and the value."""
        self._states: list[Callable[[], object]] = []
        self._locks: list[Any] = []
        """Those that are free."""
        self._seen: dict[int, Any] = {}
        # What `catch_warnings` puts back is what another thread has put there.
        modules = [self._space(vars(module)) for module in (builtins, warnings, *_own_modules())]
        waiting: list[Any] = [*roots, *(value for names in modules[1:] for value in names)]
        while waiting and len(self._seen) < _MOST:
            each = waiting.pop()
            if id(each) not in self._seen:
                waiting += self._parts(each)
        self.is_whole = not waiting
        """Whether all is in it."""

    def _parts(self, each: Any) -> Iterable[Any]:
        """What an object leads to; its own state is noted."""
        of, kind = type(each), kind_of(type(each))
        if kind is Kind.TYPE and _is_own(each):
            self._seen[id(each)] = each
            held = {name: value for name, value in vars(each).items() if not name.startswith("__")}
            self._classes.append((each, held))
            return *vars(each).values(), *each.__mro__, of
        if kind is Kind.CONTAINER and not is_namespace(each):
            self._seen[id(each)] = each
            copy = items_of(each)
            self._containers.append((each, copy))
            return copy.values() if isinstance(copy, dict) else copy
        if of is FunctionType:
            return self._parts_of_function(each)
        if of in LOCKS:
            self._seen[id(each)] = each
            self._locks += [each] if is_free(each) else []
            return ()
        leads = _leads(each, kind)
        if leads is not None:
            self._seen[id(each)] = each
            return leads
        if of is SimpleNamespace or is_a(each, BaseException):
            self._seen[id(each)] = each
            return self._space(space_of(each))
        return self._parts_of_object(each, kind) if kind is Kind.PLAIN or kind in OF_C else ()

    def _space(self, names: dict[str, Any]) -> Iterable[Any]:
        if id(names) not in self._seen:
            self._seen[id(names)] = names
            self._spaces.append((names, dict(names)))
        return list(names.values())

    def _place(self, descriptor: Any, owner: Any) -> Any:
        value = _got(descriptor, owner)
        self._places.append((descriptor, owner, value))
        return value

    def _parts_of_function(self, function: FunctionType) -> Iterable[Any]:
        self._seen[id(function)] = function
        file = function.__code__.co_filename
        if file.startswith(_INSTALLED) or treatment_of_file(file) is not Treatment.EXPLORED:
            return ()
        parts = [*self._space(vars(function)), *(function.__defaults__ or ())]
        if function.__kwdefaults__ is not None:
            parts += self._space(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            if id(cell) not in self._seen:
                self._seen[id(cell)] = cell
                parts.append(self._place(_CONTENT, cell))
        return parts

    def _parts_of_object(self, each: Any, kind: Kind) -> Iterable[Any]:
        is_own = _has_own_state(type(each))
        if is_own or kind in OF_C:
            self._seen[id(each)] = each  # taken as a whole, it may have attributes, too
        back = state_again(each) if kind in OF_C else None
        if back is not None:
            self._states.append(back)
        if not is_own:
            return ()
        parts = items_in(each) if is_a(each, (tuple, frozenset)) else []
        parts += [self._place(slot, each) for slot in _slots_of(type(each))]
        space = space_of(each)
        return [*parts, *self._space(space)] if type(space) is dict else parts

    def has(self, each: Any) -> bool:
        """Whether something was there before."""
        return id(each) in self._seen

    def forget(self) -> None:
        """Keep nothing of it any more."""
        for each in (self._spaces, self._classes, self._containers, self._places, self._states, self._locks):
            each.clear()
        self._seen.clear()

    def put_back(self) -> None:
        """Restore what has been changed."""
        for descriptor, owner, value in self._places:
            if _got(descriptor, owner) is not value:
                if value is _MISSING:
                    descriptor.__delete__(owner)
                else:
                    descriptor.__set__(owner, value)
        for back in self._states:
            back()
        for lock in self._locks:
            # Code without steps has taken it, and was ended. While others run, nobody knows whose it is.
            while not is_free(lock) and (type(lock) is not LOCKS[0] or _is_alone()):
                lock.release()
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


def _leads(each: Any, kind: Kind) -> Iterable[Any] | None:
    """What something leads to that has no state of its own; None if it may have."""
    of = type(each)
    if of is tuple or of is frozenset:
        return tuple(each)
    if of is MethodType:
        return each.__self__, each.__func__
    if of in (staticmethod, classmethod):
        return (each.__func__,)
    if of is property:
        return each.fget, each.fset, each.fdel
    if of is partial:
        return each.func, *each.args, *each.keywords.values()
    if kind is Kind.VIEW:
        return gc.get_referents(each)
    if kind is Kind.CACHE:
        return (getattr(each, "__wrapped__", None),)
    return None


def is_free(lock: Any) -> bool:
    """Whether a lock is free, or a reentrant one is not this thread's."""
    return not (lock.locked() if type(lock) is LOCKS[0] else lock._is_owned())


def _is_alone() -> bool:
    """Whether no thread runs but this one, and those of the exploration, which wait for it."""
    return all(
        each is threading.current_thread() or each.name.startswith("explored-") for each in threading.enumerate()
    )


_CONTENT: Final[Any] = CellType.cell_contents


def _slots_of(of: type) -> tuple[Any, ...]:
    own = [vars(base).values() for base in of.__mro__ if not is_of_c(base)]
    return tuple(each for values in own for each in values if type(each) is MemberDescriptorType)


def _got(descriptor: Any, owner: Any) -> Any:
    try:
        return descriptor.__get__(owner)
    except (AttributeError, ValueError):
        return _MISSING


def _own_modules() -> Iterator[ModuleType]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) if type(module) is ModuleType else None
        if module is sys.modules.get("__main__") or (
            isinstance(file, str) and not file.startswith(_INSTALLED) and treatment_of_file(file) is Treatment.EXPLORED
        ):
            yield module


def _is_own(cls: type) -> bool:
    module = sys.modules.get(module_of(cls))
    file = getattr(module, "__file__", None)
    if module is not None and module.__name__ == "__main__":
        return not is_of_c(cls)
    own = isinstance(file, str) and not file.startswith(_INSTALLED)
    return own and treatment_of_file(str(file)) is Treatment.EXPLORED and not is_of_c(cls)


def _has_own_state(cls: type) -> bool:
    """Whether the objects of a class belong to the program, or to what it uses, and not to the code that tests it: a
    module of tests can name all of pytest's session, which is changed by the test that runs, and by nothing else.
    """
    return module_of(cls).partition(".")[0] not in _TESTING and not is_of_c(cls)


_TESTING: Final = frozenset({"pytest", "_pytest", "pluggy", "hypothesis", "pytest_timeout", "xdist", "execnet"})


def _are_same(now: Any, before: Any) -> bool:
    if len(now) != len(before) or not all(map(is_, now, before)):
        return False
    return not isinstance(before, dict) or all(map(is_, now.values(), before.values()))


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
    """The environment variables of the process, as they were when this was made."""

    def __init__(self) -> None:
        self._variables: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]  # looked at after each execution
        self._before, self._texts = dict(self._variables), dict(os.environ)

    def is_changed(self) -> bool:
        """Whether they are others now."""
        return self._variables != self._before

    def put_back(self) -> None:
        """Restore them."""
        if self.is_changed():
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
