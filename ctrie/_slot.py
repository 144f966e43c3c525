"""The seam: the body of the slot that the interpreted twin runs on.

Compiled modules take the native slot from `_native.pxd`. Interpreted ones take it from here: `native` where it was
built, else `portable` where the `atomics` package is installed; the environment variable CTRIE_SLOT asks for one by
name. A schedule explorer puts a module of its own in this one's place before it imports the interpreted twin.
"""

import importlib
import os
import sys
from operator import methodcaller
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
    "is_exactly",
    "load",
    "peek",
    "pin",
    "unpin",
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


def pin() -> None:
    """From here to `unpin` nothing that `peek` returns is released. In between no Python code runs, nothing is
    allocated, and no reference dropped. For the compiled twin, as is `unpin`."""


def unpin() -> None:
    """End what `pin` began."""


peek = methodcaller("load")
"""As `load`, but what it returns is borrowed, and there only for as long as the thread is pinned."""


def is_exactly(thing: Any, kind: type) -> bool:
    """Tell whether something borrowed is of this very type."""
    return type(thing) is kind
