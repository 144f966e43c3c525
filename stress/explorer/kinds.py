"""Kinds of objects: what their attributes, items and methods are to an exploration, and what calls of C do to them.

A type written in Python is known by its code, which runs with steps. Of the types written in C these are known: those
that never change, the containers, and what reads containers item by item. All others are `FOREIGN`: whatever is done
with such an object may change it. Only functions that are known to read are taken to read. Any other may change what it
is given.
"""

from __future__ import annotations

import _thread
import bisect
import collections
import contextvars
import csv
import datetime
import decimal
import enum
import fractions
import functools
import gc
import heapq
import io
import locale
import marshal
import operator
import os
import pickle
import re
import struct
import sys
import threading
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any, Final

from stress.explorer.containers import CONTAINERS, base_of, items_of
from stress.explorer.policy import (
    CHANGES,
    FORGETS,
    ByIdentity,
    Treatment,
    module_of,
    remember,
    said_of,
    treatment_of,
    treatment_of_file,
    whole_of,
)

__all__ = [
    "ACCESSES",
    "ATOMS",
    "CHANGING",
    "COMPARING",
    "DESCRIPTORS",
    "LOCKS",
    "OF_EVERY_OBJECT",
    "OF_EXCEPTIONS",
    "PLAIN",
    "QUIET",
    "READS_ATTRIBUTES",
    "Kind",
    "attempt",
    "effect_of",
    "has_python",
    "is_of_c",
    "is_state",
    "kind_of",
    "may_be_called_back",
    "method_effect",
    "unwrapped",
]

LOCKS: Final = (type(threading.Lock()), type(threading.RLock()))


class Kind(enum.Enum):
    """What an object is to an exploration."""

    QUIET = "never changes, or makes its own steps"
    PLAIN = "has attributes, and code in Python"
    CONTAINER = "a list, dictionary, set or deque"
    VIEW = "shows the items of a container"
    ITERATOR = "gives the items of a container one after another"
    GENERATOR = "a generator or coroutine"
    LOCK = "a lock or the like of `threading`, or derived from one, that was not made by an explored name"
    LOCAL = "has values of each thread"
    MODULE = "a module"
    TYPE = "a class"
    SUPER = "an object, seen as one of a base class"
    CACHE = "keeps the answers of a function"
    FOREIGN = "written in C, and may change at every use"


ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, type, types.FunctionType})
"""Types whose objects hold nothing that changes; but a function may."""
PLAIN: Final = Kind.PLAIN
QUIET: Final = Kind.QUIET
"""The kinds that nearly every step asks for: Python 3.11 takes ten times as long to find a member of an enumeration."""


_VIEWS: Final[tuple[type, ...]] = (
    type({}.keys()), type({}.values()), type({}.items()), types.MappingProxyType,
    type(collections.OrderedDict().keys()), type(collections.OrderedDict().values()),
    type(collections.OrderedDict().items()),
)  # fmt: skip
_GENERATORS: Final = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)
_QUIET: Final[tuple[type, ...]] = (
    type(None), bool, int, float, complex, str, bytes, tuple, frozenset, range, slice, type(...), type(NotImplemented),
    types.BuiltinFunctionType, types.MethodType, types.CodeType, types.FrameType,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType, types.ClassMethodDescriptorType,
    types.GetSetDescriptorType, types.MemberDescriptorType, types.GenericAlias, types.UnionType, types.TracebackType,
    property, staticmethod, classmethod, re.Pattern, re.Match, datetime.date, datetime.time,
    datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, weakref.ref,
    operator.itemgetter, operator.attrgetter, operator.methodcaller,
    contextvars.ContextVar, contextvars.Token, typing.TypeVar,
)  # fmt: skip
_CACHE: Final = type(functools.lru_cache(lambda: None))
_OF_ITERATORS: Final = frozenset({"builtins", "itertools", "collections", "_collections", "_functools", "functools"})
_PACKAGE: Final = __name__.partition("explorer.")[0]
"""The name of this package, which has another one where somebody else's has its own."""
_HOLDING_LOCKS: Final = tuple(
    each
    for each in vars(threading).values()
    if isinstance(each, type) and each.__module__ == "threading" and not issubclass(each, (threading.Thread, Exception))
)
"""The primitives of `threading` that are written in Python: the locks in them are real ones."""
_LOCAL: Final = _thread._local
_kinds: Final[ByIdentity[Kind]] = {}


def kind_of(of: type) -> Kind:
    """The kind of the objects of a type."""
    try:
        return _kinds[id(of)][1]
    except KeyError:
        return remember(_kinds, of, _found(of))


FORGETS.append(_kinds.clear)


