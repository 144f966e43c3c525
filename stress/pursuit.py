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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, cycle
from random import Random
from typing import Any, Final

from stress.checker.check import Budget, check
from stress.explorer.explore import explore
from stress.explorer.scenario import Program, Scenarios
from stress.frozen_states import judged
from stress.history import MAIN, Call, History, of_one_thread
from stress.processes import Team, Worker, WorkFailed
from stress.recorder.around import executed
from stress.recorder.outcome import Outcome
from stress.recorder.record import Stuck
from stress.recorder.workload import Workload, as_arguments, as_calls
from stress.reports.diagnosis import diagnose
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
    if diagnosis is None or of_one_thread(history):  # it was made small where it was found
        return None
    ids = {each.id for each in diagnosis.window.operations}
    met = [each for each in sorted(history, key=lambda each: each.call) if each.id in ids and each.thread != MAIN]
    threads = dict.fromkeys(each.thread for each in met)
    program = tuple(tuple((each.op, each.args) for each in met if each.thread == thread) for thread in threads)
    tried = [(each, program, range(_TRIES)) for each in workloads if len(met) <= _MOST_CALLS and len(threads) > 1]
    left = deadline - time.monotonic()
    first = (_explored(workload, program, left / 4) for workload, *_ in tried if len(met) <= _FEW_CALLS)
    then = (_explored(workload, None, left / 2 / len(workloads)) for workload in workloads)
    found = next((report for report in chain(first, then) if report is not None), None)
    for workload, drawn, attempts in chain(tried, _drawn(workloads, outcome.seed)) if found is None else ():
        if time.monotonic() > deadline:
            return None
        wrong = _wrong(workload, drawn, attempts, deadline)
        if wrong is not None:
            return _made_smaller(workload, drawn, wrong, deadline)
    return found


def _drawn(workloads: Sequence[Workload], seed: int) -> Iterator[tuple[Workload, Program, Iterable[int]]]:
    """Calls that are drawn for threads: one for each, two, and so on, and again; each is to be tried once, with the
    next seed.
    """
    random = Random(f"{seed}/fewer calls")
    for number, length in enumerate(cycle(_LENGTHS)):
        for workload in workloads:
            plans = workload.plans(random, max(2, len(workload.roles)), 1, length)
            program = tuple(tuple(calls) for (calls,) in plans)
            yield workload, program, [number] if all(program) else []


def _made_smaller(workload: Workload, program: Program, history: History, deadline: float) -> Report | None:
    """The report on as few of the calls as go wrong again, and at least two threads; with the schedule, if the explorer
    finds it.
    """
    found = [(program, history)]

    def are_wrong(calls: Sequence[tuple[int, Call]]) -> bool:
        threads = [tuple(call for thread, call in calls if thread == number) for number in range(len(program))]
        fewer = tuple(filter(None, threads))
        again = _wrong(workload, fewer, range(_TRIES), deadline) if len(fewer) > 1 else None
        found.extend([] if again is None else [(fewer, again)])
        return again is not None

    needed([(number, call) for number, calls in enumerate(program) for call in calls], are_wrong)
    fewest, history = found[-1]
    explored = _explored(workload, fewest, max(1.0, deadline - time.monotonic()))
    return explored or report_on(history, workload.spec, check(history, workload.spec))


def _explored(workload: Workload, program: Program | None, seconds: float) -> Report | None:
    """The explorer's finding in these calls, or in scenarios that it draws, if it can explore the object."""
    threads: Any = Scenarios(workload.operations, workload.roles)
    around: dict[str, Any] = {}
    if program is not None:
        threads = [as_arguments(each) for each in program]
        around = {"at_start": workload.at_start, "at_end": workload.at_end}
    elif workload.at_start or workload.at_end:
        return None
    factory = workload.made if workload.reset else workload.factory
    try:
        return explore(
            factory, workload.given_spec, threads, duration=seconds, target=workload.target, **workload.demand, **around
        ).found
    except Exception:  # noqa: BLE001 - there is nothing to explore, or the object is not deterministic
        return None


def _wrong(workload: Workload, program: Program, attempts: Iterable[int], deadline: float) -> History | None:
    """The history of threads that have made these calls, if one that is not linearizable occurs in these attempts."""
    spec = workload.spec
    for attempt in attempts:
        if time.monotonic() > deadline:
            break
        with suppress(Stuck):
            history = executed(
                workload.made(), program, spec, as_calls(workload.at_start), as_calls(workload.at_end),
                yields=_YIELDS[attempt % len(_YIELDS)], seed=attempt,
            )  # fmt: skip
            if check(history, spec, budget=_BUDGET).verdict is Verdict.ILLEGAL:
                return history
    return None
