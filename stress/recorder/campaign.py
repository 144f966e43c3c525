"""Campaigns: record and judge, batch after batch, until time is up or something is found.

A batch is one fresh object and some thousand operations on it, in rounds. Batches differ, so that faults of
different kinds have their chance: every other one gives way between instructions of the Python source (few
operations, much overlap), the others run at full speed in longer rounds; every fourth lets the garbage
collector run. Several workloads take turns.

With `processes` > 1 as many campaigns run side by side, each with seeds of its own; the first to find
something ends them all.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from multiprocessing.connection import Connection, wait
from random import Random, SystemRandom
from typing import Any, Final

from stress.checker.check import Budget, Judgement, Verdict, check
from stress.formats import jsonl
from stress.history import History
from stress.processes import ctrl_c_later
from stress.recorder.counters import Counters
from stress.recorder.record import CLOCKS, Stuck, gil_enabled, record
from stress.recorder.workload import Workload
from stress.reports.html import save as save_page
from stress.reports.report import Report, report_on
from stress.reports.text import render_outcome
from stress.spec import Spec

__all__ = ["Outcome", "Settings", "run", "run_workloads"]

_SELDOM: Final = (1.0, 0.25, 0.1)
"""How often batches give way, in turn. Some faults need much to happen elsewhere while a thread waits at one place."""
_SLOW_BATCH: Final = 512
"""Operations in a batch that gives way between instructions, which makes a structure some thirty times
slower.
"""
_FAST_BATCH: Final = 2_048
"""Operations in any other batch."""
_FULL_SPEED: Final = 16
"""How much longer the rounds of the other batches are: at full speed, threads need time to meet."""


@dataclass(frozen=True)
class Settings:
    """How a campaign is run; `run` tells what each means."""

    threads: int = 2
    length: int = 8
    rounds: int | None = None
    duration: float | None = 10.0
    seed: int = 0
    clock: str = "ticket"
    yields: float = 0.02
    processes: int = 1
    budget: Budget = field(default_factory=Budget)
    patience: float = 60.0

    def __post_init__(self) -> None:
        if self.clock not in CLOCKS:
            raise ValueError(f"no clock {self.clock!r}: there are {', '.join(CLOCKS)}")
        if self.threads < 1 or self.length < 1 or self.processes < 1 or (self.rounds is not None and self.rounds < 1):
            raise ValueError("threads, length, rounds and processes must be at least 1")
        if self.rounds is None and self.duration is None:
            raise ValueError("a campaign needs an end: give rounds or a duration in seconds")


@dataclass(frozen=True)
class Found:
    """What ended a campaign early: a refuted history, or in `trouble` an operation that hung or an invariant
    that broke.
    """

    history: History
    judgement: Judgement | None = None
    trouble: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a campaign found. True only if every history was judged, and judged linearizable.

    `verdict` is `UNKNOWN` if some history could not be decided, or nothing was recorded at all. `history` is
    the refuted one.
    """

    verdict: Verdict
    seed: int
    rounds: int
    operations: int
    overlap: float
    undecided: int
    seconds: float
    interrupted: bool
    spec: Spec
    trouble: str = ""
    history: History | None = None
    judgement: Judgement | None = None
    saved_as: str = ""

    def __bool__(self) -> bool:
        return self.verdict is Verdict.LINEARIZABLE

    @property
    def summary(self) -> str:
        """One line: what was run, and how it went."""
        found = f"NOT all right: {self.trouble}" if self.trouble else self.verdict.value
        stopped = ", interrupted" if self.interrupted else ""
        undecided = f", {self.undecided} batches undecided" if self.undecided else ""
        return (
            f"{found}; {self.operations:,} operations in {self.rounds:,} rounds, "
            f"{self.overlap:.0%} overlapping, {self.seconds:.1f} s, seed {self.seed}{undecided}{stopped}"
        )

    def explained(self) -> Report | None:
        """The report on the refuted history; None if there is none."""
        if self.history is None or self.judgement is None:
            return None
        size = f"{self.operations:,} operations in {self.rounds:,} rounds"
        facts = {"campaign": f"{size}, {self.seconds:.1f} s, seed {self.seed}"}
        replay = f"python -m stress replay {self.saved_as}" if self.saved_as else ""
        return report_on(self.history, self.spec, self.judgement, facts, replay)

    def report(self) -> str:
        """All that is known, as text."""
        return render_outcome(self.summary, self.explained())

    def save(self, path: str) -> Outcome:
        """Write the recorded history of the finding to a file, and return this outcome with the command that
        replays it.
        """
        if self.history is None:
            raise ValueError("nothing was found, so there is no history to save")
        jsonl.save(self.history, path)
        return replace(self, saved_as=path)

    def save_html(self, path: str) -> None:
        """Write the report on the refuted history as a page."""
        explained = self.explained()
        if explained is None:
            raise ValueError("no history was refuted, so there is nothing to show")
        save_page(explained, path)