def _found(of: type) -> Kind:
    for base, kind in _BY_BASE:
        if issubclass(of, base):
            return kind
    module = module_of(of)
    said = said_of(module, of.__qualname__)
    if said is Treatment.OURS:
        return Kind.QUIET
    if said is Treatment.OPAQUE and not is_of_c(of):
        return Kind.FOREIGN
    if module.startswith(_PACKAGE):
        return Kind.FOREIGN if is_of_c(of) else Kind.QUIET
    if of is types.CellType or of is contextvars.Context or any(map(_is_taken_as_a_whole, of.__mro__)):
        return Kind.FOREIGN
    base = next(each for each in of.__mro__ if is_of_c(each))
    if base is object or issubclass(
        base, (types.SimpleNamespace, types.FunctionType, functools.partial, BaseException)
    ):
        return Kind.PLAIN
    if base in _QUIET or issubclass(base, _QUIET):
        return Kind.QUIET if of is base else Kind.PLAIN
    if hasattr(base, "__next__") and module_of(base) in _OF_ITERATORS:
        return Kind.ITERATOR
    if base.__flags__ & _IS_IMMUTABLE and not _methods(base) and module_of(base) != "_ctypes":
        return Kind.QUIET
    return Kind.FOREIGN


def _is_taken_as_a_whole(of: type) -> bool:
    """Whether a class is Python code that gets no steps, and may use what is outside: it is like one written in C."""
    module = module_of(of)
    if is_of_c(of) or whole_of(module) == CHANGES or said_of(module, of.__qualname__) is Treatment.EXPLORED:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and treatment_of_file(file) is Treatment.OPAQUE


_IS_IMMUTABLE: Final = 1 << 8
_BY_BASE: Final[tuple[tuple[Any, Kind], ...]] = (
    (type, Kind.TYPE), (types.ModuleType, Kind.MODULE), (LOCKS, Kind.LOCK), (_HOLDING_LOCKS, Kind.LOCK),
    (_LOCAL, Kind.LOCAL), (super, Kind.SUPER),
    (CONTAINERS, Kind.CONTAINER), (_GENERATORS, Kind.GENERATOR), (_VIEWS, Kind.VIEW), (_CACHE, Kind.CACHE),
)  # fmt: skip


def _methods(of: type) -> list[str]:
    """The methods of a type by which its objects may change or give items."""
    special = ("__setitem__", "__next__", "__call__", "__iadd__")
    return [
        name for name, value in vars(of).items() if callable(value) and (not name.startswith("__") or name in special)
    ]


def is_of_c(of: type) -> bool:
    """Whether a type is written in C, or compiled. Python code gives a class no descriptors of its own but those of
    slots. A class that Cython has compiled may look like any other, but for its functions, which can get no steps.
    """
    if not of.__flags__ & _HEAP_TYPE:
        return True
    try:
        return _of_c[id(of)][1]
    except KeyError:
        return remember(_of_c, of, _is_of_c(of))


_of_c: Final[ByIdentity[bool]] = {}


def _is_of_c(of: type) -> bool:
    return any(
        (type(value) in _C_DESCRIPTORS and value.__objclass__ is of and name not in ("__dict__", "__weakref__"))
        or (
            type(value) is not types.FunctionType
            and hasattr(type(value), "__code__")
            and hasattr(type(value), "__get__")
        )
        for name, value in vars(of).items()
    )


_HEAP_TYPE: Final = 1 << 9
_C_DESCRIPTORS: Final = (types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType)


# -------------------------------------------------------------------------------------- what calls do

