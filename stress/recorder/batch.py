"""One batch of a campaign: a fresh object, some thousand calls on it in rounds, and the judgement of the history.

Batches differ, so that faults of different kinds have their chance. In every other batch threads yield between
instructions of the Python source (few operations, much overlap). The other batches run at full speed in longer rounds.
In every fourth batch the garbage collector may run. In another fourth each round has an object of its own, since what
happens first may be what matters: who takes the only item, or makes what is missing. Where something is reset for each
object, a batch has one round. The seed and the batch's number determine its kind and its calls.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, NamedTuple

from stress.checker.check import Budget, Judgement, check
from stress.checker.waiting import wait_as_they_should
from stress.history import Call, History, Operation
from stress.processes import gil_enabled
from stress.recorder.around import alone, joined
from stress.recorder.fresh import Refused
from stress.recorder.progress_log import Plan, ProgressLog
from stress.recorder.record import CLOCKS, Stuck, record, threads_yielding
from stress.recorder.workload import MOST_ALONE, Workload, as_calls, refuse_misfits
from stress.reference import name_of
from stress.sequential import Sequential
from stress.spec import Spec
from stress.verdicts import Verdict

COUNTERS: Final = ("rounds", "operations", "overlapping", "undecided", "telling")

_SELDOM: Final = (1.0, 0.25, 0.1)
"""How often the threads of a batch yield, in turn. Some faults need much activity while one thread is stopped."""
_OFTEN: Final = (1.0, 5.0, 15.0)
"""The same for an object that is made anew for each round: what happens at its beginning has a few instructions only in
which it can go wrong.
"""
_SLOW_BATCH: Final = 512
"""Operations in a batch whose threads yield between instructions, which makes a structure some thirty times slower."""
_FAST_BATCH: Final = 2_048
"""Operations in any other batch."""
_BATCH_ALONE: Final = 240
"""Operations in a batch of an object that is its own specification."""
_FULL_SPEED: Final = 16
"""How much longer the rounds of the other batches are: at full speed, threads need time to overlap."""
_ALONE: Final = 40
"""Calls that one thread makes alone, to find out whether a fresh object is right by itself."""
_LEAST_SECONDS: Final = 0.05
"""The seconds that judging the last batch may take at least."""
_FAIR_SECONDS: Final = 1.0
"""If time is up after a batch was judged for at least so long, it counts as undecided; otherwise it is not counted."""


@dataclass(frozen=True)
class Settings:
    """The settings of a campaign; `stress.run` describes them. `supervised`: in separate processes, even if only
    one."""

    threads: int = 2
    length: int = 8
    rounds: int | None = None
    duration: float | None = 10.0
    seed: int = 0
    clock: str = "ticket"
    yields: float = 0.02
    processes: int = 1
    budget: Budget = field(default_factory=Budget)
    patience: float = 30.0
    supervised: bool = False

    def __post_init__(self) -> None:
        if self.clock not in CLOCKS:
            raise ValueError(f"no clock {self.clock!r}: there are {', '.join(CLOCKS)}")
        if self.threads < 1 or self.length < 1 or self.processes < 1 or (self.rounds is not None and self.rounds < 1):
            raise ValueError("threads, length, rounds and processes must be at least 1")
        if self.rounds is None and self.duration is None:
            raise ValueError("a campaign needs an end: give rounds or a duration in seconds")


@dataclass(frozen=True)
class Found:
    """The finding that ended a campaign: a refuted history, or in `trouble` an operation that hung, an invariant that
    broke, or a process that died. `stacks` tell where the threads were then.
    """

    history: History
    judgement: Judgement
    trouble: str = ""
    stacks: str = ""


class _Part(NamedTuple):
    """What was called on one object: by the threads, and in all. `waits`: some calls still run, as they should."""

    subject: Any
    met: History
    history: History
    waits: bool


class Batch:
    """Batch number `number` of a campaign, on one of its workloads, with at most `rounds` rounds."""

    def __init__(
        self,
        workloads: Sequence[Workload],
        settings: Settings,
        number: int,
        most_rounds: int | None = None,
        make: Callable[[Workload], Any] = Workload.made,
    ) -> None:
        turn = number // settings.processes
        self.workload = workloads[turn % len(workloads)]
        self.settings, self.number, self._make = settings, number, make
        self.seen: list[History] = []
        """What was recorded, judged, and counted: a history for each object."""
        begins_anew = self.workload.reset is not None
        self.is_divided = self.workload.is_sequential or (turn % 4 == 2 and not begins_anew)
        """Whether each round has an object of its own."""
        in_short = begins_anew or (self.workload.is_sequential and gil_enabled())  # no time to overlap at full speed
        gives_way = (turn % 2 == 0 or in_short) and settings.yields > 0
        often = _OFTEN if begins_anew or (self.is_divided and not self.workload.is_sequential) else _SELDOM
        self.yields = min(0.5, settings.yields * often[turn // 2 % len(often)]) if gives_way else 0.0
        self.collect = turn % 4 == 3
        self.length = settings.length if gives_way else settings.length * _FULL_SPEED
        size = _SLOW_BATCH if gives_way else _FAST_BATCH
        if self.workload.is_sequential:
            most = MOST_ALONE // 2 if self.workload.waits_alone else MOST_ALONE
            self.length, size = max(1, min(settings.length, most // settings.threads)), _BATCH_ALONE
        self._planned = 1 if self.workload.reset else max(1, size // (settings.threads * self.length))
        self._most = self._planned if most_rounds is None else min(self._planned, most_rounds)
        self.rounds_made = 0
        """How many rounds were begun: fewer than planned where all threads wait as they should."""

    @property
    def seed(self) -> str:
        """The seed of everything that is drawn."""
        return f"{self.settings.seed}/{self.number}"

    def plans(self) -> list[list[list[Call]]]:
        """The calls of each thread, round by round. With fewer rounds they are the first ones of these."""
        random, threads = Random(self.seed), self.settings.threads
        plans = self.workload.plans(random, threads, self._planned, self.length, anew=self.is_divided)
        return [plan[: self._most] for plan in plans]

    def calls_of_one(self) -> list[Call]:
        """The calls of the first thread, as far as they are made on one object, and those around them."""
        rounds = self.plans()[0]
        calls = [call for calls in (rounds[:1] if self.is_divided else rounds) for call in calls]
        most = MOST_ALONE if self.workload.is_sequential else _ALONE
        return [*as_calls(self.workload.at_start), *calls[:most], *as_calls(self.workload.at_end)]

    def run(self, count: Callable[[str, int], None], until: float | None, log: ProgressLog | None) -> Found | None:
        """Record and judge the batch. `count` gets the numbers of what was done, `log` what the process is doing."""
        enter = (lambda phase: None) if log is None else log.enter
        if log is not None:
            log.begin(self.number)
        plans = self.plans()
        if self.is_divided:
            pieces = [[[calls] for calls in together] for together in zip(*plans, strict=True)]
        else:
            pieces = [plans]
        parts: list[_Part] = []
        for number, piece in enumerate(pieces):
            part = self._part(number, piece, enter, until, log)
            if isinstance(part, Found):
                return part
            if part.met.operations:  # else time was up
                parts.append(part)
            if part.waits or not part.met.operations:
                break
        enter("judging what was seen")
        budget, judgements = _in_time(self.settings.budget, until), list[Judgement]()
        for part in parts:
            judgements.append(self._judged(part.history, budget))
            if judgements[-1].verdict is Verdict.ILLEGAL:
                break
        if not self._counts(parts, judgements, count):
            return None
        if judgements[-1].verdict is Verdict.ILLEGAL:
            return Found(self.named(parts[len(judgements) - 1].history), judgements[-1])
        if parts[-1].waits:  # some calls are still running, and wait for others that will not come
            return None
        enter("checking the object")
        for part, judgement in zip(parts, judgements, strict=True):
            if broken := self.workload.broken(part.subject):
                told = f"an invariant is broken after the batch: {broken}"
                return self.trouble("invariant", part.history, told, "", judgement)
        return None

    def _part(
        self,
        number: int,
        plans: Sequence[Plan],
        enter: Callable[[str], None],
        until: float | None,
        log: ProgressLog | None,
    ) -> _Part | Found:
        """What was called on one object; or that a call hangs."""
        settings, spec, waits = self.settings, self.workload.spec, False
        enter("making the object")
        with threads_yielding(self.yields, self.seed):
            subject, before = self._made()
        enter("calling it")
        try:
            met = record(
                subject, plans, spec, clock=settings.clock, yields=self.yields, seed=f"{self.seed}/{number}",
                collect=self.collect, patience=settings.patience, until=until, log=log,
            )  # fmt: skip
        except Stuck as stuck:
            met = stuck.history
            known = joined(before, met, ())
            is_inside = any(each.pending for each in met)  # else a thread has not got so far
            waits = stuck.waits or not is_inside or wait_as_they_should(known, spec)
            if not waits:
                return self.trouble("hang", known, str(stuck), stuck.stacks)
        enter("checking the object")
        try:
            after = () if waits else alone(subject, as_calls(self.workload.at_end), spec, settings.patience)
        except Stuck as stuck:
            return self.trouble("hang", joined(before, met, ()), f"at the end, {stuck}", stuck.stacks)
        return _Part(subject, met, joined(before, met, after), waits)

    def _made(self) -> tuple[Any, Sequence[Operation]]:
        """An object, and the calls that were made on it at the start."""
        workload = self.workload
        subject = self._make(workload)
        around = as_calls([*workload.everything, *workload.at_start, *workload.at_end])
        refuse_misfits(subject, around)
        try:
            return subject, alone(subject, as_calls(workload.at_start), workload.spec, self.settings.patience)
        except Stuck as stuck:
            raise Refused(f"the calls at the start do not return: let others come before them: {stuck}") from None

    def _judged(self, history: History, budget: Budget) -> Judgement:
        """The judgement of what was called on one object. If that is its own specification, what is wrong is judged a
        second time, with all calls made anew and twice.
        """
        spec = self.workload.spec
        judgement = check(history, spec, budget=budget)
        if judgement.verdict is Verdict.ILLEGAL and isinstance(spec, Sequential):
            spec.doubt()
            judgement = check(history, spec, budget=budget)
            if judgement.verdict is Verdict.ILLEGAL:
                spec.confirm()
        return judgement

    def _counts(self, parts: list[_Part], judgements: list[Judgement], count: Callable[[str, int], None]) -> bool:
        """Count the batch, unless there was no time to record it, or to judge it."""
        undecided = next((each for each in judgements if each.verdict is Verdict.UNKNOWN), None)
        if not judgements:
            return False
        if undecided is not None and judgements[-1].verdict is not Verdict.ILLEGAL:
            if undecided.spent.endswith("seconds") and undecided.seconds < min(
                _FAIR_SECONDS, self.settings.budget.seconds
            ):
                return False
            count("undecided", 1)
        self.seen = [part.history for part in parts]
        operations = sum(len(part.met) for part in parts)
        self.rounds_made = math.ceil(operations / (self.settings.threads * self.length))
        count("rounds", self.rounds_made)
        count("operations", operations)
        count("overlapping", sum(round(part.met.overlap * len(part.met)) for part in parts))
        return True

    def named(self, history: History, **more: Any) -> History:
        """The history, with its origin in the header."""
        known = {"workload": self.workload.name, "target": self.workload.target, "code": self.workload.code(), **more}
        return History(history.operations, {**history.header, **{key: told for key, told in known.items() if told}})

    def trouble(
        self, kind: str, history: History, trouble: str, stacks: str = "", judgement: Judgement | None = None
    ) -> Found:
        """A finding that no history shows, with the judgement of the history as far as there is one."""
        told = self.named(history, kind=kind, trouble=trouble, stacks=stacks)
        if self.workload.is_sequential and judgement is None:  # a call that broke a process is not made again here
            judgement = check((), self.workload.spec)
        return Found(told, judgement or check(told, self.workload.spec, budget=_SHORT), trouble, stacks)

    def left_in(self, log: ProgressLog) -> History:
        """The calls that a process which died in this batch was making."""
        spec: Spec = self.workload.spec
        operations = log.running(self.plans()) if log.phase == "calling it" else ()
        header = {"clock": self.settings.clock, "threads": self.settings.threads, "seed": self.seed}
        return self.named(History(operations, {"spec": name_of(spec), **spec.options(), **header}))


_SHORT: Final = Budget(steps=1_000_000, seconds=5.0)


def _in_time(budget: Budget, until: float | None) -> Budget:
    """The budget, limited to the time that is left."""
    if until is None:
        return budget
    left = max(until - time.monotonic(), _LEAST_SECONDS)
    return budget if budget.seconds <= left else replace(budget, seconds=left)
