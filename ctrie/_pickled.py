"""Long lists in pickles: other threads run while one is written or read.

The pickle module writes a list in one loop in C, and reads it in another, during which no other thread has the GIL. An
object that is no plain list is written one by one, and read a thousand at a time, by its own methods. Here these are
Python code, and between two lines of that, the interpreter lets others run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class PickledList(list[Any]):
    """A list that is pickled part by part."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return PickledList, (), None, _each(self)

    def extend(self, more: Iterable[Any]) -> None:
        """Add a part."""
        list.extend(self, more)


def _each(items: list[Any]) -> Iterator[Any]:
    for item in items:  # noqa: UP028 (it has to be Python code)
        yield item