_LIKE: Final[tuple[tuple[Any, Any], ...]] = (
    (list, tuple), (collections.deque, tuple), (set, frozenset), (dict, types.MappingProxyType),
    (collections.OrderedDict, dict), (collections.defaultdict, dict),
)  # fmt: skip
"""The types of containers, each with one that cannot do all that it can."""
_ONLY_READS: Final = frozenset({"copy", "__copy__", "__reversed__", "fromkeys", "maxlen", "default_factory"})
CHANGING: Final = frozenset({
    "__init__", "__ior__", *(name for of, like in _LIKE for name in dir(of) if name not in dir(like)),
}) - _ONLY_READS  # fmt: skip
"""Methods that change a list, dictionary, set or deque: those that types lack whose objects never change."""
_OF_ATTRIBUTES: Final = {"__setattr__": "set", "__delattr__": "set", "__getattribute__": "get"}
_NOTHING: Final = frozenset({
    "__new__", "__init_subclass__", "__subclasshook__", "__class_getitem__", "__instancecheck__", "__subclasscheck__",
    "mro", "__subclasses__", "__enter__", "__exit__",
})  # fmt: skip
Effect = str
"""What a call does: "none", "read" (its arguments), "shallow" (the same, but not what items hold), "change" (perhaps
any argument), "outside" (the same, and what it keeps or finds elsewhere: in its module, the process, files), "set" or
"get" (an attribute of its first argument, or all of them), "first" (changes its first argument), "next" (takes the next
item of its first argument), "whole" (reads all attributes of what it is given, and what these hold), "now" (reads its
arguments, and answers otherwise later, though nobody has changed anything).
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
_FIRST: Final = tuple(
    getattr(module, name)
    for module, letters in ((operator, "i"), (heapq, "heap"), (heapq, "_heap"), (bisect, "insort"))
    for name in dir(module)
    if name.startswith(letters) and name not in ("is_", "is_not", "index", "indexOf", "invert", "itemgetter", "inv")
)
"""Functions that change their first argument."""
_KNOWN: Final[dict[Effect, tuple[Any, ...]]] = {
    "none": (
        type, isinstance, issubclass, id, callable, sys._getframe, sys.exc_info, sys.intern, sys.is_finalizing,
        sys.getdefaultencoding, sys.getfilesystemencoding, sys.audit, gc.is_tracked, os.fspath, os.getpid,
        os.cpu_count, os.strerror, os.get_terminal_size, _thread.get_ident, _thread.get_native_id,
        io.text_encoding, locale.localeconv,
    ),
    "read": (
        str, bytes, bytearray, memoryview, dict, csv.reader, csv.writer, sys.getsizeof,
        gc.get_referents, gc.get_referrers,
    ),
    "outside": (open,),
    "now": (os.urandom, os.getppid, sys.getrefcount),
    "shallow": (len, iter, ord),
    "set": (setattr, delattr),
    "get": (getattr, hasattr, dir, vars),
    "next": (next,),
    "first": (operator.setitem, operator.delitem, getattr(collections, "_count_elements"), *_FIRST),  # noqa: B009
    "change": (struct.pack_into, pickle.dump, marshal.dump, print),
    "whole": (pickle.dumps,),
}  # fmt: skip
_by_function: Final = {id(each): effect for effect, functions in _KNOWN.items() for each in functions}
"""By identity: a class may have a hash of its own."""


def effect_of(function: Any) -> Effect:
    """What a call of a function or a class does to its arguments."""
    try:
        return _by_function[id(function)]
    except KeyError:
        pass
    if issubclass(type(function), type):
        # The objects of such a type stand for something outside the process: two may stand for the same.
        if any(module_of(each) in _OUTSIDE and each not in (io.StringIO, io.BytesIO) for each in function.__mro__):
            return "outside"
        return "change" if kind_of(function) is Kind.FOREIGN else "shallow"
    if type(function) in _EFFECTS:
        return _EFFECTS[type(function)]
    module = getattr(function, "__module__", None) or ""
    if said_of(module, getattr(function, "__qualname__", "")) is Treatment.OURS:
        return "none"
    return "now" if module == "time" else "read" if module in _READING_MODULES else "outside"


def method_effect(name: str) -> Effect:
    """What a method of `object` or `type` does to the object: an attribute is set or got, or nothing happens."""
    return _OF_ATTRIBUTES.get(name, "none" if name in _NOTHING else "read")


def may_be_called_back(each: Any) -> bool:
    """Whether this is a function or method in C. A call that is given it may call it, with all that it is given."""
    return type(unwrapped(each, ())[0]) in _FUNCTIONS


READS_ATTRIBUTES: Final = frozenset({"__getattribute__", "__reduce__", "__reduce_ex__", "format", "format_map"})
"""Methods in C that read attributes of an object, or of what they are given."""


_FUNCTIONS: Final = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType, types.MethodWrapperType,
    operator.itemgetter, operator.attrgetter, operator.methodcaller,
)  # fmt: skip
_EFFECTS: Final[dict[type, Effect]] = {
    operator.itemgetter: "read", operator.attrgetter: "whole", operator.methodcaller: "change", weakref.ref: "none",
    types.GenericAlias: "none",
}  # fmt: skip


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


OF_EXCEPTIONS: Final = {"add_note": "__notes__", "with_traceback": "__traceback__", "__setstate__": "__dict__"}
"""Methods of exceptions that change attributes, and which."""
DESCRIPTORS: Final = (types.MemberDescriptorType, types.GetSetDescriptorType)
ACCESSES: Final = {"__get__": "get", "__set__": "set", "__delete__": "set"}
COMPARING: Final = frozenset({
    "index", "count", "remove", "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "sort",
})  # fmt: skip
"""Methods of containers that look into items."""
OF_EVERY_OBJECT: Final = frozenset({
    "__setattr__", "__delattr__", "__getattribute__", "__new__", "__init_subclass__", "__class__", "__dir__",
})  # fmt: skip


def attempt(owner: Any, name: str, given: tuple[Any, ...]) -> Callable[[], bool] | None:
    """A function that tells whether the method would change the container now; None if it may in any case. It runs no
    code of the program's: keys of other types than Python's own are not looked up.
    """
    if name not in _ATTEMPTS or (given and type(given[0]) not in ATOMS):
        return None
    return functools.partial(_would_change, owner, name, given)


def _would_change(owner: Any, name: str, given: tuple[Any, ...]) -> bool:
    """Tried on a copy, in which any item of the program's own could equal what is given."""
    items = items_of(owner)
    if any(type(each) not in ATOMS for each in items):
        return True
    tried = base_of(owner)(items)
    try:
        getattr(tried, name)(*given)
    except (LookupError, ValueError, TypeError):
        return False
    return len(tried) != len(items)


_ATTEMPTS: Final = frozenset({
    "pop", "popleft", "popitem", "clear", "setdefault", "add", "discard", "remove", "__delitem__",
})  # fmt: skip
"""The methods that may leave a container as it is."""
