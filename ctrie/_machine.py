"""The machine under the nodes: bits of a hash, arrays of branches, the cycle collector, the C stack, signals.

This is the interpreted text; the compiled bodies are in C (`ctrie/c/`). Where a body here is empty, the interpreter
sees to that by itself for Python code, and compiled code has to.
"""

from __future__ import annotations

from typing import Any

# ---------------------------------------------------------------------------------------- branches, in arrays.h
# A node reads W bits of a hash: its *group* at that node. The node's bitmap has one bit, the *flag*, for each group
# that has a branch. The position of a branch is the number of flags below its own. (Bagwell, "Ideal Hash Trees", 2001.)

W = 6
GROUPS = 1 << W


def flag_at(hash: int, shift: int) -> int:
    """Return the flag of the hash's group, for a node that reads the hash from bit `shift` on."""
    return 1 << (hash >> shift & (GROUPS - 1))


def groups_of(bitmap: int) -> list[int]:
    """Return the groups whose flags are set in the bitmap, in order."""
    return [group for group in range(GROUPS) if bitmap >> group & 1]


def popcount(bitmap: int) -> int:
    """Return the number of set bits."""
    return bitmap.bit_count()


def replaced(array: tuple[Any, ...], pos: int, item: object) -> tuple[Any, ...]:
    """Return `array` with `item` in place of the one at `pos`."""
    return (*array[:pos], item, *array[pos + 1 :])


def inserted(array: tuple[Any, ...], pos: int, item: object) -> tuple[Any, ...]:
    """Return `array` with `item` before the one at `pos`."""
    return (*array[:pos], item, *array[pos:])


def removed(array: tuple[Any, ...], pos: int) -> tuple[Any, ...]:
    """Return `array` without the item at `pos`."""
    return array[:pos] + array[pos + 1 :]


# ------------------------------------------------------------------------- the collector, in leaf.h and untracked.h
# A node that leads to nothing that the cycle collector tracks is not tracked either.


def untrack_constant(node: object) -> None:
    """Untrack a node that never changes and leads to nothing that is tracked (arrays.h)."""


def leaf_after(first: object) -> None:
    """Register the type of `first` for `new_leaf`. No field of `first` is set."""


def new_leaf(kind: type[Any], one: object, other: object) -> Any:
    """Return a new leaf of this type, which will refer to `one` and `other` only."""
    return object.__new__(kind)


def untrack(node: object, one: object, other: object) -> None:
    """Untrack a node that refers to `one` and `other` only, if the collector tracks neither of them."""


def untrack_above(inode: object, main: object) -> None:
    """Untrack an I-node if the collector does not track its main node."""


def is_out_of_track(inode: object, main: object) -> bool:
    """Tell whether `main` is tracked and the I-node, which leads to it, is not."""
    return False


def keep_track(node: object) -> None:
    """Have the collector track a node."""


# ----------------------------------------------------------------------------------- calls, in stack.h and methods.h


def check_stack() -> None:
    """Raise RecursionError if little is left of the C stack. For functions that call users' `__eq__` or `__hash__`,
    which may call them again: the interpreter counts the calls of Python code, not what compiled code takes."""


def own_methods(kind: type) -> None:
    """Let a class have what its bases define, as if it were its own. The interpreter calls a method in C by a shorter
    way if the object's own class defines it: an inherited `subscribe` takes 200 instructions more."""


# ------------------------------------------------------------------------------- long work, in signals.h and release.h
# The interpreter runs the handlers of signals, and lets other threads run, between two lines of Python code. Compiled
# functions that go through any number of items see to both themselves, and only where any Python code may run: not
# while pinned, and with nothing borrowed.

EVERY = 128  # items between two checks, where one item takes less than some microseconds


def check_signals() -> None:
    """Run the handlers of the signals that have arrived, and let other threads run. Raises what the handlers raise:
    KeyboardInterrupt after Ctrl-C. (With a GIL, the compiled body calls this one: the interpreter does both then.)"""


def release(dropped: list[Any], kinds: tuple[type[Any], ...]) -> None:
    """Drop the nodes in `dropped`, and what only they lead to, as far as it is of one of these types, piece by piece:
    other threads run meanwhile. The list has the only references. Whatever it still holds afterwards is dropped with
    it. Raises as `check_signals`."""


def release_items(items: list[Any]) -> None:
    """The same for the items of a long list that nobody else uses."""
