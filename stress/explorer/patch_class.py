"""Another class in the place of one, under every name by which code knows it.

Who writes `from ctrie import AtomicReference` has the class in a name of their own module, so exchanging the one in
`ctrie` would not reach them. Modules are gone through one by one; who else knows the class (a function that imported it
for itself, a dataclass whose field is made by it, an example in a docstring) is told by the garbage collector, unless
`gc.freeze` has put it out of the collector's sight.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CellType, ModuleType
from typing import Any

__all__ = ["patched_class"]


@contextmanager
def patched_class(original: type, substitute: type) -> Iterator[None]:
    """Within the block, `substitute` is what every variable holds that held `original`, be it global or local to a
    function with functions in it.
    """
    _exchange(original, substitute)
    try:
        yield
    finally:
        _exchange(substitute, original)  # also in modules that were imported meanwhile


def _exchange(old: type, new: type) -> None:
    holders = gc.get_referrers(old)
    for names in [*_modules(), *filter(_is_namespace, holders)]:
        for name in [name for name, value in list(names.items()) if value is old]:
            names[name] = new
    for cell in holders:
        if type(cell) is CellType:
            cell.cell_contents = new


def _modules() -> Iterator[dict[str, Any]]:
    for module in list(sys.modules.values()):
        if issubclass(type(module), ModuleType):
            yield object.__getattribute__(module, "__dict__")  # which does not load what is lazy


def _is_namespace(holder: Any) -> bool:
    """Whether it holds the global variables of some code."""
    return type(holder) is dict and "__builtins__" in holder
