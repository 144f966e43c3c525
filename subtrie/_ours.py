"""Whether Python finds this distribution's `stress` and `snapshot` by these names, which are common.

A project may have a `stress.py` or a folder `snapshot/`, which Python finds first, and another distribution may have
written its files over ours. `subtrie.stress` and `subtrie.snapshot` reach ours in every case (`subtrie._aliases`).
This module is read at every `import subtrie`, so it imports little: pathlib alone takes a tenth of that import.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

__all__ = ["FOLDER", "NAMES", "ROOT", "is_ours", "somebody_elses", "tell"]

NAMES: Final = ("snapshot", "stress")
FOLDER: Final = os.path.dirname(os.path.abspath(__file__))
ROOT: Final = os.path.dirname(FOLDER)
_MARK: Final = "the subtrie distribution"
"""What the docstring of each package says of itself."""


def somebody_elses(name: str) -> str:
    """The place of the module that Python finds by that name, if it is not ours; empty if it is, or if there is none.

    >>> somebody_elses("stress")
    ''
    """
    loaded = sys.modules.get(name)
    spec = getattr(loaded, "__spec__", None) if loaded is not None else _found(name)
    if loaded is None and spec is None:
        return ""
    origin = getattr(loaded, "__file__", None) or getattr(spec, "origin", None)
    if origin is None:  # a folder without an __init__.py, or what a test has put there
        return str(next(iter(getattr(spec, "submodule_search_locations", None) or ()), name))
    return "" if is_ours(name, str(origin)) else str(origin)


def _found(name: str) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(name, None) if find is not None else None
        if spec is not None:
            return spec
    return None


def is_ours(name: str, origin: str) -> bool:
    """Whether a file is the `__init__.py` of our package, and still as we have written it."""
    try:
        if not os.path.samefile(origin, os.path.join(ROOT, name, "__init__.py")):
            return False
        with open(origin, encoding="utf-8", errors="replace") as file:
            return _MARK in file.read(4_000)
    except OSError:
        return False


def tell() -> None:
    """Warn of modules of others that Python finds by our names. The warning stops nobody, also where it is an error."""
    for name in NAMES:
        place = somebody_elses(name)
        if place and os.path.isdir(os.path.join(ROOT, name)):
            told = f"`import {name}` finds {place}, which is not of {_MARK}: ours is `subtrie.{name}`"
            try:
                warnings.warn(told, ImportWarning, stacklevel=3)
            except ImportWarning:
                continue
