"""Where a scenario comes from: by which names its object and specification are found again, and its calls as text.

A token that knows this can be replayed by a command. It cannot where the object is made by a function within a
function, where an argument is not written as Python writes it, or where an invariant is looked at that has no name.
"""

from __future__ import annotations

import ast
import os
import sys
import sysconfig
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from stress.history import Call
from stress.source import short_path
from stress.spec import Spec
from stress.specs import SPECS

__all__ = ["Calls", "Origin", "origin_of"]

Calls = tuple[tuple[Call, ...], ...]


class Origin(NamedTuple):
    """The object, as `module:attribute` or the like, its specification, and the calls: those at the start, those of
    each thread, and those at the end.
    """

    target: str
    spec: str
    calls: str

    def read(self) -> Calls:
        """The calls.

        Raises:
            ValueError: they are none.
        """
        try:
            found: Calls = ast.literal_eval(self.calls)
        except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError(str(error)) from None
        return found


def origin_of(factory: Callable[[], Any], spec: Spec, target: str, check: object, calls: Calls) -> Origin | None:
    """The origin of a scenario of calls; None if it cannot be told. `target` is what the caller knows the object by."""
    named = Origin(target or ("" if check else _reference(factory)), _reference_of(spec), repr(calls))
    try:
        return named if named.target and named.spec and named.read() == calls else None
    except ValueError:
        return None


def _reference(thing: Any) -> str:
    """By what name whoever is here finds a class or a function in another process; empty: by none. What a script holds
    is not found, for the script would have to run again.
    """
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    if module is None or module.__name__ == "__main__" or not isinstance(getattr(module, "__file__", None), str):
        return ""
    try:
        if attrgetter(thing.__qualname__)(module) is not thing:
            return ""
    except AttributeError:
        return ""
    file, by_name = Path(str(module.__file__)), Path(*module.__name__.split("."))
    is_at_hand = any(
        file in (Path(place, by_name, "__init__.py"), Path(place, by_name).with_suffix(".py")) for place in _places()
    )
    return f"{module.__name__ if is_at_hand else short_path(str(file))}:{thing.__qualname__}"


def _places() -> tuple[str, ...]:
    """Where another process finds modules, too: not where this one alone has been told to look."""
    paths = sysconfig.get_paths()
    return os.getcwd(), paths["stdlib"], paths["purelib"], paths["platlib"], str(Path(__file__).parents[2])


def _reference_of(spec: Spec) -> str:
    """The same for what makes a specification that is the same."""
    kind = type(spec)
    name = spec.name if SPECS.get(spec.name) is kind else _reference(kind)
    try:
        return name if vars(kind()) == vars(spec) else ""
    except TypeError:
        return ""
