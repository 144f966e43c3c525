"""Reduces a finding of real threads: the same fault in fewer calls, and its schedule.

Fresh threads execute the calls of the crucial window on fresh objects until the fault occurs again. Then they do so
without one of the calls, and so on, until no call can be left out. The explorer gets the remaining calls and finds the
schedule step by step, if it can explore the object. If the window has too many calls, or the fault does not occur
again, a few calls are drawn instead, as they are drawn for a batch: first for the explorer, and then for threads, ever
more of them. Every result has been executed and judged.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, cycle, product
from random import Random
from typing import Any, Final

from stress.checker.check import Budget, check
from stress.explorer.explore import explore
from stress.explorer.generation import Scenarios
from stress.explorer.scenario import Program
from stress.frozen_states import judged
from stress.history import MAIN, Call, History
from stress.processes import Team, Worker, WorkFailed
from stress.recorder.around import executed
from stress.recorder.outcome import Outcome
from stress.recorder.record import Stuck
from stress.recorder.workload import Workload, as_arguments, as_calls
from stress.reports.diagnosis import diagnose
from stress.reports.faults import WRONG_ALONE
from stress.reports.report import Report, report_on
from stress.reports.window import needed
from stress.spec import Spec
from stress.verdicts import Verdict

_MOST_CALLS: Final = 24
"""The most calls of a window that is executed again: with more, the same fault would hardly occur again."""
_FEW_CALLS: Final = 8
"""The most calls that the explorer gets as they are."""
_TRIES: Final = 300
_YIELDS: Final = (0.3, 0.1, 0.03)
_BUDGET: Final = Budget(steps=100_000, seconds=1.0)
_LENGTHS: Final = (1, 2, 3, 4, 6)
_PROGRAMS: Final = 40
"""Programs of each length that are drawn one after another."""
_GRACE: Final = 3.0
"""Seconds after which the process that searches is given up: the object hangs where nothing can interrupt it."""


def pursue(outcome: Outcome, workloads: Sequence[Workload], seconds: float, *, apart: bool) -> Outcome:
    """The outcome, with the same fault in fewer calls if that is found within about `seconds`. Ctrl-C ends the search.
    `apart`: in a process of its own, which the object may bring down.
    """
    if outcome.judgement is None or outcome.judgement.failure is None or outcome.trouble:
        return outcome
    try:
        smaller = (_pursued_apart if apart else _pursued)(outcome, workloads, seconds)
    except KeyboardInterrupt:
        return outcome
    return replace(outcome, smaller=smaller)


def _pursued_apart(outcome: Outcome, workloads: Sequence[Workload], seconds: float) -> Report | None:
    deadline = time.monotonic() + seconds + _GRACE
    with suppress(WorkFailed), Team(1, _send, outcome, workloads, seconds) as team:
        for message in team.messages():
            if isinstance(message, bytes):
                report: Report = pickle.loads(message)
                return replace(report, spec=outcome.spec)
            if time.monotonic() > deadline:
                break
    return None


def _send(worker: Worker, outcome: Outcome, workloads: Sequence[Workload], seconds: float) -> None:
    report = _pursued(outcome, workloads, seconds)
    if report is not None:
        worker.send(pickle.dumps(replace(report, spec=Spec())))  # the other process has the specification


def _pursued(outcome: Outcome, workloads: Sequence[Workload], seconds: float) -> Report | None:
    deadline = time.monotonic() + seconds
    judgement, history = outcome.judgement, outcome.history
    assert judgement is not None
    assert history is not None
    diagnosis = judged(outcome.spec, lambda its: diagnose(judgement, its, history), typed=judgement.types_count)
    if diagnosis is None:
        return None
    if diagnosis.shape.name == WRONG_ALONE:  # it has been made small where it was found
        return None
    window = diagnosis.window
    ids = {each.id for each in window.operations}
    operations = sorted((each for each in history if each.id in ids), key=lambda each: each.call)
    met = [each for each in operations if each.thread != MAIN]
    threads = dict.fromkeys(each.thread for each in met)
    program = tuple(tuple((each.op, each.args) for each in met if each.thread == thread) for thread in threads)
    left = deadline - time.monotonic()
    tried = [(workload, program) for workload in workloads if len(met) <= _MOST_CALLS and len(threads) > 1]
    first = (_explored_program(*each, left / 4) for each in tried if len(met) <= _FEW_CALLS)
    then = (_made_smaller(*each, deadline) for each in tried)
    reports = chain(first, map(partial(_explored_anything, workloads), [left / 2]), then)
    found = next((report for report in reports if report is not None), None)
    return found or _drawn(workloads, outcome.seed, deadline)


def _explored_anything(workloads: Sequence[Workload], seconds: float) -> Report | None:
    """The explorer's finding in scenarios that it draws."""
    for workload in workloads:
        if not (workload.at_start or workload.at_end):
            found = _explored(workload, Scenarios(workload.operations, workload.roles), seconds / len(workloads), {})
            if found is not None:
                return found
    return None


