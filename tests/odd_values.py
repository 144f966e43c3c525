"""Values of classes of their own that look like others: what is stored of them is easily another value."""

from __future__ import annotations

import enum
from typing import Any


class Number(enum.IntEnum):
    ONE = 1


class Name(str):
    __slots__ = ()


class Mute(str):
    """Its text is there, but its methods do not give it."""

    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        raise ZeroDivisionError

    def __str__(self) -> str:
        raise ZeroDivisionError


class MuteNumber(int):
    """The same for a number."""

    def __int__(self) -> int:
        raise ZeroDivisionError

    __abs__ = __index__ = __int__


class Raises(int):
    """Whatever is done with it."""

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError

    def __hash__(self) -> int:
        return 1

    def __str__(self) -> str:
        raise ZeroDivisionError

    __repr__ = __str__


def cyclic() -> list[Any]:
    """A list that holds itself."""
    found: list[Any] = []
    found.append(found)
    return found
