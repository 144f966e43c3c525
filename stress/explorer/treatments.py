"""What the user says of a module or a class: `treat`. The nearest name counts, a class before its module."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pkgutil import resolve_name
from types import CodeType, ModuleType
from typing import Any, Final, NamedTuple

__all__ = ["EXPLORE", "FORGETS", "LEAVE_OUT", "ONE_STEP", "said_of", "said_of_code", "treat", "treatments"]

ONE_STEP: Final = "one step"
EXPLORE: Final = "explore"
LEAVE_OUT: Final = "leave out"
_WAYS: Final = (ONE_STEP, EXPLORE, LEAVE_OUT)
FORGETS: Final[list[Callable[[], object]]] = []
"""What forgets how code and types are treated, after something else was said."""


class _Said(NamedTuple):
    """The module and the class in it, if it is one, its file or folder, and what was said."""

    module: str
    within: str
    place: str
    way: str


_said: Final[dict[str, _Said]] = {}


def treat(name: str, way: str | None) -> None:
    """Say how `stress.explore` is to take a module or a class from now on. The verdict repeats it, and is no proof but
    under this condition.

    Args:
        name: a module, a package with all in it, or a class, as `module.Class`.
        way: `"one step"`: a call of it is one step, which may change what it is given, and what it keeps. `"explore"`:
            its code has steps like the object's, also if it is of the standard library. `"leave out"`: it makes no
            steps, and no other thread sees what it changes. None: as if nothing had been said.

    Raises:
        ValueError: there is no such module or class, or no such way, or code that is not Python is to be explored.

    >>> import stress
    >>> stress.treat("json", "one step")
    >>> stress.treat("json", None)
    """
    if way is not None and way not in _WAYS:
        raise ValueError(f"how to treat {name}: one of {', '.join(map(repr, _WAYS))}, not {way!r}")
    if way is None:
        _said.pop(name, None)
    else:
        _said[name] = _found(name, way)
    for forget in FORGETS:
        forget()


def _found(name: str, way: str) -> _Said:
    try:
        found: Any = resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        found = None
    is_class = isinstance(found, type)
    module: Any = sys.modules.get(found.__module__) if is_class else found
    if not isinstance(module, ModuleType):
        raise ValueError(f"there is no module or class {name}")
    file = getattr(module, "__file__", None) or ""
    if way == EXPLORE and not file.endswith(".py"):
        raise ValueError(f"{name} is not Python code, and cannot be explored")
    folders = [] if is_class else list(getattr(module, "__path__", ()))
    place = os.path.join(os.path.abspath(folders[0]), "") if folders else os.path.abspath(file) if file else ""
    return _Said(module.__name__, found.__qualname__ if is_class else "", place, way)


def said_of(module: str, within: str) -> str:
    """What was said of a class or function of a module; empty if nothing was."""
    return _nearest(
        each
        for each in _said.values()
        if (module == each.module or module.startswith(f"{each.module}.")) and _is_in(each, within)
    )


def said_of_code(code: CodeType) -> str:
    """What was said of the code of a function."""
    if not _said:
        return ""
    file = code.co_filename if code.co_filename.startswith("<") else os.path.abspath(code.co_filename)
    return _nearest(
        each
        for each in _said.values()
        if each.place
        and (file == each.place or (each.place.endswith(os.sep) and file.startswith(each.place)))
        and _is_in(each, code.co_qualname)
    )


def _is_in(said: _Said, within: str) -> bool:
    return not said.within or within == said.within or within.startswith(f"{said.within}.")


def _nearest(found: Any) -> str:
    return max(((len(each.module), len(each.within), each.way) for each in found), default=(0, 0, ""))[2]


def treatments() -> str:
    """What was said, for a verdict."""
    words = {ONE_STEP: "as one step", EXPLORE: "explored", LEAVE_OUT: "left out"}
    return "".join(f", with {name} {words[each.way]}" for name, each in sorted(_said.items()))
