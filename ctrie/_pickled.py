"""Long lists in pickles: other threads run while one is written or read.

The pickle module writes a list in one loop in C, and reads it in another, during which no other thread has the GIL. An
object that is no plain list is written one by one, and read a thousand at a time, by its own methods. Here these let
others run.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from ctrie import _cython as cython

from collections.abc import Iterable, Iterator
from typing import Any

if not cython.compiled:
    from ctrie._signals import EVERY, check_signals


class PickledList(list[Any]):
    """A list that is pickled part by part."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return PickledList, (), None, _each(self)

    def extend(self, more: Iterable[Any]) -> None:
        """Add a part."""
        check_signals()
        list.extend(self, more)


def _each(items: list[Any]) -> Iterator[Any]:
    for number, item in enumerate(items):
        if number % EVERY == 0:
            check_signals()
        yield item
