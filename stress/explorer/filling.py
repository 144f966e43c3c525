"""Objects that are being filled: while `__init__` runs, nobody else knows its object, unless it was given away.

To give it away, `__init__` has to load it for something else than an access of an attribute, which code shows. Or the
access runs code of the class, which gets the object: a property, a `__setattr__`, a method of a base. Or it answers
something that leads to the object: a bound method, its dictionary. Or somebody looks into the frame of `__init__`.
"""

from __future__ import annotations

from types import CodeType, GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final

from stress.answers import attributes_of, space_of

__all__ = ["FINDING", "MAKING", "follows_its_object", "gives_away", "is_empty"]

MAKING: Final = frozenset({"__init__", "__post_init__"})
"""Functions that fill a new object, which no other thread knows yet."""
_LOOKING_AROUND: Final = frozenset({"locals", "vars", "eval", "exec", "_getframe", "currentframe", "stack"})
"""Names of functions that find the variables of their caller."""
FINDING: Final = frozenset({"f_locals", "getargvalues", "get_objects", "get_referrers"})
"""Names by which any code may find an object that a function of any thread has in a variable."""


def follows_its_object(code: CodeType) -> bool:
    """Whether code fills a new object, its first variable, and shows each place where it gives that away."""
    return (
        code.co_name in MAKING
        and code.co_argcount > 0
        and code.co_varnames[0] not in code.co_cellvars  # else inner functions have it
        and _LOOKING_AROUND.isdisjoint(code.co_names)
    )


def is_empty(owner: Any) -> bool:
    """Whether an object has no attributes of its own yet. An older one, which `__new__` has given, may have some."""
    of = type(owner)
    if of.__base__ is object and "__slots__" not in vars(of):
        return not space_of(owner)
    return next(attributes_of(owner), None) is None


def gives_away(of: type, name: str, changes: bool) -> bool:
    """Whether an access of an attribute of a new object runs code that gets the object, or answers what leads to it."""
    own: Any = (of.__setattr__, of.__delattr__) if changes else (of.__getattribute__,)
    if own != (_CHANGING if changes else _READING):
        return True
    found = next((vars(base)[name] for base in of.__mro__ if name in vars(base)), None)
    if found is None:
        return not changes and hasattr(of, "__getattr__")
    kind = type(found)
    if kind is MemberDescriptorType:
        return False
    if changes:
        return kind is not GetSetDescriptorType and (hasattr(kind, "__set__") or hasattr(kind, "__delete__"))
    if kind is GetSetDescriptorType and found.__objclass__ is object:
        return False  # its class
    return hasattr(kind, "__get__")


_CHANGING: Final[Any] = (object.__setattr__, object.__delattr__)
_READING: Final[Any] = (object.__getattribute__,)
