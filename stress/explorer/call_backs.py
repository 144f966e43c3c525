"""Instructions that may call back: a function in C that calls the program goes on with its work after it, so its step
is made again then.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import cache
from types import CodeType, FrameType
from typing import Any, ClassVar, Final

from stress.explorer import sites
from stress.explorer.places import Place
from stress.explorer.policy import Treatment, treatment_of

__all__ = ["CallBacks"]


class CallBacks:
    """For each thread, the instructions that run and may call back, with their places. The frames of the files in
    `ours` are not the program's: those from which it is called add themselves.
    """

    ours: ClassVar[set[str]] = {__file__, sites.__file__}

    def __init__(self) -> None:
        self.marks: dict[int, list[Any]] = {}
        """The innermost instruction is the last."""

    def add(self, me: int, place: Place | None, changes: bool) -> None:
        """The instruction that runs may call back."""
        if place is None and me not in self.marks:
            return
        frame = sys._getframe(2)
        while frame.f_code.co_filename in self.ours and frame.f_back is not None:
            frame = frame.f_back
        self.forget(me, frame)
        if place is not None:
            self.marks.setdefault(me, []).append((frame, frame.f_lasti, place, changes))

    def forget(self, me: int, frame: FrameType) -> None:
        """Forget what a function that runs, and all that it has called, have marked before."""
        if me not in self.marks:
            return
        marks = self.marks[me]
        for at, mark in enumerate(marks):
            if mark[0] is frame:
                del marks[at:]
                break
        if len(marks) > _MANY:  # functions that have ended by an exception
            running = set[FrameType]()
            each: FrameType | None = frame
            while each is not None:
                running.add(each)
                each = each.f_back
            marks[:] = [mark for mark in marks if mark[0] in running]
        if not marks:
            del self.marks[me]

    def goes_on(self, me: int, frame: FrameType, before: Callable[..., None]) -> None:
        """A function returns: if an instruction has called it back, that goes on with its work."""
        self.forget(me, frame)
        if me not in self.marks:
            return
        caller = frame.f_back
        while caller is not None and (
            caller.f_code.co_filename == sites.__file__ or treatment_of(caller.f_code) is Treatment.OPAQUE
        ):
            caller = caller.f_back
        for marked, at, place, changes in reversed(self.marks[me]):
            if marked is caller:
                if at <= caller.f_lasti <= _instruction_behind(caller.f_code, at):
                    if changes:
                        before(place, None, "write")
                    else:
                        before(place)
                return


@cache
def _instruction_behind(code: CodeType, at: int) -> int:
    """Where the instruction lies that a site is about, which looks its operands up at another place before it."""
    for each in dis.get_instructions(code):
        if each.offset > at and each.opname not in _BETWEEN:
            return each.offset
    return at


_BETWEEN: Final = frozenset({"POP_TOP", "KW_NAMES", "PRECALL", "CACHE"})
"""Instructions between a look at the operands and what they are for."""
_MANY: Final = 8
