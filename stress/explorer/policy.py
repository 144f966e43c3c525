"""Which Python code runs with steps: all of it, but for what is taken as a whole (`WHOLES`), the structures of this
package, and what the user has said (`treat`: the nearest name counts, a class before its module). The testing code
itself makes no steps.

What is taken as a whole although it is Python: the modules that the interpreter or the explorer itself calls, those
whose objects never change, and those that stand for the system. All other code gets steps.
"""

from __future__ import annotations

import _thread
import os
import sys
import sysconfig
import threading
import time
import weakref
from collections.abc import Callable
from enum import Enum
from functools import cache, partial
from pkgutil import resolve_name
from types import CodeType, FrameType, ModuleType
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

__all__ = [
    "CHANGES", "CLOCKS", "FORGETS", "HERE", "INSTALLED", "OUTSIDE", "OWN_THREAD", "PACKAGE", "REFUSED", "STANDARD",
    "WHOLES", "ByIdentity", "Refused", "Treatment", "WouldWait", "is_deaf", "is_ours", "is_used_whole", "module_of",
    "program_frame", "program_place", "refusal_of", "remember", "said_of", "said_of_code", "standard_module", "treat",
    "treatment_of", "treatment_of_file", "treatments", "whole_of",
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
    """The object does something that cannot be explored. What was `told` last is kept: the object may catch it. One
    exploration runs at a time, and its threads take turns, so no two write it at once.
    """

    told: ClassVar[str] = ""

    def __init__(self, told: str) -> None:
        super().__init__(told)
        Refused.told = told


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


def program_place() -> str:
    """The line of the program that runs."""
    frame = program_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_qualname}"


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
    return _of_file(sys.intern(file)) if file.startswith("<") else treatment_of_file(file)


# ------------------------------------------------------------------------------------------- what is taken as a whole


CHANGES: Final = "change"
"""A call changes what it is given at most, or what no answer depends on."""
OUTSIDE: Final = "outside"
"""The same, and something outside the object's memory."""

WHOLES: Final[dict[str, tuple[str, str]]] = {
    "_py_abc": (CHANGES, "the interpreter calls it where a class is asked for its instances"),
    "_pydatetime": (CHANGES, "dates never change"),
    "_pydecimal": (CHANGES, "numbers never change"),
    "_strptime": (CHANGES, "keeps what it has read of the locale"),
    "abc": (CHANGES, "the interpreter calls it where a class is asked for its instances"),
    "ast": (CHANGES, "makes trees of texts"),
    "asyncio": (CHANGES, "an event loop is refused, and the rest only makes one ready"),
    "bdb": (OUTSIDE, "the interpreter calls it while a debugger is on"),
    "codecs": (CHANGES, "the interpreter calls it where a text is encoded"),
    "codecs.open": (OUTSIDE, "opens a file"),
    "concurrent.futures.process": (OUTSIDE, "other processes are refused"),
    "concurrent.futures.thread": (OUTSIDE, "other threads are refused"),
    "ctypes": (OUTSIDE, "what it calls is not Python"),
    "datetime": (CHANGES, "dates never change"),
    "decimal": (CHANGES, "numbers never change"),
    "dis": (CHANGES, "the explorer calls it"),
    "encodings": (CHANGES, "the interpreter calls it where a text is encoded"),
    "enum": (CHANGES, "members never change, and the interpreter calls it where a class is made"),
    "genericpath": (OUTSIDE, "asks for files, and the explorer calls it"),
    "importlib": (CHANGES, "the interpreter calls it where a module is imported"),
    "inspect": (CHANGES, "looks at code"),
    "io": (CHANGES, "its classes are written in C"),
    "linecache": (OUTSIDE, "the interpreter calls it where a traceback is told, and it reads files"),
    "locale": (OUTSIDE, "the settings of the process"),
    "multiprocessing": (OUTSIDE, "other processes are refused"),
    "ntpath": (OUTSIDE, "the explorer calls it, and some of it asks the system"),
    "numbers": (CHANGES, "its classes have no objects"),
    "opcode": (CHANGES, "the explorer calls it"),
    "os": (OUTSIDE, "the system"),
    "pdb": (OUTSIDE, "the interpreter calls it while a debugger is on"),
    "posixpath": (CHANGES, "the explorer calls it"),
    "posixpath.expanduser": (OUTSIDE, "asks the system"),
    "posixpath.expandvars": (OUTSIDE, "asks the system"),
    "posixpath.ismount": (OUTSIDE, "asks the system"),
    "posixpath.lexists": (OUTSIDE, "asks the system"),
    "posixpath.realpath": (OUTSIDE, "asks the system"),
    "re": (CHANGES, "patterns never change, and it keeps those that it has read"),
    "selectors": (OUTSIDE, "the system"),
    "signal": (OUTSIDE, "the process"),
    "socket": (OUTSIDE, "the system"),
    "sqlite3": (OUTSIDE, "files"),
    "ssl": (OUTSIDE, "the system"),
    "subprocess": (OUTSIDE, "other programs are refused"),
    "sysconfig": (OUTSIDE, "looks at the installation"),
    "threading": (CHANGES, "its names stand for explored ones, and to start a thread is refused"),
    "tokenize": (OUTSIDE, "the interpreter calls it where a source is read, and it reads files"),
    "traceback": (CHANGES, "the interpreter calls it where an exception is told"),
    "uuid": (CHANGES, "asks the system for what nobody else has"),
    "warnings": (CHANGES, "the interpreter calls it"),
    "zipimport": (OUTSIDE, "the interpreter calls it where a module is imported"),
    "zoneinfo": (CHANGES, "zones never change, and it keeps those that it has read"),
}
"""Modules, packages and functions of the standard library: what a call does, and why its code gets no steps."""


