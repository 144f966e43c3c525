"""The seam: the body of the slot that the interpreted twin runs on.

Compiled modules take the native slot from `_native.pxd`. Interpreted modules take it from here: `native` if it was
built, else `portable` if the `atomics` package is installed. The environment variable CTRIE_SLOT selects one by name. A
schedule explorer replaces this module by its own before it imports the interpreted twin.
"""

import importlib
import os
import sys
from operator import methodcaller
from typing import TYPE_CHECKING, Any


def _missing() -> ImportError:
    if os.path.exists(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "setup.py")):
        return ImportError(
            "this is the source of ctrie, and not what was installed: start Python in another folder (cd ..), or "
            "compile it here (make build)"
        )
    return ImportError(
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
                raise _missing() from None
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        raise _missing()  # the portable slot relies on the GIL
    try:
        return importlib.import_module("ctrie._portable")
    except ImportError:
        raise _missing() from None


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
    """Return `thing` as a borrowed reference, for the time that something else holds it. The compiled twin counts no
    reference: all threads would write to that count."""
    return thing


def borrowed(thing: Any) -> Any:
    """Return a counted reference to something borrowed."""
    return thing


def pin() -> None:
    """Keep everything that `peek` returns from being released, until `unpin`. In between run no Python code, allocate
    nothing, and drop no reference. Only the compiled twin needs `pin` and `unpin`."""


def unpin() -> None:
    """End the effect of `pin`."""


peek = methodcaller("load")
"""As `load`, but the result is borrowed: it is valid only while the thread is pinned."""


def is_exactly(thing: Any, kind: type) -> bool:
    """Tell whether something borrowed is of exactly this type."""
    return type(thing) is kind
