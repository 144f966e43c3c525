"""Whether a thread works or sleeps, as the system sees it; and whether it has ended."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_LOOK: Final = 0.001


def rest_of(native_id: int | None) -> tuple[bool, float]:
    """Whether a thread of this process sleeps at this moment, and the seconds that it has taken of a processor. Where
    the system does not tell, it looks asleep.
    """
    try:
        with open(
            f"/proc/self/task/{native_id}/stat", "rb"
        ) as told:  # a text would be decoded by code that may have steps
            state, *fields = told.read().rpartition(b")")[2].split()
    except OSError:  # it has ended, or this is another system
        return True, 0.0
    return state == b"S", (int(fields[10]) + int(fields[11])) / _TICKS


def end_of(threads: Collection[threading.Thread], seconds: float) -> None:
    """Return when these threads have ended, or after so many seconds. An interruption of `start` may leave one that has
    no identity yet, so that it cannot be joined.
    """
    deadline = time.monotonic() + seconds
    while any(each in threads for each in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(_LOOK)
