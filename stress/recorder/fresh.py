"""Fresh objects: every batch of a campaign needs one in the state in which its specification starts.

Two mistakes spoil that. A factory may give the same object again: it is refused. And calls may change what outlives
the object: a variable of a module that the first call fills, an attribute of a class. What happens only once in a
process has only one chance to go wrong, so a campaign that finds nothing says nothing about it (`Outliving`). `reset`,
which puts such things back before each object is made, mends both.
"""

from __future__ import annotations

import enum
import sys
import sysconfig
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

from stress.source import is_ours, module_of

__all__ = ["Fresh", "Outliving", "Refused"]

_REMEMBERED: Final = 64
"""Objects that are remembered without weak references, and the least number with."""


class Refused(ValueError):
    """What is to be run cannot be judged; the message says why."""


class Fresh:
    """Makes the objects of a campaign, and refuses one that was given before.

    Args:
        factory: makes an object.
        reset: puts back what outlives objects; then the same object may come again.
    """

    def __init__(self, factory: Callable[[], Any], reset: Callable[[], object] | None) -> None:
        self._factory, self._reset = factory, reset
        self._before: dict[int, Callable[[], Any]] = {}

    def __call__(self) -> Any:
        """The next object.

        Raises:
            Refused: the factory gave it before.
        """
        if self._reset is not None:
            self._reset()
            return self._factory()
        made = self._factory()
        known = self._before.get(id(made))
        if known is not None and known() is made:
            raise Refused(
                f"the factory gave the same {type(made).__name__} again: it must make a fresh object at each call, or "
                "`reset` must put the old one back into the state in which the specification starts"
            )
        if len(self._before) >= _REMEMBERED:
            self._before = {at: there for at, there in self._before.items() if there() is not None}
        try:
            self._before[id(made)] = weakref.ref(made)
        except TypeError:  # a list, a dict or an object with slots: only the latest is kept alive
            self._before = {id(made): lambda: made}
        return made


class Outliving:
    """What the code of an object can reach and what outlives it: variables of modules, attributes of classes.

    Only the user's own modules are looked at, and those of the package that the object comes from: what other packages
    remember is their business.
    """

    def __init__(self, *roots: Any) -> None:
        self._roots = roots
        self._values = dict(_places(roots))
        self._first: set[str] = set()
        self._later: set[str] = set()
        self._looks = 0

    @property
    def changed(self) -> set[str]:
        """What has changed since the beginning."""
        return self._first | self._later

    @property
    def once(self) -> set[str]:
        """What changed during the first batch, and not since."""
        return self._first - self._later if self._looks > 1 else set()

    def look(self) -> None:
        """Look again after a batch."""
        if self._looks > _LOOKS:
            return
        values = dict(_places(self._roots))
        changed = {name for name, value in values.items() if self._values.get(name, _ABSENT) != value}
        if self._looks:
            self._later |= changed
        else:
            self._first = changed
        self._values = values
        self._looks += 1


_ABSENT: Final = object()
_LOOKS: Final = 6
"""The number of batches after which what has changed once counts as changing only once."""
_MOST: Final = 400
"""Functions and classes that are followed."""
_MOST_ITEMS: Final = 200
_STANDARD: Final = sysconfig.get_path("stdlib")
_SITES: Final = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


def _places(roots: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """The names of what outlives an object, each with a value that differs if what it holds does."""
    packages = {_package(module_of(root)) for root in roots}
    waiting, seen = deque(roots), set[int]()
    while waiting and len(seen) < _MOST:
        each = waiting.popleft()
        each = getattr(each, "__wrapped__", each)
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, type):
            found = [base for base in each.__mro__ if _is_users(module_of(base), packages)]
            for base in found:
                for name, value in list(vars(base).items()):
                    function = getattr(value, "__func__", getattr(value, "fget", value))
                    if isinstance(function, types.FunctionType):
                        waiting.append(function)
                    elif not (name.startswith("__") and name.endswith("__")) and not _is_kept_by_enum(base, name):
                        yield f"{module_of(base)}.{base.__qualname__}.{name}", _print_of(value)
        elif isinstance(each, types.MethodType):
            waiting.append(each.__func__)
        elif isinstance(each, types.FunctionType) and _is_users(module_of(each), packages):
            enclosed = zip(each.__code__.co_freevars, each.__closure__ or (), strict=True)
            for name, value in (
                *_used_by(each.__code__, each.__globals__, packages),
                *((f"{module_of(each)}.{each.__qualname__}.{name}", _content(cell)) for name, cell in enclosed),
            ):
                if isinstance(value, (type, types.FunctionType)):
                    waiting.append(value)
                else:
                    yield name, _print_of(value)
                    if not isinstance(value, types.ModuleType):
                        waiting.append(type(value))


def _is_kept_by_enum(cls: type, name: str) -> bool:
    """Whether `enum` keeps something there, such as the members of a flag that were met together."""
    return isinstance(cls, enum.EnumMeta) and name.startswith("_") and name.endswith("_")


def _used_by(code: types.CodeType, variables: dict[str, Any], packages: set[str]) -> Iterator[tuple[str, Any]]:
    """The variables of modules that a function uses, by full name, also by those defined in it."""
    module = variables.get("__name__", "")
    for name in code.co_names:
        if name in variables:
            value = variables[name]
            yield f"{module}.{name}", value
            if isinstance(value, types.ModuleType) and _is_users(value.__name__, packages):
                there = vars(value)
                yield from ((f"{value.__name__}.{other}", there[other]) for other in code.co_names if other in there)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _used_by(constant, variables, packages)


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing yet
        return None


def _package(module: str) -> str:
    return module.partition(".")[0]


def _is_users(module: str, packages: set[str]) -> bool:
    """Whether a module is the user's, or of the package that the object comes from."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    if is_ours(file) or module == "builtins":
        return False
    foreign = not file or file.startswith((_STANDARD, *_SITES))
    return _package(module) in packages or not foreign


def _print_of(value: Any, depth: int = 2) -> Any:
    """A value that differs when what `value` holds is another object, or when the objects in it are."""
    held: Any = ()
    if depth and isinstance(value, dict):
        items = list(value.items())[:_MOST_ITEMS]
        held = (len(value), tuple((id(key), _print_of(item, depth - 1)) for key, item in items))
    elif depth and isinstance(value, (list, tuple, deque)):
        held = (len(value), tuple(_print_of(item, depth - 1) for item in list(value)[:_MOST_ITEMS]))
    elif depth and isinstance(value, (set, frozenset)):
        held = len(value)
    elif depth and type(value).__dictoffset__ and not isinstance(value, (type, types.ModuleType, types.FunctionType)):
        held = _print_of(getattr(value, "__dict__", None), depth - 1)
    return id(value), held
