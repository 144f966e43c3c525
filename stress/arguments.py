"""Numbers on the command line."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T", int, float)


def positive(kind: Callable[[str], T]) -> Callable[[str], T]:
    """The `type` of an argument that is a number of this kind, greater than 0.

    >>> positive(float)("1.5")
    1.5
    """

    def number(text: str) -> T:
        value = kind(text)
        if not value > 0:  # true for NaN, too
            raise ArgumentTypeError(f"must be more than 0, not {text}")
        return value

    return number
