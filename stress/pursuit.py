"""Reduces a finding of real threads: the same fault in fewer calls, and its schedule.

Fresh threads execute the calls of the crucial window on fresh objects until the fault occurs again. Then they do so
without one of the calls, and so on, until no call can be left out. The explorer gets the remaining calls and finds the
schedule step by step, if it can explore the object. Every result has been executed and judged.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, Final

from stress.checker.check import Budget, check
from stress.explorer.explore import explore
from stress.explorer.scenario import Program
from stress.frozen_states import frozen_state, judged, with_frozen_states
from stress.history import UNSEEN, Call, History, Operation
from stress.processes import Team, Worker, WorkFailed
from stress.recorder.outcome import Outcome
from stress.recorder.record import Stuck, record
from stress.recorder.workload import Workload, as_arguments
from stress.reports.diagnosis import diagnose
from stress.reports.report import Report, report_on
from stress.spec import Spec, State
from stress.values import fresh
from stress.verdicts import Verdict

__all__ = ["pursue"]

_MOST_CALLS: Final = 24
"""The most calls of a window that is executed again: with more, the same fault would hardly occur again."""
_TRIES: Final = 300
_YIELDS: Final = (0.3, 0.1, 0.03)
_BUDGET: Final = Budget(steps=100_000, seconds=1.0)
_PATIENCE: Final = 1.0
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
    spec, diagnosis = judged(
        outcome.spec, lambda its: (its, diagnose(judgement, its, history.operations)), typed=judgement.types_count
    )
    if diagnosis is None:
        return None
    window = diagnosis.window
    ids = {each.id for each in window.operations}
    operations = sorted((each for each in history if each.id in ids), key=lambda each: each.call)
    if len(operations) > _MOST_CALLS:
        return None
    threads = dict.fromkeys(each.thread for each in operations)
    program = tuple(tuple((each.op, each.args) for each in operations if each.thread == thread) for thread in threads)
    before = [each for each in history if each.returned is not None and each.returned < operations[0].call]
    for workload in workloads:
        calls = _calls_to(with_frozen_states(workload.spec, getattr(spec, "types_count", False)), before, window.starts)
        smaller = None if calls is None else _made_smaller(workload, calls, program, deadline)
        if smaller is not None:
            return smaller
    return None


def _calls_to(spec: Spec, before: Sequence[Operation], states: Sequence[State]) -> list[Call] | None:
    """As few of the calls `before` as lead to one of these states, when made one after another. None if none do."""
    if spec.initial in states:
        return []
    for key in ("returned", "call"):
        calls = [(each.op, each.args) for each in sorted(before, key=lambda each: getattr(each, key))]
        state = _after(spec, calls)
        if state in states:
            return _fewest_to(spec, state, calls)
    return None


def _after(spec: Spec, calls: Sequence[Call]) -> State:
    state = spec.initial
    try:
        for op, args in calls:
            state = spec.step(state, op, args)[0]
    except Exception:  # noqa: BLE001 - a specification that has only `successors` has no step
        return UNSEEN
    return frozen_state(spec, state, "a state")


def _fewest_to(spec: Spec, state: State, calls: Sequence[Call]) -> list[Call]:
    """The calls that lead to a state, without those that are not needed; groups of calls, ever smaller, are tried."""
    kept, size = list(calls), len(calls)
    while size:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if _after(spec, fewer) == state:
                kept = fewer
            else:
                at += size
        size //= 2
    return kept


def _made(factory: Callable[[], Any], calls: Sequence[Call]) -> Any:
    made = factory()
    for op, args in calls:
        with suppress(Exception):
            getattr(made, op)(*fresh(args))
    return made


def _started(workload: Workload, calls: Sequence[Call]) -> Workload:
    """The workload, with a factory that makes these calls on each object."""
    spec = copy(workload.spec)
    spec.initial = _after(workload.spec, calls)
    return replace(workload, factory=partial(_made, workload.factory, calls), spec=spec)


def _made_smaller(workload: Workload, calls: Sequence[Call], program: Program, deadline: float) -> Report | None:
    started = _started(workload, calls) if calls else workload
    again = _fewest(started, program, deadline)
    left = max(1.0, deadline - time.monotonic())
    if again is None:
        return _explored(workload, calls, program, left)
    fewest, history = again
    return _explored(workload, calls, fewest, left) or report_on(history, started.spec, check(history, started.spec))


def _explored(workload: Workload, calls: Sequence[Call], program: Program, seconds: float) -> Report | None:
    """The explorer's finding in these calls, if it can explore the object: on a fresh object, or else on an object on
    which the earlier calls have been made.
    """
    threads = [as_arguments(each) for each in program]
    for before in ([], as_arguments(calls))[: 2 if calls else 1]:
        try:
            found = explore(
                workload.made if workload.reset else workload.factory, workload.given_spec, threads, at_start=before,
                check=workload.check, duration=seconds, target=workload.target,
            ).found  # fmt: skip
        except Exception:  # noqa: BLE001 - there is nothing to explore, or the object is not deterministic
            return None
        if found is not None:
            return found
    return None


def _fewest(workload: Workload, program: Program, deadline: float) -> tuple[Program, History] | None:
    """The program or a part of it that shows a fault, with the history; None if the fault does not occur again."""
    history = _wrong_again(workload, program, deadline)
    if history is None:
        return None
    tried = (_fewest(workload, smaller, deadline) for smaller in _smaller(program))
    return next((found for found in tried if found is not None), (program, history))


def _smaller(program: Program) -> Iterator[Program]:
    """The program without one of its threads, or without one of its calls; at least two threads remain."""
    for number in range(len(program)):
        if len(program) > 2:
            yield (*program[:number], *program[number + 1 :])
    for number, calls in enumerate(program):
        for at in range(len(calls)):
            left = (*calls[:at], *calls[at + 1 :])
            if left or len(program) > 2:
                yield (*program[:number], *((left,) if left else ()), *program[number + 1 :])


def _wrong_again(workload: Workload, program: Program, deadline: float) -> History | None:
    """A history of these calls that is not linearizable, if one occurs in some hundred attempts."""
    for attempt in range(_TRIES):
        if time.monotonic() > deadline:
            return None
        yields = _YIELDS[attempt % len(_YIELDS)]
        try:
            subject = workload.made()
            history = record(
                subject, [[calls] for calls in program], workload.spec, yields=yields, seed=attempt, patience=_PATIENCE
            )
        except Stuck:
            return None
        if check(history, workload.spec, budget=_BUDGET).verdict is Verdict.ILLEGAL:
            return history
    return None