def whole_of(name: str) -> str:
    """What a call of a module of the standard library, or of a function in one, does that is taken as a whole; empty
    for all others.
    """
    while name:
        if name in WHOLES:
            return WHOLES[name][0]
        name = name.rpartition(".")[0]
    return ""


def refusal_of(module: str, name: str) -> str:
    """Why a function cannot be explored: its library has threads or processes of its own. Empty if it can."""
    if name in _LOOKING or (module == "threading" and name not in _STARTING):
        return ""
    packages = (each for each in _REFUSED if module == each or module.startswith(f"{each}."))
    return next((_REFUSED[each] for each in packages), "")


_STARTING: Final = frozenset({"start", "_start"})
_LOOKING: Final = frozenset({"current_process", "parent_process", "current_task", "iscoroutine", "iscoroutinefunction"})
"""Functions that only tell where the caller is, and what it has."""
OWN_THREAD: Final = "the object starts a thread of its own, which the explorer cannot schedule"
_OTHERS: Final = "the object uses other processes, which cannot be explored"
_REFUSED: Final[dict[str, str]] = {
    "threading": OWN_THREAD,
    "concurrent.futures.thread": OWN_THREAD,
    "concurrent.futures.process": _OTHERS,
    "asyncio": "an event loop of asyncio runs in the object, which cannot be explored",
    "multiprocessing": _OTHERS,
    "subprocess": "the object starts another program, which cannot be explored",
}
CLOCKS: Final[tuple[Callable[[], float], ...]] = (
    time.time, time.monotonic, time.perf_counter, time.time_ns, time.monotonic_ns, time.perf_counter_ns,
)  # fmt: skip
REFUSED: Final[dict[Any, str]] = {
    **dict.fromkeys((_thread.start_new_thread, _thread.start_new), OWN_THREAD),
    **dict.fromkeys((getattr(os, "fork", None), getattr(os, "forkpty", None)), _OTHERS),
    **dict.fromkeys(
        (
            *CLOCKS, time.sleep, threading.get_ident, threading.get_native_id, threading.current_thread,
            threading.main_thread, threading.enumerate, threading.active_count,
        ),
        "the object has a function of `time` or `threading` by a name that the explorer does not know",
    ),
}  # fmt: skip
"""Functions that cannot be explored, and why. The last ones have others in their places."""
