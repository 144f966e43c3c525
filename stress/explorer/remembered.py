"""What was found of an object, by its identity, for as long as it lives. Each exploration makes classes and code of its
own, and a table that kept them would grow for ever.
"""

from __future__ import annotations

import weakref
from functools import partial
from typing import Any, TypeVar

__all__ = ["ByIdentity", "remember"]

V = TypeVar("V")
ByIdentity = dict[int, tuple["weakref.ref[Any]", V]]


def remember(table: ByIdentity[V], of: Any, value: V) -> V:
    """Enter what was found of an object; the entry goes before another object can have its identity."""
    # The callback gets the reference as its last argument, which is what `pop` answers if another thread was first.
    table[id(of)] = weakref.ref(of, partial(table.pop, id(of))), value
    return value
