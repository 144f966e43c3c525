"""A campaign of the explorer: the matrix of scenarios, until all is done or time is up.

The matrix:

* *pairs*: every pair of operations on every start, every schedule with at most two preemptions;
* *stops*: the same pairs, for representative operations, while the first thread stops for ever at each of its steps;
* *triples*: three threads with such operations, every schedule with at most two preemptions;
* *sequences*: a call in one thread; another thread makes two changes, or a change, a snapshot and a read; at most two
  preemptions.

Several processes share the work; the first finding ends them all.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from ctypes import c_longlong, c_ubyte
from dataclasses import dataclass
from itertools import count, islice
from random import Random
from typing import Any, Final

from stress.explorer.experiment import Experiment, Finding
from stress.explorer.machine import Drift, Strategy, lowest
from stress.explorer.scenario import Scenario
from stress.explorer.strategies import bounded, sampled, stopped_for_ever
from stress.explorer.token import TokenError
from stress.processes import Died, Tally, Team, Worker
from stress.verdicts import Verdict, verdict_of
from tests.tries.experiment import TrieExperiment
from tests.tries.scenarios import STARTS, pairs, sequences, stops, triples
from tests.tries.twins import Token, decode, encode, experiment_on, load_twin

MATRIX: Final = {"pairs": pairs, "stops": stops, "triples": triples, "sequences": sequences}
_TOLD: Final = {
    "pairs": "pairs of operations, with two preemptions",
    "stops": "pairs beside a thread that stops for ever",
    "triples": "triples of operations, with two preemptions",
    "sequences": "calls beside a thread with several, with two preemptions",
}
_COUNTS: Final = (*MATRIX, *(f"{part} executions" for part in MATRIX))
_SAMPLES: Final = 60
"""Executions drawn at random, under an ideal reclaimer."""
_MOST_SECONDS_IN_LOCK: Final = 5.0
_PREEMPTIONS: Final = 2
_ORDER: Final = 1 << 16
"""Bytes for the schedule of an execution, in case a process dies of it."""

Attempts = Iterator[Finding | None]


@dataclass(frozen=True)
class Plan:
    """What to explore, the number of seconds (None: until the matrix is done), and the seed."""

    targets: Sequence[str] = tuple(STARTS)
    seed: int = 0
    duration: float | None = None
    processes: int = 1
    compiled: bool = False
    """Explore the compiled modules of this process, and not a copy of their sources."""
    parts: Sequence[str] = tuple(MATRIX)
    """Which parts of the matrix."""
    ideal: bool = False
    """For compiled modules: use a reclaimer that releases as soon as the rules allow."""


@dataclass(frozen=True)
class Exploration:
    """The outcome of a campaign. `done` gives the number of explored scenarios of each part, `sizes` the number of all,
    and `executions` the number of executions.
    """

    plan: Plan
    finding: Finding | None
    done: dict[str, int]
    sizes: dict[str, int]
    executions: dict[str, int]
    seconds: float
    interrupted: bool = False
    died: str = ""
    """How a process of the team died, and in which scenario."""
    crash: str = ""
    """The command that repeats the execution in which a process died; compiled modules only."""

    @property
    def total(self) -> int:
        """All executions."""
        return sum(self.executions.values())

    @property
    def missing(self) -> list[str]:
        """The reasons why nothing can be said, if no fault was found."""
        done, size = sum(self.done[part] for part in self.sizes), sum(self.sizes.values())
        missing = ["it was interrupted"] if self.interrupted else []
        if done < size:
            missing.append(f"{done:,} of the {size:,} scenarios of the matrix were explored")
        return missing

    @property
    def verdict(self) -> Verdict:
        """Whether all of the matrix was explored without a finding."""
        return verdict_of(found=self.finding is not None or bool(self.died), missing=self.missing)

    @property
    def summary(self) -> str:
        """One line: what was explored, and the result."""
        found = {
            Verdict.ILLEGAL: f"NOT all right: {self.finding.trouble if self.finding else self.died}",
            Verdict.LINEARIZABLE: "nothing wrong",
            Verdict.UNKNOWN: f"undecided ({'; '.join(self.missing)})",
        }[self.verdict]
        rate = self.total / self.seconds if self.seconds else 0.0
        return f"{found}; {self.total:,} executions in {self.seconds:.1f} s ({rate:,.0f}/s), seed {self.plan.seed}"

    @property
    def lines(self) -> list[str]:
        """What was explored, part by part."""
        return [
            f"{self.done[part]:,} of {size:,} {_TOLD[part]} ({self.executions[part]:,} executions)"
            for part, size in self.sizes.items()
        ]


def matrix(targets: Sequence[str], parts: Sequence[str] = tuple(MATRIX)) -> dict[str, list[Scenario]]:
    """The scenarios of these parts of the matrix."""
    return {part: [each for target in targets for each in MATRIX[part](target)] for part in MATRIX if part in parts}


class _Delay(Strategy):
    """A thread makes so many steps, the others run to their ends, one after another, and it goes on."""

    def __init__(self, thread: int, steps: int) -> None:
        self._thread, self._steps = thread, steps

    def decide(self, me: int) -> int:
        enabled, made = self.machine.enabled, self.machine.execution.order
        if enabled >> self._thread & 1 and made.count(self._thread) < self._steps:
            return self._thread
        others = enabled & ~(1 << self._thread)
        return me if me >= 0 and others >> me & 1 else lowest(others or enabled)


def delayed(experiment: Experiment) -> Iterator[Finding | None]:
    """Delay each thread in turn after each of its steps; what was found, or None, for every execution. None is left out
    because it is like another one in its steps.
    """
    for thread in range(len(experiment.scenario.threads)):
        for steps in count(1):
            execution, finding = experiment.run(_Delay(thread, steps))
            yield finding
            if execution.order.count(thread) < steps:
                break


def under_ideal_reclaimer(experiment: TrieExperiment, random: Random, samples: int) -> Attempts:
    """Schedules with one preemption, then some drawn at random. To pin and to unpin are no steps, so a schedule that is
    like another one in its steps may have another end.
    """
    yield from delayed(experiment)
    yield from islice(sampled(experiment, random), samples)


def _agenda(plan: Plan, taken: Any) -> Iterator[tuple[str, Scenario]]:
    """What one process takes of the matrix, which has an order drawn from the seed if time may not suffice."""
    agenda = [(part, each) for part, scenarios in matrix(plan.targets, plan.parts).items() for each in scenarios]
    if plan.duration is not None:
        Random(plan.seed).shuffle(agenda)
    return map(agenda.__getitem__, taken_in_turn(taken, len(agenda)))


def taken_in_turn(turn: Any, size: int) -> Iterator[int]:
    """What one process takes of so many tasks: always the next that nobody has taken, since some take a thousand times as
    long as others. `turn` is a number that processes share.
    """
    while True:
        lock = turn.get_lock()
        is_mine = lock.acquire(timeout=_MOST_SECONDS_IN_LOCK)  # on timeout, the process that held it has died
        number = turn.value
        turn.value += 1
        if is_mine:
            lock.release()
        if number >= size:
            return
        yield number


def _attempts(plan: Plan, part: str, experiment: TrieExperiment) -> Attempts:
    if plan.ideal:
        drawn = Random(f"{plan.seed}/{experiment.scenario}")  # the same in whichever process
        return under_ideal_reclaimer(experiment, drawn, _SAMPLES)
    return stopped_for_ever(experiment) if part == "stops" else bounded(experiment, _PREEMPTIONS)


Watch = Callable[[Tally, float], None]
"""Called several times a second with the counters and the seconds that have passed."""


def explore_matrix(plan: Plan, watch: Watch | None = None) -> Exploration:
    """Run a campaign. Ctrl-C ends it early, with the findings until then."""
    tally = Tally(_COUNTS, plan.processes)
    began = time.monotonic()
    until = None if plan.duration is None else began + plan.duration
    finding, died, crash, interrupted = None, "", "", False
    orders = [multiprocessing.RawArray(c_ubyte, _ORDER) for _ in range(plan.processes)] if plan.compiled else []
    taken = multiprocessing.Value(c_longlong)
    try:
        with Team(plan.processes, _work, plan, tally, until, orders, taken) as team:
            for message in team.messages():
                if isinstance(message, Died):
                    died = str(message)
                    crash = _crash(message, orders[message.number]) if orders else ""
                    break
                if message is not None:
                    finding = message
                    break
                if watch is not None:
                    watch(tally, time.monotonic() - began)
    except KeyboardInterrupt:
        interrupted = True
    sizes = {part: len(scenarios) for part, scenarios in matrix(plan.targets, plan.parts).items()}
    done, executions = ({part: tally.value(part + of) for part in MATRIX} for of in ("", " executions"))
    return Exploration(plan, finding, done, sizes, executions, time.monotonic() - began, interrupted, died, crash)


def _crash(died: Died, order: Any) -> str:
    """The command that repeats the execution in which a process died. The scenario is the last word of its note, the
    schedule is in the memory that it shared.
    """
    try:
        scenario = decode(died.note.rpartition(" ")[2]).scenario
    except TokenError:
        return ""
    used = int.from_bytes(bytes(order[:4]), sys.byteorder)
    return Token(scenario, tuple(order[4 : 4 + used]), compiled=True).command


def _work(worker: Worker, plan: Plan, tally: Tally, until: float | None, orders: Sequence[Any], taken: Any) -> None:
    """The work of one process: it explores until all is done, time is up, or a fault is found."""
    gc.freeze()
    twin = load_twin(plan.compiled, plan.ideal, orders[worker.number] if orders else None)
    for part, scenario in _agenda(plan, taken):
        told = f" {encode(Token(scenario, (), compiled=True))}" if plan.compiled else ""
        worker.note(f"{part}: {scenario}{told}")
        try:
            for finding in _attempts(plan, part, experiment_on(twin, scenario)):
                tally.add(worker.number, f"{part} executions")
                if finding is not None:
                    worker.send(finding)
                    return
                if until is not None and time.monotonic() > until:
                    return
        except Drift as drift:  # ours, and no fault of the tries
            raise RuntimeError(f"{scenario}: {drift}") from None
        tally.add(worker.number, part)
