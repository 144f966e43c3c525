"""The choice of the twin: the compiled modules, or the .py files that they were compiled from.

All compiled modules are in one library (`c/library.c`), where `CompiledFinder` finds them. With CTRIE_TWIN=interpreted
it finds those alone that have no .py. CTRIE_TWIN=compiled makes a missing library an error.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from types import ModuleType
from typing import Any


class CompiledFinder:
    """Finds modules of `ctrie` and `subtrie` in the library, before Python finds the sources beside it."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._prefers_sources = os.environ.get("CTRIE_TWIN") == "interpreted"

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name not in self._library.NAMES:
            return None
        if self._prefers_sources and path:
            source = os.path.join(path[0], name.rpartition(".")[2] + ".py")  # pathlib takes a quarter of the import
            if os.path.exists(source):
                return None
        loader = _LibraryLoader(name, self._library.__file__)
        loader.library = self._library
        spec = ModuleSpec(name, loader, origin=loader.path)
        spec.has_location = True
        return spec


class _LibraryLoader(ExtensionFileLoader):
    library: Any

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.library.create(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        self.library.execute(module)


def choose() -> None:
    """Install the finder if there is a library. Packages call this before they import any of their modules."""
    try:
        import ctrie._compiled  # in this form for programs that look for what a frozen application needs
    except ModuleNotFoundError:
        return
    if not any(isinstance(finder, CompiledFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, CompiledFinder(ctrie._compiled))


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
