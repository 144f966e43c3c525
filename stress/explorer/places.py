"""Places that threads share without an `AtomicReference`, and the name of several that one step accesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = ["FOREIGN", "Attempt", "Place", "Several", "meet", "words_of"]

FOREIGN: Final = ("objects of other languages", None)
"""The name of the one place for all that is written in C and not known, and for what is outside the process."""


class Place:
    """A place of plain values."""

    __slots__ = ("_name", "what")
    _value: Any = None

    def __init__(self, name: Any, what: str) -> None:
        self._name, self.what = name, what


class Attempt(Place):
    """A place as accessed by a step that changes it only if it `succeeds` then. If not, the step is a read."""

    __slots__ = ("_succeeds",)

    def __init__(self, name: Any, what: str, succeeds: Callable[[], bool]) -> None:
        super().__init__(name, what)
        self._succeeds = succeeds

    @property
    def _value(self) -> Any:
        return None if self._succeeds() else False


class Several(frozenset[Any]):
    """The names of all places that one step accesses, as one name."""


def meet(one: Any, other: Any) -> bool:
    """Whether two names have a place in common."""
    if one == other:
        return True
    if type(one) is Several:
        return not one.isdisjoint(other) if type(other) is Several else other in one
    return type(other) is Several and one in other


def words_of(keys: Iterable[tuple[Any, Any]]) -> str:
    """The places that a step accesses, for a reader."""
    return ", ".join(dict.fromkeys(map(_told, keys)))


def _told(key: tuple[Any, Any]) -> str:
    where, name = key
    if name is None:
        return f"items of {where}" if where != FOREIGN[0] else where
    return f"{where}.{name}" if where else str(name)
