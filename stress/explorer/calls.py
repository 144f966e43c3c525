"""What a call of something written in C does to the objects that it is given: which it reads, and which it may change.

Only functions that are known to read are taken to read. Any other may change what it is given.
"""

from __future__ import annotations

import _thread
import bisect
import builtins
import collections
import csv
import functools
import gc
import heapq
import io
import locale
import marshal
import math
import operator
import os
import pickle
import struct
import sys
import time
import types
import weakref
from typing import Any, Final

from stress.explorer.policy import Treatment, module_of, treatment_of
from stress.explorer.treatments import LEAVE_OUT, said_of
from stress.explorer.wholes import whole_of

__all__ = [
    "CHANGING",
    "Effect",
    "effect_if_called_back",
    "effect_of",
    "effect_of_opaque",
    "has_python",
    "is_outside",
    "is_state",
    "unwrapped",
]

CHANGING: Final = frozenset({
    "append", "appendleft", "extend", "extendleft", "insert", "pop", "popleft", "popitem", "remove", "discard", "add",
    "clear", "update", "setdefault", "sort", "reverse", "rotate", "move_to_end", "difference_update",
    "intersection_update", "symmetric_difference_update", "subtract", "__setitem__", "__delitem__", "__init__",
    "__ior__", "__iand__", "__isub__", "__ixor__", "__iadd__", "__imul__", "__setstate__",
})  # fmt: skip
"""Methods that change a list, dictionary, set or deque. All others read it."""
_OF_ATTRIBUTES: Final = {"__setattr__": "set", "__delattr__": "set", "__getattribute__": "get"}
_NOTHING: Final = frozenset({
    "__new__", "__init_subclass__", "__subclasshook__", "__class_getitem__", "__instancecheck__", "__subclasscheck__",
    "mro", "__subclasses__", "__enter__", "__exit__",
})  # fmt: skip
Effect = str
"""What a call does: "none", "read" (its arguments), "shallow" (the same, but not what items hold), "change" (perhaps
any argument), "outside" (the same, and what it keeps or finds elsewhere: in its module, the process, files), "set" or
"get" (an attribute of its first argument), "first" (changes its first argument), "next" (takes the next item of its
first argument), "names" (reads attributes of its first argument, or answers all of them), "whole" (all attributes of
what it is given, and what these hold), "class" (reads which class its first argument is of).
"""

_READING_MODULES: Final = frozenset({"builtins", "math", "time", "_operator", "_functools", "_statistics", "_json",
    "itertools", "_struct", "binascii", "zlib", "_hashlib", "unicodedata", "_string", "_bisect", "_stat", "cmath",
    "marshal", "_pickle", "_codecs", "errno", "_warnings", "_abc", "_weakref", "_contextvars", "_datetime", "_decimal",
    "_sre", "_typing", "_opcode", "_random", "_heapq", "_collections", "_imp", "_uuid", "_symtable", "_asyncio",
    "greenlet._greenlet"})  # fmt: skip
"""Modules in C whose functions keep nothing that changes, or nothing that an answer depends on."""
_OUTSIDE: Final = frozenset({
    "_io", "posix", "nt", "_socket", "mmap", "select", "fcntl", "_posixshmem", "_winapi", "_sqlite3", "sqlite3",
    "termios", "_dbm", "_gdbm",
})  # fmt: skip
"""Modules in C whose objects stand for something outside the process."""
_by_function: Final[dict[int, Effect]] = {}
"""By identity: a class may have a hash of its own."""


def _know(effect: Effect, *functions: Any) -> None:
    for each in functions:
        _by_function[id(each)] = effect


_know("class", type, isinstance)
_know("none", issubclass, id, callable, object, super, chr, globals, locals, breakpoint,
      time.time, time.monotonic, time.perf_counter, staticmethod, classmethod, property,
      sys._getframe, input, range, slice, weakref.ref, object.__new__, _thread.get_ident, BaseException,
      os.fspath, os.getpid, os.getppid, os.urandom, os.cpu_count, os.strerror, os.get_terminal_size, sys.exc_info,
      sys.intern, sys.is_finalizing, sys.getdefaultencoding, sys.getfilesystemencoding, sys.audit, gc.is_tracked,
      _thread.get_native_id, io.text_encoding, locale.localeconv)  # fmt: skip
_know("read", sys.getsizeof, sys.getrefcount, gc.get_referents, gc.get_referrers, csv.reader, csv.writer)
_know("outside", open)
_know("none", *(each for name, each in vars(os).items() if name.startswith(("W", "major", "minor")) and callable(each)))
_know("shallow", len, list, tuple, set, frozenset, iter, reversed, enumerate, zip, map, filter, bool, int, float,
      complex, ord)  # fmt: skip
_know("set", setattr, delattr)
_know("get", getattr, hasattr)
_know("next", next)
_know("names", dir, vars)
_know("first", operator.setitem, operator.delitem, getattr(collections, "_count_elements"))  # noqa: B009
_know("change", struct.pack_into, pickle.dump, marshal.dump, print)
_know("whole", pickle.dumps)
for _name in dir(operator):
    if _name.startswith("i") and _name not in ("is_", "is_not", "index", "indexOf", "invert", "itemgetter", "inv"):
        _know("first", getattr(operator, _name))