def run(
    factory: Callable[[], Any],
    spec: Spec,
    operations: Sequence[tuple[Any, ...]],
    *,
    check: Callable[[Any], object] | None = None,
    threads: int = 2,
    length: int = 8,
    rounds: int | None = None,
    duration: float | None = 10.0,
    seed: int | None = None,
    clock: str = "ticket",
    yields: float = 0.02,
    processes: int = 1,
    budget: Budget | None = None,
    patience: float = 60.0,
) -> Outcome:
    """Put an object under stress from several threads, and judge all that they see.

    Parameters:
        factory: makes a fresh object in the state `spec.initial`; called for every batch.
        spec: the sequential object that it must look like.
        operations: what threads may call: tuples of a method's name and its arguments, which may be
            `one_of(...)` or `unique`.
        check: raises if an invariant of the object does not hold; called after every batch.
        threads: how many call at once.
        length: operations of a thread in a round. Short rounds are easier to judge.
        rounds: how many to run at most; None: no limit.
        duration: seconds to run at most; None: no limit.
        seed: decides what is called, and where threads give way; drawn at random if None. It does not decide
            how the operating system runs the threads, so a run with the same seed may find the fault later,
            or earlier.
        clock: "ticket" or "monotonic"; see `stress.record`.
        yields: the probability with which threads give way before an instruction of the Python source, in every
            other batch; some batches take a quarter or a tenth of it.
        processes: how many campaigns to run side by side.
        budget: what judging one batch may cost.
        patience: seconds without any progress after which an operation counts as hung.

    Returns:
        the outcome, which is true if nothing is wrong; `outcome.report()` explains it.

    >>> import threading, stress
    >>> class Locked:
    ...     def __init__(self): self.lock, self.n = threading.Lock(), 0
    ...     def increment(self):
    ...         with self.lock:
    ...             self.n += 1
    ...             return self.n
    >>> outcome = run(Locked, stress.Counter(), [("increment",)], rounds=50, seed=1)
    >>> outcome.verdict
    <Verdict.LINEARIZABLE: 'linearizable'>
    """
    settings = Settings(
        threads, length, rounds, duration, draw_seed() if seed is None else seed, clock, yields, processes,
        budget or Budget(), patience,
    )  # fmt: skip
    return run_workloads([Workload(factory, spec, operations, check)], settings)


def draw_seed() -> int:
    """A seed nobody chose."""
    return SystemRandom().randrange(2**32)


Watch = Callable[[Counters, float], None]
"""Called several times a second with the counters and the seconds gone."""


def run_workloads(workloads: Sequence[Workload], settings: Settings, watch: Watch | None = None) -> Outcome:
    """Run a campaign over several workloads, which must share a specification."""
    counters = Counters()
    began = time.monotonic()
    try:
        team = _alone if settings.processes == 1 else _together
        finding, interrupted = team(workloads, settings, counters, watch)
        return _outcome(workloads[0].spec, settings, counters, finding, interrupted, time.monotonic() - began)
    finally:
        counters.close()


def _outcome(
    spec: Spec,
    settings: Settings,
    counters: Counters,
    finding: Found | None,
    interrupted: bool,
    seconds: float,
) -> Outcome:
    operations, undecided = counters.value("operations"), counters.value("undecided")
    if finding is not None:
        verdict = Verdict.ILLEGAL
    else:
        verdict = Verdict.UNKNOWN if undecided or not operations else Verdict.LINEARIZABLE
    return Outcome(
        verdict, settings.seed, counters.value("rounds"), operations,
        counters.value("overlapping") / max(operations, 1), undecided, seconds, interrupted, spec,
        trouble=finding.trouble if finding else "",
        history=finding.history if finding else None,
        judgement=finding.judgement if finding else None,
    )  # fmt: skip


def _alone(
    workloads: Sequence[Workload], settings: Settings, counters: Counters, watch: Watch | None
) -> tuple[Found | None, bool]:
    began = time.monotonic()
    try:
        for finding in _batches(workloads, settings, counters, worker=0):
            if finding is not None:
                return finding, False
            if watch is not None:
                watch(counters, time.monotonic() - began)
    except KeyboardInterrupt:
        return None, True
    return None, False


