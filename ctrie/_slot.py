"""The seam: the body of the slot that the interpreted twin runs on.

Compiled modules take the native slot from `_native.pxd`. Interpreted ones take it from here: `native` where it was
built, else `portable` where the `atomics` package is installed; the environment variable CTRIE_SLOT asks for one by
name. A schedule explorer puts a module of its own in this one's place before it imports the interpreted twin.
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

_HELP = (
    "ctrie found no body for its atomic slots. Install with a C compiler present (pip install --no-binary subtrie "
    "subtrie), or, on an interpreter with a GIL, install the portable one: pip install 'subtrie[portable]'"
)


def _choose() -> Any:
    wanted = os.environ.get("CTRIE_SLOT", "")
    if wanted not in ("", "native", "portable"):
        raise ImportError(f"CTRIE_SLOT={wanted!r}: choose native or portable")
    if wanted != "portable":
        try:
            return importlib.import_module("ctrie._native")
        except ImportError:
            if wanted == "native":
                raise ImportError(_HELP) from None
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise ImportError(_HELP)  # the portable table relies on the GIL
    try:
        return importlib.import_module("ctrie._portable")
    except ImportError:
        raise ImportError(_HELP) from None


if TYPE_CHECKING:
    from ctrie._portable import AtomicReference, Slot, drain
else:
    _body = _choose()
    AtomicReference, Slot, drain = _body.AtomicReference, _body.Slot, _body.drain

__all__ = [
    "AtomicReference",
    "Slot",
    "borrow",
    "borrowed",
    "compare_and_set",
    "drain",
    "initialise",
    "is_out_of_track",
    "keep_track",
    "load",
    "plain_after",
    "plain_node",
    "untrack",
    "untrack_above",
]

load = Slot.load
compare_and_set = Slot.compare_and_set
initialise = Slot.initialise


def borrow(thing: Any) -> Any:
    """Return what stands for `thing` where somebody else holds it for as long: in the compiled twin no reference, since
    to count one would be to write where all threads write."""
    return thing


def borrowed(thing: Any) -> Any:
    """Return what was borrowed."""
    return thing


def untrack(node: object, one: object, other: object) -> None:
    """The compiled twin takes a node that leads to `one` and `other` only off the garbage collector's list, if the
    collector tracks neither. Interpreted nodes have no such choice."""


def plain_after(node: object) -> None:
    """Say that `plain_node` may make nodes of this one's type. For the compiled twin."""


def plain_node(kind: type, one: object, other: object) -> Any:
    """Return a node of this type that leads to `one` and `other` only and that the garbage collector never hears of,
    None where it has to; the compiled twin makes such nodes on free-threaded builds (untracked.h)."""
    return None


def untrack_above(inode: object, main: object) -> None:
    """As `untrack`, of an I-node above a main node (untracked.h). For the compiled twin, like the two that follow."""


def is_out_of_track(inode: object, main: object) -> bool:
    """Tell whether the collector would have to track an I-node for `main`, and does not."""
    return False


def keep_track(node: object) -> None:
    """Have the collector track a node."""
