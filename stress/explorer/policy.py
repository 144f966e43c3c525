"""Which Python code runs with steps: all of it, but for what is taken as a whole (`wholes`), the structures of this
package, and what the user has said (`treat`: the nearest name counts, a class before its module). The testing code
itself makes no steps.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import weakref
from collections.abc import Callable
from enum import Enum
from functools import cache, partial
from pkgutil import resolve_name
from types import CodeType, FrameType, ModuleType
from typing import Any, Final, NamedTuple, TypeVar

from stress.explorer.wholes import whole_of

__all__ = [
    "FORGETS", "HERE", "INSTALLED", "PACKAGE", "STANDARD", "ByIdentity", "Refused", "Treatment", "WouldWait",
    "is_deaf", "is_ours", "is_used_whole", "module_of", "program_frame", "remember", "said_of", "said_of_code",
    "standard_module", "treat", "treatment_of", "treatment_of_file", "treatments",
]  # fmt: skip


class Treatment(Enum):
    """What becomes of code that runs, in the words of `treat`."""

    EXPLORED = "explore"
    OPAQUE = "one step"
    OURS = "leave out"


FORGETS: Final[list[Callable[[], object]]] = []
"""What forgets how code and types are treated, after something else was said."""


class _Said(NamedTuple):
    """The module and the class in it, if it is one, its file or folder, and what was said."""

    module: str
    within: str
    place: str
    way: Treatment


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
    ways = {each.value: each for each in Treatment}
    if way is None:
        _said.pop(name, None)
    elif way in ways:
        _said[name] = _found(name, ways[way])
    else:
        raise ValueError(f"how to treat {name}: one of {', '.join(map(repr, ways))}, not {way!r}")
    for forget in FORGETS:
        forget()


def _found(name: str, way: Treatment) -> _Said:
    try:
        found: Any = resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        found = None
    is_class = isinstance(found, type)
    module: Any = sys.modules.get(found.__module__) if is_class else found
    if not isinstance(module, ModuleType):
        raise ValueError(f"there is no module or class {name}")
    file = getattr(module, "__file__", None) or ""
    if way is Treatment.EXPLORED and not file.endswith(".py"):
        raise ValueError(f"{name} is not Python code, and cannot be explored")
    folders = [] if is_class else list(getattr(module, "__path__", ()))
    place = os.path.join(os.path.abspath(folders[0]), "") if folders else os.path.abspath(file) if file else ""
    return _Said(module.__name__, found.__qualname__ if is_class else "", place, way)


def said_of(module: str, within: str) -> Treatment | None:
    """What was said of a class or function of a module; None if nothing was."""
    return _nearest(within, lambda each: module == each.module or module.startswith(f"{each.module}."))


def said_of_code(code: CodeType) -> Treatment | None:
    """What was said of the code of a function."""
    if not _said:
        return None
    file = code.co_filename if code.co_filename.startswith("<") else os.path.abspath(code.co_filename)
    return _nearest(
        code.co_qualname,
        lambda each: (
            each.place != "" and (file == each.place or (each.place.endswith(os.sep) and file.startswith(each.place)))
        ),
    )


def _nearest(within: str, is_of: Callable[[_Said], bool]) -> Treatment | None:
    for_it = filter(is_of, _said.values())
    said = [each for each in for_it if each.within in ("", within) or within.startswith(f"{each.within}.")]
    return max(said, key=lambda each: (len(each.module), len(each.within))).way if said else None


def treatments() -> str:
    """What was said, for a verdict."""
    words = {Treatment.OPAQUE: "as one step", Treatment.EXPLORED: "explored", Treatment.OURS: "left out"}
    return "".join(f", with {name} {words[each.way]}" for name, each in sorted(_said.items()))


V = TypeVar("V")
ByIdentity = dict[int, tuple["weakref.ref[Any]", V]]
"""What was found of objects, by their identity, for as long as they live. Each exploration makes classes and code of
its own, and a table that kept them would grow for ever.

