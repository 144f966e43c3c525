"""The arrays of nodes of hash tries: which branch a hash leads to, and a tuple with one item changed.

A node reads W bits of a hash, its *group* there; the node's bitmap has a bit, the *flag*, for each group that it has a
branch for, and the branch's place is the number of flags below its own. (Bagwell, "Ideal Hash Trees", 2001.)

This is the interpreted text; `arrays.h` has the same in C for compiled modules.
"""

from typing import Any

W = 6
GROUPS = 1 << W


def flag_at(hash: int, shift: int) -> int:
    """Return the flag of the group that the hash falls into where a node reads it from bit `shift` on."""
    return 1 << (hash >> shift & (GROUPS - 1))


def groups_of(bitmap: int) -> list[int]:
    """Return the groups that the bitmap has flags for, in order."""
    return [group for group in range(GROUPS) if bitmap >> group & 1]


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


def settle(node: object) -> None:
    """Have the collector pass over a node that never changes and leads to nothing that it tracks; see arrays.h. For the
    compiled twin."""
