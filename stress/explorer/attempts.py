"""Methods of containers that may leave them as they are: to pop from an empty one, to discard what is not there, to add
what is. A thread that tries again and again only reads until it succeeds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from stress.explorer.containers import is_a, items_in, size_of
from stress.explorer.held import ATOMS

__all__ = ["attempt"]


def attempt(owner: Any, name: str, given: tuple[Any, ...]) -> Callable[[], bool] | None:
    """A function that tells whether the method would change the container now; None if it may in any case. It runs no
    code of the program's: keys of other types than Python's own are not looked up.
    """
    if not given:
        return partial(_has_items, owner) if name in _REMOVING else None
    if name == "pop" and is_a(owner, (list, deque)):
        return partial(_has_items, owner)
    if type(given[0]) not in ATOMS:
        return None
    if is_a(owner, (list, deque)):
        if name == "__delitem__" and is_a(given[0], int):
            return partial(_has_items, owner)
        return partial(_may_hold, owner, given[0]) if name == "remove" else None
    if name in (_OF_DICT if is_a(owner, dict) else _OF_SET):
        return partial(_is_there, owner, given[0], name in _ADDING)
    return None


def _has_items(owner: Any) -> bool:
    return bool(size_of(owner))


def _may_hold(owner: Any, item: Any) -> bool:
    items = items_in(owner)
    return any(type(each) not in ATOMS for each in items) or item in items


def _is_there(owner: Any, key: Any, is_added: bool) -> bool:
    """Whether a key is there, or is missing if it is to be added; also if one of the program's own could equal it."""
    base = dict if is_a(owner, dict) else set
    if any(type(each) not in ATOMS for each in base.__iter__(owner)):
        return True
    return bool(base.__contains__(owner, key)) is not is_added


_REMOVING: Final = frozenset({"pop", "popleft", "popitem", "clear"})
_ADDING: Final = frozenset({"setdefault", "add"})
_OF_DICT: Final = frozenset({"pop", "setdefault", "__delitem__"})
_OF_SET: Final = frozenset({"add", "discard", "remove"})
