"""The trace of one execution: which thread accessed which slot, what it read, and which compare-and-set succeeded.

Objects in the trace get names, and the legend tells what each of them held at first (`names`). A report on a finding
has the small scenario, the sentence, the steps, and the command that shows it again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from stress.checker.check import Verdict, check
from stress.explorer.entered import CALLER
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import Drift, Execution, Machine, Strategy, frames
from stress.explorer.policy import PACKAGE, standard_module
from stress.explorer.scenario import describe
from stress.explorer.slots import Several, words_of
from stress.history import UNSEEN, show
from stress.reports.report import Report, Steps, report_on

__all__ = ["Drift", "Given", "Trace", "execute_again", "report_on_finding", "trace"]


_MOST_STEPS: Final = 120
"""The most steps shown: a longer execution goes in circles."""


class Given(Strategy):
    """The strategy that follows the order of an earlier execution."""

    def __init__(self, order: Sequence[int]) -> None:
        self._order = order

    def decide(self, me: int) -> int:
        """As `Strategy.decide`. Threads that make no more steps have stopped for ever."""
        machine = self.machine
        if machine.step >= len(self._order):
            if machine.step >= machine.limit and me >= 0:
                return me  # the machine ends it, as it did the first time
            machine.enabled = 0
            return -1
        to = self._order[machine.step]
        if not machine.enabled >> to & 1:
            others = any(machine.enabled >> thread & 1 for thread in self._order[machine.step :])
            if not machine.enabled or others or not machine.waits(to):
                raise Drift.at(to, machine.step)
            machine.enabled = 0  # the threads that could continue have stopped for ever; waiting ones may be resumed
            return -1
        return to


def execute_again(experiment: Experiment, earlier: Execution) -> None:
    """Execute a schedule again in which nothing was wrong, and compare.

    Raises:
        Drift: it is another execution now.
    """
    again, _ = experiment.run(Given(earlier.order))
    before, now = earlier.names(), again.names()
    if (before, earlier.wrote, earlier.answers) != (now, again.wrote, again.answers):
        told = "the same schedule, executed again, is another execution"
        differing = (at for at, (one, other) in enumerate(zip(before, now, strict=False)) if one != other)
        if (at := next(differing, None)) is not None:
            told += f": step {at} accesses {_told(now[at])}, where it had accessed {_told(before[at])}"
            told += " (what goes by `id`, `hash` or the order of a set goes otherwise for each object that is made)"
        raise Drift(told)


def _told(name: Any) -> str:
    if isinstance(name, int):
        return f"object {abs(name)}"  # an atomic reference, a lock
    return words_of(name if type(name) is Several else [name])


@dataclass(frozen=True)
class Trace:
    """The steps of an execution as (thread, text), the calls and returns among them; and the names' `legend`."""

    steps: tuple[tuple[int, str], ...]
    legend: tuple[tuple[str, str], ...]


def trace(experiment: Experiment, order: Sequence[int]) -> tuple[Trace, Finding | None]:
    """Execute the scenario of `experiment` in the order of an earlier execution, and record its trace.

    Raises:
        Drift: the order does not fit.
    """
    names = experiment.names()
    accesses: list[tuple[int, str]] = []
    machine = experiment.machine

    def observe(thread: int, slot: Any, expected: Any, desired: Any) -> None:
        if len(accesses) < _MOST_STEPS:
            where = _line()
            accesses.append((thread, names.access(slot, expected, desired) + (f"  ({where})" if where else "")))

    before, machine.observe = machine.observe, observe
    try:
        _, finding = experiment.run(Given(order))
    finally:
        machine.observe = before
    calls = _calls(experiment, machine)
    steps: list[tuple[int, str]] = []
    for step, access in enumerate(accesses):
        steps += calls.get(2 * step, [])
        steps.append(access)
        steps += calls.get(2 * step + 1, [])
    if len(order) > _MOST_STEPS:
        steps.append((order[_MOST_STEPS], f"(and so on: {len(order):,} steps in all)"))
    if finding is not None:
        finding = Finding(finding.scenario, tuple(order), finding.kind, finding.trouble, finding.history)
    return Trace(tuple(steps), tuple(names.legend)), finding


def _line() -> str:
    """The file and the line of the program that make the step that is about to be made: those of the library only if
    nothing else has called it. Empty for what the caller does, who is no code of the program.
    """
    found = ""
    for frame in frames():
        file = frame.f_code.co_filename
        if file != CALLER and not file.startswith((PACKAGE, "<frozen ")):
            found = f"{os.path.basename(file)}:{frame.f_lineno}"
            if not standard_module(file):
                return found
    return found


def _calls(experiment: Experiment, machine: Machine) -> dict[int, list[tuple[int, str]]]:
    """The calls and returns, by time."""
    found: dict[int, list[tuple[int, str]]] = {}
    execution = machine.execution
    answers = iter(execution.answers)
    for thread, (calls, log) in enumerate(zip(experiment.scenario.threads, execution.logs, strict=True)):
        for call, (called, returned, _) in zip(calls, log, strict=False):
            found.setdefault(called, []).append((thread, f"{describe(call)} ..."))
            found.setdefault(returned, []).append((thread, f"... {call[0]} -> {show(next(answers, UNSEEN))}"))
        if execution.begun[thread] >= 0:
            found.setdefault(execution.begun[thread], []).append((thread, f"{describe(calls[len(log)])} ..."))
    return found


_NAMES: Final = {
    "history": "an execution that no order explains",
    "structure": "a broken structure",
    "livelock": "a livelock",
    "deadlock": "a deadlock",
}


def report_on_finding(
    experiment: Experiment, finding: Finding, replay: str, facts: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """The report on a finding, which is executed once more for it. `replay` tells how to execute it again."""
    told, _ = trace(experiment, finding.order)
    judgement = check(finding.history, experiment.spec)
    made = {"scenario": str(finding.scenario), "steps": str(len(finding.order)), **facts}
    report = report_on(finding.history, experiment.spec, judgement, made, replay)
    is_told = judgement.verdict is Verdict.ILLEGAL and finding.kind == "history"
    trouble = None if is_told else (_NAMES[finding.kind], f"{finding.trouble[:1].upper()}{finding.trouble[1:]}.")
    return replace(report, trouble=trouble, steps=Steps(told.steps, told.legend))
