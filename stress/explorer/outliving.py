"""What outlives an execution, and how it becomes again what it was: a function for each kind of state, which knows what
that is now. Variables of the program's modules, attributes of its classes, and what hangs on them are copied before the
first execution (`Snapshot`): code that has no steps yet changes them unseen. All else is copied before the first step
that changes it (`undo`).
"""

from __future__ import annotations

import builtins
import os
import sys
import sysconfig
import threading
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO, StringIO
from operator import is_
from random import Random, SystemRandom
from types import CellType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any, Final

from stress.answers import space_of
from stress.explorer.containers import fill_again, is_a, is_namespace, items_of
from stress.explorer.held import parts_of
from stress.explorer.kinds import LOCKS, QUIET, Kind, is_of_c, kind_of
from stress.explorer.policy import Treatment, module_of, treatment_of_file

__all__ = [
    "CONTENT",
    "OF_C",
    "Snapshot",
    "class_again",
    "environment_again",
    "is_free",
    "items_again",
    "names_again",
    "place_again",
    "place_of",
    "state_again",
]

Back = Callable[[], object]
OF_C: Final = (Kind.FOREIGN, Kind.ITERATOR, Kind.GENERATOR)
"""Kinds of objects whose state is in C."""
CONTENT: Final[Any] = CellType.cell_contents
"""The place of what a variable of a function holds."""
_INSTALLED: Final = tuple({os.path.join(sysconfig.get_path(each), "") for each in ("purelib", "platlib", "stdlib")})
"""Where the program's own modules do not lie, nor do those that are frozen."""
_MOST: Final = 200_000
"""Containers and objects that are copied."""
_MISSING: Final = object()
_TESTING: Final = frozenset({"pytest", "_pytest", "pluggy", "hypothesis", "pytest_timeout", "xdist", "execnet"})
"""Packages whose objects do not belong to the program: a module of tests can name all of pytest's session, which is
changed by the test that runs, and by nothing else."""


class Snapshot:
    """The state of the program's own modules, classes, and what they hold, and of what the `roots` lead to. `put_back`
    restores it.
    """

    def __init__(self, roots: Iterable[Any] = ()) -> None:
        self._seen: dict[int, Any] = {}
        own = list(_own_modules())
        # What `catch_warnings` puts back is what another thread has put there.
        self._backs: list[Back] = [names_again(vars(module)) for module in (builtins, warnings, *own)]
        waiting: list[Any] = [*roots, *(value for module in (warnings, *own) for value in vars(module).values())]
        while waiting and len(self._seen) < _MOST:
            each = waiting.pop()
            kind = kind_of(type(each))
            if id(each) not in self._seen and kind is not Kind.MODULE and _is_own(each):
                self._seen[id(each)] = each
                self._backs += _states_of(each, kind)
                if kind is Kind.TYPE:
                    waiting += [*vars(each).values(), *each.__mro__, type(each)]
                elif kind is not Kind.ITERATOR:  # what lies in one is its own
                    waiting += [part for part, _ in parts_of(each, kind)]
        self.is_whole = not waiting
        """Whether all is in it."""

    def has(self, each: Any) -> bool:
        """Whether something was there before."""
        return id(each) in self._seen

    def forget(self) -> None:
        """Keep nothing of it any more."""
        self._backs.clear()
        self._seen.clear()

    def put_back(self) -> None:
        """Restore what has been changed."""
        for back in self._backs:
            back()


def _own_modules() -> Iterator[ModuleType]:
    for module in list(sys.modules.values()):
        if type(module) is ModuleType and _is_own_module(module):
            yield module


