"""The choice of the twin: the compiled modules, or the .py files that they were compiled from.

An extension module lies beside its source, and Python prefers the extension. CTRIE_TWIN=interpreted reverses that for
`ctrie` and `subtrie`. CTRIE_TWIN=compiled makes missing extensions an error.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_ROOMS = ("ctrie.", "subtrie.")


class InterpretedFinder:
    """Finds the .py of a module that was also compiled. It ignores modules without a .py (the native slot)."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> "ModuleSpec | None":
        if not name.startswith(_ROOMS) or not path:
            return None
        from importlib.util import spec_from_file_location  # the compiled twin needs neither this nor what it imports

        source = os.path.join(path[0], name.rpartition(".")[2] + ".py")  # to load pathlib takes a quarter of the import
        return spec_from_file_location(name, source) if os.path.exists(source) else None


def choose() -> None:
    """Install the finder if CTRIE_TWIN asks for it. Call this before any other module of the package is imported."""
    if os.environ.get("CTRIE_TWIN") == "interpreted" and InterpretedFinder not in sys.meta_path:
        sys.meta_path.insert(0, InterpretedFinder)


def confirm(running: str) -> None:
    """Raise ImportError if the running twin is not the requested one; warn if the interpreted one was not requested."""
    wanted = os.environ.get("CTRIE_TWIN", "")
    if wanted not in ("", "compiled", "interpreted"):
        raise ImportError(f"CTRIE_TWIN={wanted!r}: choose compiled or interpreted")
    if wanted == "" and running == "interpreted":
        warnings.warn(
            "ctrie runs interpreted, many times slower: its compiled modules are not installed. To have them, install "
            "subtrie again with a C compiler; if this is what you want, set CTRIE_TWIN=interpreted",
            RuntimeWarning,
            stacklevel=3,
        )
    if wanted not in ("", running):
        raise ImportError(
            f"CTRIE_TWIN={wanted}, but the {running} twin is running. "
            "Install subtrie again with a C compiler, and without CTRIE_NO_EXTENSIONS"
        )