def _batches(
    workloads: Sequence[Workload], settings: Settings, counters: Counters, worker: int
) -> Iterator[Found | None]:
    """Run batches until rounds or time are up; what each of them found."""
    until = None if settings.duration is None else time.monotonic() + settings.duration
    left = settings.rounds
    number = worker
    while (left is None or left > 0) and (until is None or time.monotonic() < until) and not counters.value("stop"):
        batch = _Batch(workloads[number // settings.processes % len(workloads)], settings, number, left)
        yield batch.run(counters)
        left = None if left is None else left - batch.rounds
        number += settings.processes


class _Batch:
    """One batch: its kind follows from its number."""

    def __init__(self, workload: Workload, settings: Settings, number: int, most_rounds: int | None) -> None:
        self.workload, self.settings, self.number = workload, settings, number
        turn = number // settings.processes
        gives_way = turn % 2 == 0 and settings.yields > 0
        self.yields = settings.yields * _SELDOM[turn // 2 % len(_SELDOM)] if gives_way else 0.0
        self.collect = turn % 4 == 3
        self.length = settings.length if gives_way else settings.length * _FULL_SPEED
        size = _SLOW_BATCH if gives_way else _FAST_BATCH
        rounds = max(1, size // (settings.threads * self.length))
        self.rounds = rounds if most_rounds is None else min(rounds, most_rounds)

    def run(self, counters: Counters) -> Found | None:
        seed = f"{self.settings.seed}/{self.number}"
        plans = self.workload.plans(Random(seed), self.settings.threads, self.rounds, self.length)
        subject = self.workload.factory()
        try:
            history = self._named(
                record(
                    subject, plans, self.workload.spec, clock=self.settings.clock, yields=self.yields,
                    seed=seed, collect=self.collect, patience=self.settings.patience,
                )
            )  # fmt: skip
        except Stuck as stuck:
            return Found(self._named(stuck.history), trouble=str(stuck))
        judgement = check(history, self.workload.spec, budget=self.settings.budget)
        counters.add("rounds", self.rounds)
        counters.add("operations", len(history))
        counters.add("overlapping", round(history.overlap * len(history)))
        if judgement.verdict is Verdict.ILLEGAL:
            return Found(history, judgement)
        if judgement.verdict is Verdict.UNKNOWN:
            counters.add("undecided", 1)
        return self._broken(subject, history)

    def _named(self, history: History) -> History:
        if not self.workload.name:
            return history
        return History(history.operations, {**history.header, "workload": self.workload.name})

    def _broken(self, subject: Any, history: History) -> Found | None:
        """Whether an invariant is broken, now that no operation is running."""
        if self.workload.check is None:
            return None
        try:
            self.workload.check(subject)
        except AssertionError as error:
            return Found(history, trouble=f"an invariant is broken after the batch: {error}")
        return None


def _together(
    workloads: Sequence[Workload], settings: Settings, counters: Counters, watch: Watch | None
) -> tuple[Found | None, bool]:
    """The same in several processes."""
    context: Any = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    pipes, workers = [], []
    began, interrupted = time.monotonic(), False
    finding: Found | None = None
    try:
        try:
            with ctrl_c_later():
                for number, share in enumerate(_shares(settings)):
                    receiver, sender = context.Pipe(duplex=False)
                    arguments = (workloads, share, counters, number, sender)
                    workers.append(context.Process(target=_work, args=arguments, daemon=True))
                    workers[-1].start()
                    sender.close()
                    pipes.append(receiver)
        except KeyboardInterrupt:
            interrupted = True
            counters.add("stop", 1)
        while pipes:
            try:
                for ready in wait(pipes, timeout=0.2):
                    pipes.remove(ready)
                    finding = _received(ready) or finding  # type: ignore[arg-type]
                    counters.add("stop", finding is not None)
                if watch is not None:
                    watch(counters, time.monotonic() - began)
            except KeyboardInterrupt:
                interrupted = True
                counters.add("stop", 1)
    finally:
        counters.add("stop", 1)
        for worker in workers:
            worker.join()
    return finding, interrupted


def _shares(settings: Settings) -> list[Settings]:
    """The settings of each process: the rounds are divided among them."""
    if settings.rounds is None:
        return [settings] * settings.processes
    each, more = divmod(settings.rounds, settings.processes)
    return [
        replace(settings, rounds=each + (number < more))
        for number in range(settings.processes)
        if each + (number < more)
    ]


def _received(pipe: Connection) -> Found | None:
    """What a process sent, or None if it has only ended."""
    with pipe:
        try:
            sent = pickle.loads(pipe.recv_bytes())
        except EOFError:
            return None
    if isinstance(sent, str):
        raise RuntimeError(f"a process of the campaign failed: {sent}")
    return Found(*sent)


def _work(workloads: Sequence[Workload], settings: Settings, counters: Counters, number: int, pipe: Connection) -> None:
    """What a process of the team does. Ctrl-C is for the first process alone, which then tells the others to
    stop.
    """
    with pipe:
        try:
            for finding in _batches(workloads, settings, counters, worker=number):
                if finding is not None:
                    pipe.send_bytes(_packed(finding, workloads[0].spec, settings.budget))
                    return
        except Exception as error:  # noqa: BLE001 - whatever it was, the first process reports it
            pipe.send_bytes(pickle.dumps(f"{type(error).__name__}: {error}"))


def _packed(finding: Found, spec: Spec, budget: Budget) -> bytes:
    """A finding as bytes. Values that cannot travel go as they would into a file, by their `repr`."""
    try:
        return pickle.dumps((finding.history, finding.judgement, finding.trouble))
    except Exception:  # noqa: BLE001 - pickling calls whatever the values' classes define
        text = StringIO()
        jsonl.dump(finding.history, text)
        history = jsonl.parse(text.getvalue())
        return pickle.dumps((history, check(history, spec, budget=budget), finding.trouble))


def default_processes(threads: int) -> int:
    """One process for each core where threads take turns; where they run in parallel, as many as the threads
    leave room for.
    """
    cores = os.cpu_count() or 1
    return cores if gil_enabled() else max(1, cores // max(threads, 1))
