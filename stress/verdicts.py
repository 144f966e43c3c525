"""One rule for every verdict, and the exit status that goes with it.

A fault is a finding, whatever else happened. LINEARIZABLE is said only of what was completed, overlapped and was
judged. For anything less there is a reason, and with a reason the verdict is UNKNOWN: it says nothing, good or bad.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Final


class Verdict(Enum):
    """What was found."""

    LINEARIZABLE = "linearizable"
    ILLEGAL = "NOT linearizable"
    UNKNOWN = "undecided"


EXIT_STATUS: Final[Mapping[Verdict, int]] = MappingProxyType(
    {Verdict.LINEARIZABLE: 0, Verdict.ILLEGAL: 1, Verdict.UNKNOWN: 2}
)
"""0: all was judged, and right. 1: something is wrong. 2: nothing can be said."""


def verdict_of(*, found: bool, missing: Sequence[str]) -> Verdict:
    """The verdict. `missing` are the reasons why not everything was completed, overlapped and judged."""
    if found:
        return Verdict.ILLEGAL
    return Verdict.UNKNOWN if missing else Verdict.LINEARIZABLE


def status_of(statuses: Sequence[int]) -> int:
    """The exit status for several verdicts together: wrong takes precedence, then unknown.

    >>> status_of([0, 2, 1]), status_of([0, 2]), status_of([0]), status_of([])
    (1, 2, 0, 2)
    """
    return 1 if 1 in statuses else 2 if 2 in statuses or not statuses else 0


_NAMED: Final = {
    "SIGSEGV": "a segmentation fault",
    "SIGABRT": "it aborted",
    "SIGBUS": "a bus error",
    "SIGFPE": "an arithmetic fault",
    "SIGILL": "an illegal instruction",
    "SIGKILL": "killed from outside, as for lack of memory",
    "SIGTERM": "told from outside to end",
}


def end_of_process(exitcode: int | None) -> str:
    """How a process ended prematurely, in a few words.

    >>> end_of_process(-11), end_of_process(3)
    ('ended by SIGSEGV (a segmentation fault)', 'ended by itself with exit status 3')
    """
    if exitcode is None or exitcode >= 0:
        return f"ended by itself with exit status {exitcode}"
    try:
        name = signal.Signals(-exitcode).name
    except ValueError:
        return f"ended by signal {-exitcode}"
    told = f" ({_NAMED[name]})" if name in _NAMED else ""
    return f"ended by {name}{told}"
