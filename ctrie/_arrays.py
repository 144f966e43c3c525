"""The immutable arrays of nodes: a tuple with one item changed, and the population count that indexes it.

This is the interpreted text; `arrays.h` has the same four functions in C for compiled modules.
"""

from typing import Any


def replaced(array: tuple[Any, ...], pos: int, item: object) -> tuple[Any, ...]:
    """Return `array` with `item` in place of the one at `pos`."""
    return (*array[:pos], item, *array[pos + 1 :])


def inserted(array: tuple[Any, ...], pos: int, item: object) -> tuple[Any, ...]:
    """Return `array` with `item` before the one at `pos`."""
    return (*array[:pos], item, *array[pos:])


def removed(array: tuple[Any, ...], pos: int) -> tuple[Any, ...]:
    """Return `array` without the item at `pos`."""
    return array[:pos] + array[pos + 1 :]


def popcount(bitmap: int) -> int:
    """Return the number of set bits."""
    return bitmap.bit_count()
