"""Calls that one thread makes alone: on an object before its threads begin and when they have ended, or all that there
are, to find out whether threads are needed at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from stress.checker.check import Budget, check
from stress.checker.waiting import may_wait
from stress.history import MAIN, Call, History, Operation, renumbered
from stress.recorder.record import Stuck, record
from stress.reports.window import needed
from stress.spec import Spec
from stress.verdicts import Verdict

_PATIENCE: Final = 1.0
_SECONDS: Final = 3.0
_BUDGET: Final = Budget(steps=200_000, seconds=1.0)


def alone(subject: Any, calls: Sequence[Call], spec: Spec, patience: float) -> Sequence[Operation]:
    """The operations of these calls, made one after another by one thread.

    Raises:
        Stuck: one of them did not return.
    """
    return record(subject, [[calls]], spec, patience=patience).operations if calls else ()


def joined(before: Sequence[Operation], met: History, after: Sequence[Operation]) -> History:
    """A history of threads, with what was called before and after, at times of which only the order counts."""
    last = max((each.returned or each.call for each in met), default=0)
    around = [
        each._replace(thread=MAIN, call=since + 2 * at, returned=since + 2 * at + 1)
        for since, made in ((-2 * len(before) - 2, before), (last + 2, after))
        for at, each in enumerate(made)
    ]
    return History(renumbered([*around, *met]), met.header)


def executed(
    subject: Any,
    program: Sequence[Sequence[Call]],
    spec: Spec,
    at_start: Sequence[Call],
    at_end: Sequence[Call],
    *,
    yields: float,
    seed: int | str,
    patience: float = _PATIENCE,
) -> History:
    """The history of the calls of each thread, made at the same time, and of those before and after.

    Raises:
        Stuck: one of them did not return.
    """
    before = alone(subject, at_start, spec, patience)
    met = record(subject, [[list(calls)] for calls in program], spec, yields=yields, seed=seed, patience=patience)
    return joined(before, met, alone(subject, at_end, spec, patience))


def wrong_alone(make: Callable[[], Any], calls: Sequence[Call], spec: Spec) -> History | None:
    """A history of some of these calls, made by one thread alone on a fresh object, that is wrong; None if that of all
    of them is right, or one of them may have to wait. As few calls as are found in some seconds.
    """
    if may_wait(spec, calls):
        return None

    def made(some: Sequence[Call]) -> History | None:
        try:
            # Each call is a round, so that a snapshot is read before the next one.
            history = record(make(), [[[each] for each in some]], spec, patience=_PATIENCE)
        except Stuck:
            return None
        return history if check(history, spec, budget=_BUDGET).verdict is Verdict.ILLEGAL else None

    if made(calls) is None:
        return None
    deadline = time.monotonic() + _SECONDS
    few = needed(calls, lambda some: time.monotonic() < deadline and made(some) is not None)
    return made(few)
