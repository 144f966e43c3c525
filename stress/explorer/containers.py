"""Python's own containers and objects, looked into by their own C functions. A class that is derived from one may have
methods of its own, which take a lock, count, or fail as long as the object is not complete: the explorer calls none of
them. `isinstance` asks an object for its `__class__`, so the explorer asks for its type.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Any, Final

__all__ = ["CONTAINERS", "base_of", "fill_again", "is_a", "is_namespace", "items_in", "items_of"]

CONTAINERS: Final = (list, dict, set, deque)
_BASES: Final[tuple[Any, ...]] = (OrderedDict, *CONTAINERS, tuple, frozenset)


def is_a(each: Any, kind: type | tuple[type, ...]) -> bool:
    """Whether the type of an object is one of these, or derived from one."""
    return issubclass(type(each), kind)


def base_of(container: Any) -> Any:
    """The type of Python's own that a container is of, or derived from."""
    of = type(container)
    return next(each for each in _BASES if issubclass(of, each))


def is_namespace(container: Any) -> bool:
    """Whether this is the dictionary of a module's variables."""
    return is_a(container, dict) and dict.__contains__(container, "__builtins__")


def items_of(container: Any) -> Any:
    """A copy of the items of a container, in their order: a dictionary or a list."""
    base = base_of(container)
    return dict(base.items(container)) if issubclass(base, dict) else list(base.__iter__(container))


def items_in(container: Any) -> list[Any]:
    """The items of a container, the values of a dictionary."""
    base = base_of(container)
    return list(base.values(container) if issubclass(base, dict) else base.__iter__(container))


def fill_again(container: Any, items: Any) -> None:
    """Give a container the items that it had."""
    base = base_of(container)
    base.clear(container)
    if issubclass(base, dict):
        for key, value in items.items():
            base.__setitem__(container, key, value)
    elif base is set:
        set.update(container, items)
    else:
        base.extend(container, items)
