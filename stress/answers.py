"""Answers, as they were when they were given.

An object may answer with something that it goes on changing: its own list, or an object with attributes. What counts is
what the caller saw when the call returned. So that is copied then, without running any code of the object's.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final

_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes})
_MAPPINGS: Final = frozenset({dict, OrderedDict, defaultdict})
_CHANGING: Final = _MAPPINGS | {list, set, deque, bytearray}
_HEAP_TYPE: Final = 1 << 9


def as_it_is(value: Any) -> Any:
    """The value as it is now: a container of Python's own is copied, with all that it holds, and an object whose class
    says which others are equal to it. So whoever changes it afterwards does not change the answer that was given. O(n).

    >>> there = [1, [2]]
    >>> answer = as_it_is(there)
    >>> there[1].append(3)
    >>> answer
    [1, [2]]
    """
    return value if type(value) in _ATOMS else _copy(value, {})


def _copy(value: Any, made: dict[int, Any]) -> Any:
    """A copy; `made` has those of what was met before, so that all of it shows one moment."""
    kind = type(value)
    if kind in _ATOMS:
        return value
    if id(value) in made:
        return made[id(value)]
    if kind is tuple:
        return tuple([_copy(each, made) for each in value])
    if kind in _CHANGING:
        copy = made[id(value)] = value.copy()
        if kind is list:
            copy[:] = [_copy(each, made) for each in copy]
        elif kind in _MAPPINGS:
            copy.update({key: _copy(item, made) for key, item in copy.items()})
        return copy
    if not _has_equals(kind):
        return value
    try:
        copy = made[id(value)] = object.__new__(kind)
    except TypeError:  # its memory is laid out by C
        return value
    for name, item in list(attributes_of(value)):
        object.__setattr__(copy, name, _copy(item, made))
    return copy


def _has_equals(kind: type) -> bool:
    """Whether a class is written in Python, and its objects are told apart by what they hold."""
    equals: Any = kind.__eq__
    hashes: Any = kind.__hash__
    return (
        equals is not object.__eq__
        and hashes is not None
        and hashes is not object.__hash__
        and all(each.__flags__ & _HEAP_TYPE for each in kind.__mro__[:-1])
        and not hasattr(kind, "__del__")
    )


def attributes_of(each: Any) -> Iterator[tuple[str, Any]]:
    """The attributes that an object has of its own."""
    for base in reversed(type(each).__mro__):
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in ("__dict__", "__weakref__"):
                continue
            hidden = name.startswith("__") and not name.endswith("__")
            full = f"_{base.__name__.lstrip('_')}{name}" if hidden else name
            try:
                yield full, vars(base)[full].__get__(each)
            except (AttributeError, KeyError):
                continue
    space = space_of(each)
    yield from () if space is None else list(space.items())


def space_of(each: Any) -> Any:
    """The dictionary of an object's attributes, also if its class gives out another one; None if it has none. No
    property of that name is called.
    """
    of = type(each)
    place: Any = next((vars(base)["__dict__"] for base in of.__mro__ if "__dict__" in vars(base)), None)
    try:
        if type(place) in _PLACES:
            return place.__get__(each)
        return None if place is None or not of.__dictoffset__ else _BEHIND(ctypes.py_object(each), None)
    except AttributeError:
        return None


_PLACES: Final = (GetSetDescriptorType, MemberDescriptorType)
_BEHIND: Final = ctypes.pythonapi.PyObject_GenericGetDict
_BEHIND.restype, _BEHIND.argtypes = ctypes.py_object, (ctypes.py_object, ctypes.c_void_p)
