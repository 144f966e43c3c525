"""Kinds of objects: what their attributes, items and methods are to an exploration.

A type written in Python is known by its code, which runs with steps. Of the types written in C these are known: those
that never change, the containers, and what reads containers item by item. All others are `FOREIGN`: whatever is done
with such an object may change it.
"""

from __future__ import annotations

import _thread
import collections
import contextvars
import datetime
import decimal
import enum
import fractions
import functools
import operator
import queue
import re
import sys
import threading
import types
import typing
import weakref
from typing import Any, Final

from stress.explorer.containers import CONTAINERS
from stress.explorer.policy import Treatment, is_used_whole, module_of, treatment_of_file
from stress.explorer.remembered import ByIdentity, remember
from stress.explorer.treatments import EXPLORE, FORGETS, LEAVE_OUT, ONE_STEP, said_of
from stress.explorer.wholes import CHANGES, whole_of

__all__ = ["LOCKS", "PLAIN", "QUIET", "Kind", "forget_kinds", "is_of_c", "kind_of"]

LOCKS: Final = (type(threading.Lock()), type(threading.RLock()))


class Kind(enum.Enum):
    """What an object is to an exploration."""

    QUIET = "never changes, or makes its own steps"
    PLAIN = "has attributes, and code in Python"
    CONTAINER = "a list, dictionary, set or deque"
    VIEW = "shows the items of a container"
    ITERATOR = "gives the items of a container one after another"
    GENERATOR = "a generator or coroutine"
    LOCK = "a lock, condition, event, semaphore or queue that was not made by an explored name"
    LOCAL = "has values of each thread"
    MODULE = "a module"
    TYPE = "a class"
    SUPER = "an object, seen as one of a base class"
    CACHE = "keeps the answers of a function"
    FOREIGN = "written in C, and may change at every use"


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
    datetime.timedelta, datetime.tzinfo, decimal.Decimal, fractions.Fraction, functools.partial, weakref.ref,
    operator.itemgetter, operator.attrgetter, operator.methodcaller,
    contextvars.ContextVar, contextvars.Token, typing.TypeVar,
)  # fmt: skip
_CACHE: Final = type(functools.lru_cache(lambda: None))
_OF_ITERATORS: Final = frozenset({"builtins", "itertools", "collections", "_collections", "_functools", "functools"})
_PACKAGE: Final = __name__.partition("explorer.")[0]
"""The name of this package, which has another one where somebody else's has its own."""
_STOOD_FOR: Final[tuple[type, ...]] = (
    threading.Condition, threading.Event, threading.Semaphore, threading.BoundedSemaphore, queue.SimpleQueue,
)  # fmt: skip
"""Other primitives for which explored ones stand, where they were made before."""
_LOCAL: Final = _thread._local
_kinds: Final[ByIdentity[Kind]] = {}


def kind_of(of: type) -> Kind:
    """The kind of the objects of a type."""
    try:
        return _kinds[id(of)][1]
    except KeyError:
        return remember(_kinds, of, _found(of))


def forget_kinds() -> None:
    """Find all of them anew: other modules get steps now."""
    _kinds.clear()


FORGETS.append(forget_kinds)


def _found(of: type) -> Kind:
    if of in _STOOD_FOR:
        return Kind.LOCK
    for base, kind in _BY_BASE:
        if issubclass(of, base):
            return kind
    module = module_of(of)
    said = said_of(module, of.__qualname__)
    if said == LEAVE_OUT:
        return Kind.QUIET
    if said == ONE_STEP and not is_of_c(of):
        return Kind.FOREIGN
    if module.startswith(_PACKAGE):
        return Kind.FOREIGN if is_of_c(of) else Kind.QUIET
    if is_used_whole(module) and _is_frozen(of):
        return Kind.QUIET
    if of is types.CellType or of is contextvars.Context or any(map(_is_taken_as_a_whole, of.__mro__)):
        return Kind.FOREIGN
    base = next(each for each in of.__mro__ if is_of_c(each))
    if base is object or issubclass(base, (types.SimpleNamespace, types.FunctionType, BaseException)):
        return Kind.PLAIN
    if base in _QUIET or issubclass(base, _QUIET):
        return Kind.QUIET if of is base else Kind.PLAIN
    if hasattr(base, "__next__") and module_of(base) in _OF_ITERATORS:
        return Kind.ITERATOR
    if base.__flags__ & _IS_IMMUTABLE and not _methods(base) and module_of(base) != "_ctypes":
        return Kind.QUIET
    return Kind.FOREIGN


def _is_frozen(of: type) -> bool:
    """Whether a class of the tries says that its objects never change."""
    parameters = vars(of).get("__dataclass_params__")
    return issubclass(of, (tuple, BaseException, enum.Enum)) or (parameters is not None and parameters.frozen)


def _is_taken_as_a_whole(of: type) -> bool:
    """Whether a class is Python code that gets no steps, and may use what is outside: it is like one written in C."""
    module = module_of(of)
    if is_of_c(of) or whole_of(module) == CHANGES or said_of(module, of.__qualname__) == EXPLORE:
        return False
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and treatment_of_file(file) is Treatment.OPAQUE


_IS_IMMUTABLE: Final = 1 << 8
_BY_BASE: Final[tuple[tuple[Any, Kind], ...]] = (
    (type, Kind.TYPE), (types.ModuleType, Kind.MODULE), (LOCKS, Kind.LOCK), (_LOCAL, Kind.LOCAL), (super, Kind.SUPER),
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
