"""Signal handlers are no part of the object: they run in the middle of whatever the main thread does, and what they
raise is for the caller of the exploration.
"""

from __future__ import annotations

import functools
import signal
from types import CodeType, FrameType, TracebackType

__all__ = ["handlers", "interruption", "is_handling"]


def handlers() -> frozenset[CodeType]:
    """The code of each signal handler in Python."""
    found = set()
    for number in signal.valid_signals():
        handler = signal.getsignal(number)
        while isinstance(handler, functools.partial):
            handler = handler.func
        for each in (handler, getattr(type(handler), "__call__", None)):  # noqa: B004 - the function itself
            code = getattr(getattr(each, "__func__", each), "__code__", None)
            if isinstance(code, CodeType):
                found.add(code)
    return frozenset(found)


def is_handling(frame: FrameType | None, codes: frozenset[CodeType]) -> bool:
    """Whether a frame is that of one of these handlers, or of a function that one of them calls."""
    while frame is not None and frame.f_code not in codes:
        frame = frame.f_back
    return frame is not None


def interruption(error: BaseException, codes: frozenset[CodeType]) -> BaseException | None:
    """Return the exception from outside by which a call was about to end when `error` ended it: Ctrl-C, or what one of
    these handlers raised. None if there is none.

    To leave a `with` block is a step, at which the others go on and the execution may come to its end.
    """
    each: BaseException | None = error
    while each is not None and not (isinstance(each, KeyboardInterrupt) or _is_raised_in(each.__traceback__, codes)):
        each = each.__context__
    return each


def _is_raised_in(traceback: TracebackType | None, codes: frozenset[CodeType]) -> bool:
    while traceback is not None and traceback.tb_frame.f_code not in codes:
        traceback = traceback.tb_next
    return traceback is not None
