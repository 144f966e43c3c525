"""The origin of a scenario: the names of its object and specification, and its calls as text.

A token with an origin can be replayed by a command. There is no origin if the object is made by a function within a
function, if an argument has no Python notation, or if there is a check that has no name.
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

from stress.frozen_states import class_of
from stress.history import Call
from stress.reference import is_as_made
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
            ValueError: the texts are not calls.
        """
        try:
            found: Calls = ast.literal_eval(self.calls)
        except (SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError(str(error)) from None
        return found


def origin_of(factory: Callable[[], Any], spec: Spec | None, target: str, check: object, calls: Calls) -> Origin | None:
    """The origin of a scenario, or None if it has none. `target` is the caller's name for the object. Without a
    specification, its name is empty.
    """
    judge = "" if spec is None else _reference_of(spec)
    named = Origin(target or ("" if check else _reference(factory)), judge, repr(calls))
    try:
        return named if named.target and (judge or spec is None) and named.read() == calls else None
    except ValueError:
        return None


def _reference(thing: Any) -> str:
    """The name by which another process, started from here, finds a class or a function; empty if there is none. An
    object of a script has none, since the script would have to run again.
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
    """The places where another process finds modules, too: not those added to this process alone."""
    paths = sysconfig.get_paths()
    return os.getcwd(), paths["stdlib"], paths["purelib"], paths["platlib"], str(Path(__file__).parents[2])


def _reference_of(spec: Spec) -> str:
    """The same for a class or factory that makes an equal specification."""
    kind = class_of(spec)
    name = spec.name if SPECS.get(spec.name) is kind else _reference(kind)
    return name if is_as_made(spec) else ""
