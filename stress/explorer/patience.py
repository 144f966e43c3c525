"""Limits calls that run alone, which may never return."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from stress.explorer.slots import Seam

__all__ = ["Endless", "patience"]


class Endless(BaseException):
    """A call that runs alone makes more accesses than any call needs."""


@contextmanager
def patience(seam: Seam, accesses: int = 50_000) -> Iterator[None]:
    """Limit the number of accesses within the block, where no machine is running.

    Raises:
        Endless: there are more.
    """
    left = accesses

    def before(*_: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Endless

    seam.before = before
    try:
        yield
    finally:
        seam.before = None
