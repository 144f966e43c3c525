"""The argument ``every``: the time between two rounds of repeated work."""

from __future__ import annotations

import datetime
import threading


def seconds_of(every: float | datetime.timedelta) -> float:
    """The argument `every` in seconds.

    Raises:
        TypeError: it is neither a number nor a timedelta.
        ValueError: it is not positive, or longer than a thread can wait.
    """
    seconds = every.total_seconds() if isinstance(every, datetime.timedelta) else every
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"every must be seconds or a timedelta, not {every!r}")
    if not 0 < seconds < threading.TIMEOUT_MAX:
        raise ValueError(f"every must be a positive time, not {every!r}")
    return seconds
