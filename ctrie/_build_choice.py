"""The choice of the twin: the extensions, or the .py files beside them, from which they were compiled.

Python itself takes an extension before a source. CTRIE_TWIN=interpreted lets it look for sources first, in the folders
of these packages. CTRIE_TWIN=compiled makes missing extensions an error.
"""

import os
import sys
import warnings
from collections.abc import Iterable
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, ExtensionFileLoader, FileFinder, SourceFileLoader


def choose(package: Iterable[str]) -> None:
    """Prefer sources in the folders of a package, if so asked. A package calls this before it imports its modules."""
    if os.environ.get("CTRIE_TWIN") == "interpreted":
        for root in package:
            for folder, _, _ in os.walk(root):
                sys.path_importer_cache[folder] = FileFinder(
                    folder, (SourceFileLoader, SOURCE_SUFFIXES), (ExtensionFileLoader, EXTENSION_SUFFIXES)
                )


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