Look such a table, and any other that threads share, up by `[]` where much depends on the time: on a free-threaded
CPython 3.13, `dict.get` locks a dictionary twice if another thread has made what it finds, and so waits for itself.
"""


def remember(table: ByIdentity[V], of: Any, value: V) -> V:
    """Enter what was found of an object; the entry goes before another object can have its identity."""
    # The callback gets the reference as its last argument, which is what `pop` answers if another thread was first.
    table[id(of)] = weakref.ref(of, partial(table.pop, id(of))), value
    return value


class Refused(BaseException):
    """The object does something that cannot be explored."""


class WouldWait(BaseException):
    """A thread that is alone would wait for ever."""


STANDARD: Final = os.path.join(sysconfig.get_path("stdlib"), "")
INSTALLED: Final = tuple({os.path.join(sysconfig.get_path(each), "") for each in ("purelib", "platlib")})
_OURS: Final = (
    "stress", "ctrie", "subtrie", "snapshot", "pytest", "_pytest", "pluggy", "hypothesis", "pytest_timeout", "xdist",
    "execnet", "greenlet",
)  # fmt: skip


HERE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
"""Where the explorer's own code lies."""
PACKAGE: Final = os.path.join(os.path.dirname(os.path.dirname(HERE)), "")
"""This package, whatever its name is: another module may have its own."""
_TRIES: Final = ("ctrie", "subtrie", "snapshot")
"""Packages whose objects are used, and not explored: a call of theirs is a whole, compiled or not."""


def _places_of(names: tuple[str, ...]) -> tuple[str, ...]:
    """Where these packages lie. Of one that nobody has imported, no code runs."""
    folders = (folder for name in names for folder in getattr(sys.modules.get(name), "__path__", ()))
    return tuple(os.path.join(os.path.abspath(each), "") for each in folders)


@cache
def _of_file(file: str) -> Treatment:
    if file.startswith(_places_of(_TRIES)):
        return Treatment.OPAQUE
    if file.startswith((PACKAGE, *_places_of(_OURS))):
        return Treatment.OURS
    return Treatment.OPAQUE if whole_of(standard_module(file)) else Treatment.EXPLORED


@cache
def standard_module(file: str) -> str:
    """The name of the module of the standard library in a file; empty if there is none."""
    if file.startswith("<frozen "):
        return file[8:-1]
    if file.startswith(STANDARD) and not file.startswith(INSTALLED):
        return file[len(STANDARD) :].removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__")
    return ""


_MODULE: Final[Any] = vars(type)["__module__"]


def module_of(of: type) -> str:
    """The name of the module of a class; empty if the class has something else in its place."""
    found = _MODULE.__get__(of)
    return found if type(found) is str else ""


def is_used_whole(module: str | None) -> bool:
    """Whether a module belongs to the packages of tries."""
    return (module or "").partition(".")[0] in _TRIES


def is_ours(module: str | None) -> bool:
    """Whether a module belongs to the testing code."""
    return str(module or "").partition(".")[0] in _OURS


def program_frame() -> FrameType:
    """The frame of the program that runs: the innermost one of code that is not the explorer's."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
    return frame


_CALLERS: Final = {
    os.path.join(HERE, "synchronization.py"): None,
    os.path.join(HERE, "machine.py"): frozenset({"_body"}),
    os.path.join(HERE, "experiment.py"): frozenset({"_call", "_broken"}),
}
"""Where the explorer calls the object. What else it calls is no part of it, such as a specification."""


def is_deaf(caller: FrameType | None) -> bool:
    """Whether a caller belongs to the testing code, and calls something that is no part of the object."""
    if caller is None or _of_file(caller.f_code.co_filename) is not Treatment.OURS:
        return False
    calls = _CALLERS.get(caller.f_code.co_filename, frozenset())
    return calls is not None and caller.f_code.co_name not in calls


def treatment_of_file(file: str) -> Treatment:
    """What becomes of the code in a file when it runs."""
    return _of_file(os.path.abspath(file))


_OF_DATACLASSES: Final = frozenset({"replace", "asdict", "astuple", "_asdict_inner", "_astuple_inner", "_replace"})
"""Functions of `dataclasses` that work on objects. The others make classes."""


def treatment_of(code: CodeType) -> Treatment:
    """What becomes of this code when it runs."""
    try:
        return _known[id(code)][1]
    except KeyError:
        return remember(_known, code, _treatment_of(code))


_known: Final[ByIdentity[Treatment]] = {}
FORGETS.append(_known.clear)


def _treatment_of(code: CodeType) -> Treatment:
    said = said_of_code(code)
    if said is not None:
        return said
    file = code.co_filename
    if file.endswith("dataclasses.py") and code.co_name not in _OF_DATACLASSES and file.startswith(STANDARD):
        return Treatment.OPAQUE
    return _of_file(sys.intern(file)) if file.startswith("<") else treatment_of_file(file)
