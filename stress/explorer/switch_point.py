"""Switch points: places in plain code where the explorer chooses the next thread, as before every access of a
reference.

All of them count as accesses of one place, each of which may change it. So no two of different threads are ever taken
as independent.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from stress.explorer.slots import Seam

__all__ = ["SwitchPoint", "switch_point", "switching"]


class SwitchPoint:
    """The object accessed at a switch point. All have one name and one value: to strategies they are one place."""

    __slots__ = ("what",)
    _name: Final = 0
    _value: Final = None

    def __init__(self, what: str) -> None:
        self.what = what


_seam: Seam | None = None


def switch_point(what: str) -> None:
    """Announce that the calling thread is about to do `what` to something that threads share without an
    `AtomicReference`.

    While `stress.explore` runs, another thread may run first here, and the trace shows `what`. Mark every place where
    plain code reads or changes shared data: everything up to the next switch point, or access of a reference, is one
    step. At other times the call does nothing, in some fifty nanoseconds.

    >>> from stress import switch_point
    >>> switch_point("write the total")
    """
    seam = _seam
    if seam is not None and seam.before is not None:
        seam.before(SwitchPoint(what), None, None)


@contextmanager
def switching(seam: Seam) -> Iterator[None]:
    """Within the block, switch points are decisions of the scheduler on `seam`."""
    global _seam
    _seam = seam
    try:
        yield
    finally:
        _seam = None
