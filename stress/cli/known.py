"""Structures that the command line knows by name, and further commands: what the folders beside this one bring.

A folder of this package may have a module `cli` with a `KNOWN` in it. The folder of this distribution's own tries has
one. It is in the repository, and not in an installed package, where targets are users' own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

import stress
from stress.recorder.workload import Workload

__all__ = ["Known", "known"]


@dataclass(frozen=True)
class Known:
    """What a folder brings."""

    workloads: Mapping[str, Callable[[], list[Workload]]]
    """What `run` puts under stress, by name."""
    explored: Sequence[str]
    """The names that `explore` takes."""
    explorer: str
    """The module that explores them: `add_arguments(parser)`, `main(names, arguments)` and `replay(arguments)`."""
    tokens: tuple[str, ...]
    """How the tokens of that module begin."""
    commands: Mapping[str, tuple[str, str]]
    """Further commands: what each does, and its module."""

    def explores(self) -> Any:
        """The module that explores them."""
        return import_module(self.explorer)


@cache
def known() -> tuple[Known, ...]:
    """What all folders bring."""
    folders = [f"{stress.__name__}.{each.name}.cli" for each in iter_modules(stress.__path__) if each.ispkg]
    return tuple(import_module(name).KNOWN for name in folders if find_spec(name) is not None)