def _is_own_module(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    return module is not None and (
        module is sys.modules.get("__main__") or (isinstance(file, str) and _is_own_file(file))
    )


def _is_own_file(file: str) -> bool:
    return not file.startswith(_INSTALLED) and treatment_of_file(file) is Treatment.EXPLORED


def _is_own(each: Any) -> bool:
    """Whether something belongs to the program, or to what it uses, and not to the code that tests it."""
    of = type(each)
    if is_a(each, type):
        return not is_of_c(each) and _is_own_module(sys.modules.get(module_of(each)))
    if of is FunctionType:
        return _is_own_file(each.__code__.co_filename)
    return module_of(of).partition(".")[0] not in _TESTING and not (is_a(each, dict) and is_namespace(each))


def _states_of(each: Any, kind: Kind) -> Iterator[Back]:
    """What makes an object again what it is now."""
    of = type(each)
    if kind is Kind.TYPE:
        yield class_again(each)
    elif kind is Kind.CONTAINER:
        yield items_again(each)
    elif of in LOCKS and is_free(each):
        yield partial(_free, each)
    elif of is CellType:
        yield place_again(CONTENT, each)
    elif kind in OF_C and (back := state_again(each)) is not None:
        yield back
    if of is FunctionType:
        yield from (names_again(names) for names in (vars(each), each.__kwdefaults__) if names is not None)
    elif kind is not QUIET and (not is_of_c(of) or of is SimpleNamespace or is_a(each, BaseException)):
        own = [vars(base).values() for base in of.__mro__ if not is_of_c(base)]
        slots = [slot for values in own for slot in values if type(slot) is MemberDescriptorType]
        yield from (place_again(slot, each) for slot in slots)
        if type(space := space_of(each)) is dict:
            yield names_again(space)


def names_again(names: dict[Any, Any]) -> Back:
    """For variables, or attributes of an object. Modules that are imported meanwhile stay."""
    before = dict(names)

    def back() -> None:
        if list(names) == list(before) and all(map(is_, names.values(), before.values())):
            return
        for name in [name for name in names if name not in before and not isinstance(names[name], ModuleType)]:
            del names[name]
        for name, value in before.items():
            if names.get(name, _MISSING) is not value:
                names[name] = value

    return back


def class_again(cls: type) -> Back:
    """For the attributes of a class."""
    before = dict(vars(cls))

    def back() -> None:
        for name in [name for name in vars(cls) if name not in before]:
            type.__delattr__(cls, name)
        for name, value in before.items():
            if vars(cls).get(name, _MISSING) is not value:
                type.__setattr__(cls, name, value)

    return back


def items_again(container: Any) -> Back:
    """For a list, dictionary, set or deque."""
    before = items_of(container)

    def back() -> None:
        now = items_of(container)
        values = (now.values(), before.values()) if isinstance(before, dict) else ((), ())
        if len(now) != len(before) or not all(map(is_, now, before)) or not all(map(is_, *values)):
            fill_again(container, before)

    return back


def place_of(of: type, name: str) -> Any:
    """What keeps an attribute outside an object's dictionary: a slot, or the like, such as the code of a function."""
    found = next((vars(base)[name] for base in of.__mro__ if name in vars(base)), None)
    return found if type(found) in (MemberDescriptorType, GetSetDescriptorType) else None


def place_again(place: Any, owner: Any) -> Back:
    """For what `place_of` gives, and for variables of closures."""
    before = _got(place, owner)

    def back() -> None:
        if _got(place, owner) is not before:
            with suppress(AttributeError, TypeError, ValueError):
                place.__delete__(owner) if before is _MISSING else place.__set__(owner, before)

    return back


def _got(place: Any, owner: Any) -> Any:
    try:
        return place.__get__(owner)
    except (AttributeError, ValueError):
        return _MISSING


def state_again(of_c: Any) -> Back | None:
    """For an object of C; None if there is no way."""
    for base in (bytearray, array):
        if is_a(of_c, base):
            return partial(base.__setitem__, of_c, slice(None), base.__getitem__(of_c, slice(None)))
    if is_a(of_c, Random) and not is_a(of_c, SystemRandom):
        return partial(Random.setstate, of_c, Random.getstate(of_c))
    if type(of_c) in (StringIO, BytesIO) and not of_c.closed:
        return partial(of_c.__setstate__, of_c.__getstate__())
    return None


def environment_again() -> Back:
    """For the environment variables of the process."""
    kept: dict[Any, Any] = os.environ._data  # type: ignore[attr-defined]  # looked at after each execution
    before, texts = dict(kept), dict(os.environ)

    def back() -> None:
        if kept != before:
            for name in [name for name in os.environ if name not in texts]:
                del os.environ[name]
            os.environ.update(texts)

    return back


def is_free(lock: Any) -> bool:
    """Whether a lock is free, or a reentrant one is not this thread's."""
    return not (lock.locked() if type(lock) is LOCKS[0] else lock._is_owned())


def _free(lock: Any) -> None:
    """Free a lock again: code without steps has taken it, and was ended. While others run, nobody knows whose it is."""
    alone = threading.current_thread()
    while not is_free(lock) and (
        type(lock) is not LOCKS[0]
        or all(each is alone or each.name.startswith("explored-") for each in threading.enumerate())
    ):
        lock.release()
