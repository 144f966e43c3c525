"""What is taken as a whole although it is Python: the modules that the interpreter or the explorer itself calls, those
whose objects never change, and those that stand for the system. All other code gets steps.
"""

from __future__ import annotations

import _thread
import os
import time
from collections.abc import Callable
from typing import Any, Final

__all__ = ["CHANGES", "CLOCKS", "OUTSIDE", "OWN_THREAD", "REFUSED", "WHOLES", "refusal_of", "whole_of"]

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
    **dict.fromkeys((*CLOCKS, time.sleep), "the object has the clock by a name that the explorer does not know"),
}
"""Functions in C that cannot be explored, and why. The last ones have others in their places."""
