"""What an object consists of: its attributes, items, and variables of its functions, with all that these hold."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

from stress.answers import attributes_of
from stress.explorer.containers import CONTAINERS, is_a, items_in, items_of
from stress.explorer.kinds import QUIET, Kind, is_of_c, kind_of

__all__ = ["ATOMS", "FUNCTION_OF_C", "held"]

ATOMS: Final = frozenset({type(None), bool, int, float, complex, str, bytes, type, FunctionType})
"""Types whose objects hold nothing that changes; but a function may."""
FUNCTION_OF_C: Final = type(len)
_SAID: Final = ATOMS - {type, FunctionType}
_LEAVES: Final = ATOMS - {FunctionType}


def held(made: Any, kinds: tuple[type, ...] = (), most: int = 2_000) -> Iterator[tuple[Any, str]]:
    """What an object consists of and may change, and objects of the given `kinds`, each with its place."""
    seen: dict[int, Any] = {}
    waiting: deque[tuple[Any, str]] = deque([(made, "")])
    while waiting and len(seen) < most:
        each, where = waiting.popleft()
        of = type(each)
        if of in _LEAVES or id(each) in seen:
            continue
        seen[id(each)] = each
        kind = kind_of(of)
        if kind is Kind.MODULE or kind is Kind.TYPE:
            continue
        if kind is not QUIET or (kinds and issubclass(of, kinds)):
            yield each, where
        is_python = not is_of_c(of)
        if is_python and of.__base__ is object:
            pass  # it has attributes, and nothing else
        elif issubclass(of, dict):
            for at, (key, item) in enumerate(items_of(each).items()):
                waiting += [(item, f"{where}[{_word(key, at)}]")] * (type(item) not in ATOMS)
                waiting += [(key, f"keys of {where}")] * (type(key) not in ATOMS)
        elif issubclass(of, (list, tuple, deque)):
            items = enumerate(items_in(each))
            waiting.extend((item, f"{where}[{at}]") for at, item in items if type(item) not in ATOMS)
        elif issubclass(of, (set, frozenset)):
            waiting.extend((item, f"items of {where}") for item in items_in(each) if type(item) not in ATOMS)
        elif issubclass(of, BaseException):
            waiting.append((each.args, f"{where}.args"))
        elif of is FunctionType:
            for name, cell in zip(each.__code__.co_freevars, each.__closure__ or (), strict=True):
                yield cell, f"{where}()"
                try:
                    waiting.append((cell.cell_contents, f"{where}().{name}"))
                except ValueError:
                    continue  # not assigned yet
            waiting.extend((item, f"{where}()") for item in each.__defaults__ or ())
            waiting.extend((item, f"{where}.{name}") for name, item in vars(each).items())
        elif of is MethodType:
            waiting += [(each.__self__, f"{where}.__self__"), (each.__func__, f"{where}.__func__")]
        elif of is partial:
            waiting.extend((item, f"{where}()") for item in (each.func, *each.args, *each.keywords.values()))
        elif kind in (Kind.VIEW, Kind.ITERATOR):
            waiting.extend((item, f"items of {where}") for item in gc.get_referents(each))
        elif of is FUNCTION_OF_C and not is_a(each.__self__, ModuleType):
            waiting.append((each.__self__, f"{where}.__self__"))
        if (is_python or of is SimpleNamespace) and (kind is not QUIET or each is made):
            for name, item in (*attributes_of(each), *_shared_attributes_of(each)):
                if type(item) not in _LEAVES:
                    waiting.append((item, f"{where}.{name}" if where else name))


def _word(key: Any, at: int) -> str:
    """A key in words; its number if its own class would have to say them."""
    return repr(key) if type(key) in _SAID else f"key {at}"


def _shared_attributes_of(each: Any) -> Iterator[tuple[str, Any]]:
    """The containers that all objects of a class share."""
    for base in type(each).__mro__:
        if not is_of_c(base):
            for name, item in list(vars(base).items()):
                if type(item) not in ATOMS and is_a(item, CONTAINERS) and not name.startswith("__"):
                    yield f"__class__.{name}", item
