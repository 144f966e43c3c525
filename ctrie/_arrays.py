"""The branch arrays of hash-trie nodes: which branch a hash selects, and copies of a tuple with one item changed.

A node reads W bits of a hash: its *group* at that node. The node's bitmap has one bit, the *flag*, for each group that
has a branch. The position of a branch is the number of flags below its own. (Bagwell, "Ideal Hash Trees", 2001.)

This is the interpreted text; `arrays.h` has the same in C for compiled modules.
"""

from typing import Any

W = 6
GROUPS = 1 << W


def flag_at(hash: int, shift: int) -> int:
    """Return the flag of the hash's group, for a node that reads the hash from bit `shift` on."""
    return 1 << (hash >> shift & (GROUPS - 1))


def groups_of(bitmap: int) -> list[int]:
    """Return the groups whose flags are set in the bitmap, in order."""
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
    """Take a node off the collector's list: it never changes and leads to nothing that the collector tracks. Only the
    compiled twin does this; see arrays.h."""
