"""Which Python code runs with steps: the object's own, that of installed packages, and those modules of the standard
library that work on their callers' objects. The rest of the standard library is taken as a whole, as if it were written
in C, and state of its own is not explored. But a module of it is opened, and explored like the object, once it is given
something that threads share (`open_modules`). The testing code itself makes no steps.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable
from enum import Enum
from functools import cache
from importlib.util import find_spec
from types import CodeType, FrameType
from typing import Any, Final

from stress.explorer.remembered import ByIdentity, remember
from stress.explorer.treatments import EXPLORE, FORGETS, LEAVE_OUT, ONE_STEP, said_of, said_of_code

__all__ = [
    "ALWAYS_EXPLORED",
    "OWN_THREAD",
    "Refused",
    "Treatment",
    "WouldWait",
    "is_deaf",
    "is_ours",
    "is_used_whole",
    "module_of",
    "open_modules",
    "openable",
    "standard_module",
    "treatment_of",
    "treatment_of_file",
]


class Treatment(Enum):
    """What becomes of code that runs."""

    EXPLORED = "it gets steps"
    OPAQUE = "it is taken as a whole"
    OURS = "it makes its own steps, or none"


class Refused(BaseException):
    """The object does something that cannot be explored."""


class WouldWait(BaseException):
    """A thread that is alone would wait for ever."""


OWN_THREAD: Final = "the object starts a thread of its own, which the explorer cannot schedule"
_STANDARD: Final = os.path.join(sysconfig.get_path("stdlib"), "")
_INSTALLED: Final = tuple({os.path.join(sysconfig.get_path(each), "") for each in ("purelib", "platlib")})
ALWAYS_EXPLORED: Final = frozenset({
    "_collections_abc", "_threading_local", "_weakrefset", "bisect", "collections", "collections.abc",
    "concurrent.futures._base", "contextlib", "copy", "copyreg", "dataclasses", "functools", "graphlib", "heapq",
    "operator", "queue", "reprlib", "sched", "shelve", "types", "weakref",
})  # fmt: skip
"""Modules of the standard library that get steps always."""
_CLOSED: Final = frozenset({
    "__future__", "_py_abc", "_pydatetime", "_pydecimal", "_strptime", "abc", "asyncio", "base64", "bdb", "cProfile",
    "colorsys", "concurrent", "ctypes", "dataclasses", "datetime", "decimal", "dis", "encodings", "enum", "fractions",
    "genericpath", "hashlib", "hmac", "importlib", "inspect", "io", "ipaddress", "json", "keyword", "linecache",
    "locale", "multiprocessing", "ntpath", "numbers", "opcode", "os", "pathlib", "pdb", "pickle", "pkgutil",
    "posixpath", "profile", "re", "runpy", "secrets", "selectors", "signal", "site", "socket", "socketserver",
    "sqlite3", "sre_compile", "sre_parse", "ssl", "stat", "struct", "subprocess", "sysconfig", "textwrap", "threading",
    "token", "tokenize", "traceback", "tracemalloc", "typing", "unittest", "urllib", "uuid", "warnings", "zipimport",
    "zoneinfo",
})  # fmt: skip
"""Modules and packages of the standard library that never get steps: their objects do not change, or are the system's,
or the interpreter itself calls them.
"""
_BUT: Final = frozenset({"unittest.mock"})
_OURS: Final = (
    "stress", "ctrie", "subtrie", "snapshot", "pytest", "_pytest", "pluggy", "hypothesis", "pytest_timeout", "xdist",
    "execnet", "greenlet",
)  # fmt: skip


_PACKAGE: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
"""This one, whatever its name is: another module may have its own."""
_TRIES: Final = ("ctrie", "subtrie", "snapshot")
"""Packages whose objects are used, and not explored: a call of theirs is a whole, compiled or not."""


@cache
def _places_of(names: tuple[str, ...]) -> tuple[str, ...]:
    found = []
    for name in names:
        try:
            spec = find_spec(name)
        except (ImportError, ValueError):
            continue
        for place in (spec.submodule_search_locations or ()) if spec else ():
            found.append(os.path.join(os.path.abspath(place), ""))
    return tuple(found)


@cache
def _of_file(file: str) -> Treatment:
    if file.startswith(_places_of(_TRIES)):
        return Treatment.OPAQUE
    if file.startswith((_PACKAGE, *_places_of(_OURS))):
        return Treatment.OURS
    name = standard_module(file)
    return Treatment.OPAQUE if name and name not in ALWAYS_EXPLORED and name not in _open else Treatment.EXPLORED


@cache
def standard_module(file: str) -> str:
    """The name of the module of the standard library in a file; empty if there is none."""
    if file.startswith("<frozen "):
        return file[8:-1]
    if file.startswith(_STANDARD) and not file.startswith(_INSTALLED):
        return file[len(_STANDARD) :].removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__")
    return ""


_open: Final[set[str]] = set()


@cache
def openable(file: str) -> str:
    """The name of the module in a file, if it is one that is taken as a whole and can be opened; else nothing."""
    name = standard_module(file)
    parts = name.split(".")
    packages = {".".join(parts[: at + 1]) for at in range(len(parts))}
    is_closed = (
        bool(said_of(name, ""))
        or name in _open
        or name in ALWAYS_EXPLORED
        or (name not in _BUT and not _CLOSED.isdisjoint(packages))
    )
    return "" if is_closed else name


def open_modules(names: Iterable[str]) -> bool:
    """Explore these modules of the standard library, too, and no others than these; answers whether they are others
    than before.
    """
    if _open == set(names):
        return False
    _open.clear()
    _open.update(names)
    _forget()
    return True


def _forget() -> None:
    for known in (_of_file.cache_clear, openable.cache_clear, _known.clear):
        known()


FORGETS.append(_forget)


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


_HERE: Final = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_CALLERS: Final = {
    os.path.join(_HERE, "synchronization.py"): None,
    os.path.join(_HERE, "machine.py"): frozenset({"_body"}),
    os.path.join(_HERE, "object_experiment.py"): frozenset({"_made", "_call", "_broken"}),
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


_SAID: Final = {EXPLORE: Treatment.EXPLORED, ONE_STEP: Treatment.OPAQUE, LEAVE_OUT: Treatment.OURS}


def _treatment_of(code: CodeType) -> Treatment:
    said = said_of_code(code)
    if said:
        return _SAID[said]
    file = code.co_filename
    if file.endswith("dataclasses.py") and code.co_name not in _OF_DATACLASSES and file.startswith(_STANDARD):
        return Treatment.OPAQUE
    if not file.startswith("<"):
        file = os.path.abspath(file) if not os.path.isabs(file) else file
    return _of_file(sys.intern(file))
