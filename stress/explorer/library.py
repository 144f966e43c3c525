"""The state that modules of the standard library keep for themselves: caches and the like, which fill on first use. An
exploration begins when the calls have filled them, and does not put back what they were before.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from stress.explorer.containers import is_a, is_namespace
from stress.explorer.held import ATOMS
from stress.explorer.kinds import is_of_c
from stress.explorer.policy import module_of, standard_module

__all__ = ["state_of_library"]

_MOST: Final = 50_000


def state_of_library(codes: Iterable[CodeType]) -> dict[int, Any]:
    """What variables of the library's modules lead to, by identity: of those modules whose code these are. It ends at
    other modules, and at objects of the program's classes.
    """
    names = {name for each in codes if (name := standard_module(each.co_filename))}
    waiting: list[Any] = [vars(sys.modules[name]) for name in names if name in sys.modules]
    found: dict[int, Any] = {id(each): each for each in waiting}
    while waiting and len(found) < _MOST:
        holder = waiting.pop()
        for each in gc.get_referents(holder):
            if id(each) not in found and _is_of(names, each) and _leads_on(holder, each):
                found[id(each)] = each
                waiting.append(each)
    return found


def _leads_on(holder: Any, each: Any) -> bool:
    """A tuple holds what the program has given, but for the closure of a function."""
    return type(each) is not tuple or type(holder) is FunctionType


def _is_of(names: set[str], each: Any) -> bool:
    of = type(each)
    if of is FunctionType:
        return each.__module__ in names
    if of in _LEAVES or is_namespace(each):
        return False
    return module_of(each) in names if is_a(each, type) else is_of_c(of) or module_of(of) in names


_LEAVES: Final = ATOMS - {type, FunctionType} | {ModuleType, CodeType}
