"""Methods of containers that may leave them as they are: to pop from an empty one, to discard what is not there, to add
what is. A thread that tries again and again only reads until it succeeds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from stress.explorer.containers import is_a, items_of, size_of
from stress.explorer.held import ATOMS

__all__ = ["attempt"]


def attempt(owner: Any, name: str, given: tuple[Any, ...]) -> Callable[[], bool] | None:
    """A function that tells whether the method would change the container now; None if it may in any case. It runs no
    code of the program's: keys of other types than Python's own are not looked up.
    """
    of = next(each for each in _ATTEMPTS if is_a(owner, each))
    if name not in _ATTEMPTS[of] or (given and type(given[0]) not in ATOMS):
        return None
    return partial(_would_change, owner, of, name, given)


def _would_change(owner: Any, of: Any, name: str, given: tuple[Any, ...]) -> bool:
    """Tried on a copy, in which any item of the program's own could equal what is given."""
    items = items_of(owner)
    if not given or (of in (list, deque) and name != "remove"):
        return bool(items)
    if any(type(each) not in ATOMS for each in items):
        return True
    tried = of(items)
    try:
        getattr(tried, name)(*given)
    except (LookupError, ValueError, TypeError):
        return False
    return size_of(tried) != len(items)


_OF_LISTS: Final = frozenset({"pop", "popleft", "clear", "remove", "__delitem__"})
_ATTEMPTS: Final[dict[type, frozenset[str]]] = {
    list: _OF_LISTS,
    deque: _OF_LISTS,
    dict: frozenset({"pop", "popitem", "clear", "setdefault", "__delitem__"}),
    set: frozenset({"pop", "clear", "add", "discard", "remove"}),
}
"""The methods that may leave a container as it is."""
