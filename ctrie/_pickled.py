"""Long lists in pickles: other threads run while one is written or read.

The pickle module writes a list in one loop in C, and reads it in another, during which no other thread has the GIL. So
a long list is written as an object of its own, whose parts are short lists. Each of them is a call when it is written,
and another one when it is read; these let others run. Most of the time is that of the loops in C.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

if not cython.compiled:
    from ctrie._signals import check_signals

SIZE = 512  # items in a part


class InParts:
    """A list to pickle part by part: `make` returns an iterator over the parts, which are lists. It is unpickled, and
    copied, as a `Joined`."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[], Iterator[list[Any]]]) -> None:
        self.make = make

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.make())

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return Joined, (), None, map(Part, self.make())


def parts_of(items: list[Any]) -> Iterator[list[Any]]:
    """Yield the parts of a list."""
    for start in range(0, len(items), SIZE):
        check_signals()
        yield items[start : start + SIZE]


class Joined(list[Any]):
    """A list that is being unpickled."""

    __slots__ = ()

    def append(self, part: Iterable[Any]) -> None:
        """Add the items of a part."""
        list.extend(self, part)

    def extend(self, parts: Iterable[Iterable[Any]]) -> None:
        """Add the items of several parts."""
        for part in list(parts):  # which may be this list
            check_signals()
            list.extend(self, part)


class Part:
    """A part that is being written."""

    __slots__ = ("items",)

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return part_read, (self.items,)


def part_read(items: list[Any]) -> list[Any]:
    """Return the items of a part that has been read."""
    check_signals()
    return items
