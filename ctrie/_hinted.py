"""Iterators that know roughly how many items are left, for `list`, progress bars and whoever else makes room first.

The number is the tally's when the iterator was made, and exact if nothing was changed at that time. It costs no walk:
while the tally is in doubt, after a bulk change of a subscription trie for instance, there is no number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cython

if not cython.compiled:
    from ctrie._tally import Tally, read


class HintedIterator:
    """The items of another iterator, and a hint of how many there are."""

    _items: Any
    _left: int

    def __init__(self, items: Iterator[Any], left: int) -> None:
        self._items = items
        self._left = left

    def __iter__(self) -> HintedIterator:
        return self

    def __next__(self) -> Any:
        item = next(self._items)
        take_one(self)
        return item

    def __length_hint__(self) -> Any:
        left = left_in(self)
        return left if left >= 0 else NotImplemented


if not cython.compiled:  # relaxed; the compiled ones are in _hinted.pxd

    def take_one(iterator: HintedIterator) -> None:
        """One item fewer is left. A hint may be wrong: threads that share an iterator may count one for two."""
        if iterator._left > 0:
            iterator._left -= 1

    def left_in(iterator: HintedIterator) -> int:
        """Return how many items are left, or a negative number if nobody knows."""
        return iterator._left


def hinted(items: Iterator[Any], tally: Tally) -> HintedIterator:
    """Return an iterator over `items` whose hint is the tally's number."""
    counts = read(tally)
    return HintedIterator(items, -1 if counts.doubts else counts.items)
