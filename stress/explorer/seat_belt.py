"""Before "every schedule" is said, threads of the operating system make the same calls for a moment. What they see must
be among what the explorer has seen: if it is not right, the explorer has missed a step, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from stress.checker.check import Budget, check
from stress.checker.waiting import may_wait
from stress.explorer.outliving import Snapshot
from stress.explorer.scenario import Around, Program
from stress.history import Call
from stress.outside import Outside
from stress.recorder.around import executed
from stress.recorder.record import Stuck, record
from stress.spec import Spec
from stress.verdicts import Verdict

__all__ = ["contradiction"]

_SECONDS: Final = 0.1
_MOST: Final = 40
"""Rounds."""
_PATIENCE: Final = 1.0
_YIELDS: Final = (0.2, 0.05, 0.5)
_BUDGET: Final = Budget(steps=200_000, seconds=1.0)


def contradiction(factory: Callable[[], Any], spec: Spec, program: Program, around: Around, seed: int) -> str:
    """What speaks against the verdict that every schedule is right; empty if nothing does, or nothing can be told."""
    calls = [*around.at_start, *(call for calls in program for call in calls), *around.at_end]
    with Outside():
        if may_wait(spec, calls):
            return ""
        before = Snapshot([factory])
        if not _is_right(factory, spec, calls, before):
            return ""
        return _contradiction(factory, spec, program, around, seed, calls, before)


def _contradiction(
    factory: Callable[[], Any],
    spec: Spec,
    program: Program,
    around: Around,
    seed: int,
    calls: list[Call],
    before: Snapshot,
) -> str:
    until = time.monotonic() + _SECONDS
    try:
        for number in range(_MOST):
            try:
                history = executed(
                    factory(), program, spec, around.at_start, around.at_end,
                    yields=_YIELDS[number % len(_YIELDS)], seed=f"{seed}/{number}",
                )  # fmt: skip
            except Stuck:
                return ""
            finally:
                before.put_back()
            if check(history, spec, budget=_BUDGET).verdict is Verdict.ILLEGAL:
                if not _is_right(factory, spec, calls, before):
                    return ""  # what outlives the object has changed
                told = ", ".join(f"thread {each.thread}: {each.describe()}" for each in history)
                return f"real threads got what none of these schedules gives ({told}): use stress.run"
            if time.monotonic() >= until:
                return ""
    except Exception:  # noqa: BLE001 - a factory or a call at the start that needs the explorer
        return ""
    return ""


def _is_right(factory: Callable[[], Any], spec: Spec, calls: list[Call], before: Snapshot) -> bool:
    """Whether one thread alone gets right answers now: what outlives the object may be in another state. What
    the calls change is put back to how it was `before`.
    """
    try:
        history = record(factory(), [[calls]], spec, patience=_PATIENCE)
        return check(history, spec, budget=_BUDGET).verdict is Verdict.LINEARIZABLE
    except Exception:  # noqa: BLE001 - as above
        return False
    finally:
        before.put_back()
