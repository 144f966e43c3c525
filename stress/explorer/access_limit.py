"""Limits calls that run alone, which may never return."""

from __future__ import annotations

from stress.explorer.slots import Seam

__all__ = ["AccessLimit", "Endless"]


class Endless(BaseException):
    """A call that runs alone makes more accesses than any call needs."""


class AccessLimit:
    """Limits the number of accesses within the block, where no machine is running: one more raises `Endless`."""

    def __init__(self, seam: Seam, accesses: int = 50_000) -> None:
        self._seam, self._left = seam, accesses

    def __enter__(self) -> None:
        self._seam.before = self._before

    def __exit__(self, *_: object) -> None:
        self._seam.before = None

    def _before(self, *_: object) -> None:
        self._left -= 1
        if self._left < 0:
            raise Endless