for _module, _first_letters in ((heapq, "heap"), (heapq, "_heap"), (bisect, "insort")):
    _know("first", *(getattr(_module, each) for each in dir(_module) if each.startswith(_first_letters)))
for _each in (vars(builtins) | vars(math)).values():
    if isinstance(_each, (types.BuiltinFunctionType, type)) and id(_each) not in _by_function:
        _by_function[id(_each)] = "read"


def effect_of(function: Any) -> Effect:
    """What a call of a function or a class does to its arguments."""
    try:
        return _by_function[id(function)]
    except KeyError:
        pass
    if issubclass(type(function), type):
        if any(map(is_outside, function.__mro__)):
            return "outside"
        return "change" if _is_unknown(function) else "shallow"
    kind = type(function)
    if kind in (operator.itemgetter,):
        return "read"
    if kind in (operator.attrgetter, operator.methodcaller):
        return "whole" if kind is operator.attrgetter else "change"
    if kind is weakref.ref or kind is types.GenericAlias:
        return "none"
    module = getattr(function, "__module__", None) or ""
    if said_of(module, getattr(function, "__qualname__", "")) == LEAVE_OUT:
        return "none"
    return "read" if module in _READING_MODULES else "outside"


def effect_of_opaque(function: types.FunctionType) -> Effect:
    """What a call of Python code without steps does to its arguments, and to what is outside them."""
    return whole_of(f"{function.__module__}.{function.__name__}") or "outside"


def is_outside(of: type) -> bool:
    """Whether the objects of a type in C stand for something outside the process: two may stand for the same."""
    return module_of(of) in _OUTSIDE and of not in (io.StringIO, io.BytesIO)


def _is_unknown(of: type) -> bool:
    from stress.explorer.kinds import Kind, kind_of

    return kind_of(of) is Kind.FOREIGN


def method_effect(name: str) -> Effect:
    """What a method of `object` or `type` does to the object: an attribute is set or got, or nothing happens."""
    if name in _OF_ATTRIBUTES:
        return _OF_ATTRIBUTES[name]
    return "none" if name in _NOTHING else "read"


def effect_if_called_back(function: Any) -> Effect:
    """What a function in C, which another one may call, does to what it is given: "change" (or takes items of it),
    "whole" (reads its attributes), or no more than read it, which is empty.
    """
    function, _ = unwrapped(function, ())
    kind = type(function)
    if kind not in _OF_C:
        return ""
    if kind in (operator.methodcaller, operator.attrgetter):
        return "change" if kind is operator.methodcaller else "whole"
    if kind in _DESCRIBED and _changes_its_object(function.__objclass__, function.__name__):
        return "change"
    if kind is types.BuiltinFunctionType and issubclass(type(function.__self__), types.ModuleType):
        return _CALLED_BACK.get(effect_of(function), "")
    return "whole" if function.__name__ in READS_ATTRIBUTES else ""


READS_ATTRIBUTES: Final = frozenset({"__getattribute__", "__reduce__", "__reduce_ex__", "format", "format_map"})
"""Methods in C that read attributes of an object, or of what they are given."""


def _changes_its_object(of: type, name: str) -> bool:
    from stress.explorer.kinds import Kind, kind_of

    kind = kind_of(of)
    if kind is Kind.CONTAINER:
        return name in CHANGING
    return kind in (Kind.FOREIGN, Kind.ITERATOR, Kind.GENERATOR, Kind.CACHE) or method_effect(name) == "set"


_DESCRIBED: Final = (types.MethodDescriptorType, types.WrapperDescriptorType)
_OF_C: Final = frozenset({
    *_DESCRIBED, types.BuiltinFunctionType, types.MethodWrapperType, operator.methodcaller, operator.attrgetter,
})  # fmt: skip
_CALLED_BACK: Final = {
    **dict.fromkeys(("set", "first", "next", "change", "outside"), "change"),
    **dict.fromkeys(("get", "names", "whole"), "whole"),
}


def unwrapped(callee: Any, given: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The function behind a `partial`, and all that it is given."""
    while type(callee) is functools.partial:
        given = (*callee.args, *callee.keywords.values(), *given)
        callee = callee.func
    return callee, given


def has_python(owner: Any, name: str) -> bool:
    """Whether a method of an object is Python code with steps of its own."""
    found = getattr(type(owner), name, None)
    return type(found) is types.FunctionType and treatment_of(found.__code__) is not Treatment.OPAQUE


def is_state(owner: Any, name: str) -> bool:
    """Whether an attribute of an object of C is a value, and not a method."""
    found = getattr(type(owner), name, None)
    return found is None or not callable(found)


OF_EXCEPTIONS: Final = {"add_note": "__notes__", "with_traceback": "__traceback__", "__setstate__": ""}
"""Methods of exceptions that change an attribute."""
DESCRIPTORS: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)
ACCESSES: Final = {"__get__": "get", "__set__": "set", "__delete__": "set"}
COMPARING: Final = frozenset({
    "index", "count", "remove", "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "sort",
})  # fmt: skip
"""Methods of containers that look into items."""
OF_EVERY_OBJECT: Final = frozenset({
    "__setattr__", "__delattr__", "__getattribute__", "__new__", "__init_subclass__", "__class__", "__dir__",
})  # fmt: skip