def _drawn(workloads: Sequence[Workload], seed: int, deadline: float) -> Report | None:
    """A fault in calls that are drawn for threads: in one of each, two, and so on, and again."""
    random = Random(f"{seed}/fewer calls")
    for length in cycle(_LENGTHS):
        for workload, attempt in product(workloads, range(_PROGRAMS)):
            if time.monotonic() > deadline:
                return None
            plans = workload.plans(random, max(2, len(workload.roles)), 1, length)
            program = tuple(tuple(calls) for (calls,) in plans)
            if all(program) and _wrong(workload, program, attempt) is not None:
                return _made_smaller(workload, program, deadline)
    return None


def _made_smaller(workload: Workload, program: Program, deadline: float) -> Report | None:
    again = _fewest(workload, program, deadline)
    left = max(1.0, deadline - time.monotonic())
    if again is None:
        return _explored_program(workload, program, left)
    fewest, history = again
    found = _explored_program(workload, fewest, left)
    return found or report_on(history, workload.spec, check(history, workload.spec))


def _explored_program(workload: Workload, program: Program, seconds: float) -> Report | None:
    """The explorer's finding in these calls."""
    around = {"at_start": workload.at_start, "at_end": workload.at_end}
    return _explored(workload, [as_arguments(each) for each in program], seconds, around)


def _explored(workload: Workload, threads: Any, seconds: float, around: dict[str, Any]) -> Report | None:
    """The explorer's finding, if it can explore the object."""
    factory = workload.made if workload.reset else workload.factory
    try:
        return explore(
            factory, workload.given_spec, threads, duration=seconds, target=workload.target, **workload.demand, **around
        ).found
    except Exception:  # noqa: BLE001 - there is nothing to explore, or the object is not deterministic
        return None


def _fewest(workload: Workload, program: Program, deadline: float) -> tuple[Program, History] | None:
    """The program or a part of it that shows a fault, with the history; None if the fault does not occur again. At
    least two threads remain.
    """
    found: list[tuple[Program, History]] = []

    def are_wrong(calls: Sequence[tuple[int, Call]]) -> bool:
        threads = [tuple(call for thread, call in calls if thread == number) for number in range(len(program))]
        fewer = tuple(filter(None, threads))
        history = _wrong_again(workload, fewer, deadline) if len(fewer) > 1 else None
        found.extend([(fewer, history)] if history is not None else [])
        return history is not None

    everything = [(number, call) for number, calls in enumerate(program) for call in calls]
    if are_wrong(everything):
        needed(everything, are_wrong)
    return found[-1] if found else None


def _wrong_again(workload: Workload, program: Program, deadline: float) -> History | None:
    """A history of these calls that is not linearizable, if one occurs in some hundred attempts."""
    found = (_wrong(workload, program, attempt) for attempt in range(_TRIES) if time.monotonic() < deadline)
    return next((history for history in found if history is not None), None)


def _wrong(workload: Workload, program: Program, attempt: int) -> History | None:
    """The history of threads that have made these calls, if it is not linearizable."""
    spec = workload.spec
    try:
        history = executed(
            workload.made(), program, spec, as_calls(workload.at_start), as_calls(workload.at_end),
            yields=_YIELDS[attempt % len(_YIELDS)], seed=attempt,
        )  # fmt: skip
    except Stuck:
        return None
    return history if check(history, spec, budget=_BUDGET).verdict is Verdict.ILLEGAL else None
