"""What was found of an object, by its identity, for as long as it lives. Each exploration makes classes and code of its
own, and a table that kept them would grow for ever.

Look such a table, and any other that threads share, up by `[]` where much depends on the time: on a free-threaded
CPython 3.13, `dict.get` locks a dictionary twice if another thread has made what it finds, and so waits for itself.
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
