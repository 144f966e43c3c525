"""Long lists in pickles: other threads run while one is written or read.

The pickle module writes a list in one loop in C, and reads it in another, during which no other thread has the GIL. So
a long list is written as an object of its own, whose parts are short lists. Each of them is a call when it is written,
and another one when it is read; these let others run. Most of the time is that of the loops in C.

The pickle module keeps each part until its end, and frees all at once then, while no other thread runs. So parts are
emptied as soon as they have been written, or read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import cython

if not cython.compiled:
    from ctrie._machine import check_signals

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
        return Joined, (), None, _written(self.make())


def parts_of(make: Callable[[], Iterator[Any]]) -> Iterator[list[Any]]:
    """Yield the parts of a list whose items an iterator makes."""
    rest = make()
    while part := list(islice(rest, SIZE)):
        check_signals()
        yield part


class Joined(list[Any]):
    """A list that is being unpickled."""

    __slots__ = ()

    def append(self, part: Iterable[Any]) -> None:
        """Take the items of a part, which is empty then if it is a list."""
        list.extend(self, part)
        if type(part) is list:
            part.clear()

    def extend(self, parts: Iterable[Iterable[Any]]) -> None:
        """Take the items of several parts."""
        for part in list(parts):  # which may be this list
            check_signals()
            self.append(part)


class PickledPart:
    """A part that is being written. The one before it has been written then, and becomes empty."""

    __slots__ = ("before", "items")

    def __init__(self, items: list[Any], before: PickledPart | None) -> None:
        self.items, self.before = items, before

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        if self.before is not None:
            self.before.items.clear()
            self.before = None
        return part_read, (self.items,)


def _written(parts: Iterator[list[Any]]) -> Iterator[PickledPart]:
    part: PickledPart | None = None
    for items in parts:
        part = PickledPart(items, part)
        yield part


def part_read(items: list[Any]) -> list[Any]:
    """Return the items of a part that has been read."""
    check_signals()
    return items
