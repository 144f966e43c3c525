"""Instructions that may call back: a function in C that calls the program goes on with its work after it, so its step
is made again then.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType
from typing import ClassVar, Final

from stress.explorer import sites
from stress.explorer.places import Place
from stress.explorer.policy import Treatment, treatment_of

__all__ = ["CallBacks"]


class CallBacks:
    """The instructions that run and may call back, with their places. The frames of the files in `ours` are not the
    program's: those from which it is called add themselves.
    """

    ours: ClassVar[set[str]] = {__file__, sites.__file__}

    def __init__(self) -> None:
        self.marks: dict[int, tuple[int, Place, bool]] = {}
        """By the identity of the frame, which may have ended: another one passes the site of an instruction first."""

    def add(self, place: Place | None, changes: bool) -> None:
        """The instruction that runs may call back."""
        if place is None and not self.marks:
            return
        frame = sys._getframe(2)
        while frame.f_code.co_filename in self.ours and frame.f_back is not None:
            frame = frame.f_back
        self.forget(frame)
        if place is not None:
            self.marks[id(frame)] = frame.f_lasti, place, changes

    def forget(self, frame: FrameType) -> None:
        """Forget what a function that runs has marked before."""
        self.marks.pop(id(frame), None)

    def goes_on(self, frame: FrameType, before: Callable[..., None]) -> None:
        """A function returns: if an instruction has called it back, that goes on with its work."""
        self.forget(frame)
        caller = frame.f_back
        while caller is not None and (
            caller.f_code.co_filename == sites.__file__ or treatment_of(caller.f_code) is Treatment.OPAQUE
        ):
            caller = caller.f_back
        if caller is None or id(caller) not in self.marks:
            return
        at, place, changes = self.marks[id(caller)]
        if at <= caller.f_lasti <= _instruction_behind(caller.f_code, at):
            before(place, None, "write") if changes else before(place)


@cache
def _instruction_behind(code: CodeType, at: int) -> int:
    """Where the instruction lies that a site is about, which looks its operands up at another place before it."""
    for each in dis.get_instructions(code):
        if each.offset > at and each.opname not in _BETWEEN:
            return each.offset
    return at


_BETWEEN: Final = frozenset({"POP_TOP", "KW_NAMES", "PRECALL", "CACHE"})
"""Instructions between a look at the operands and what they are for."""
