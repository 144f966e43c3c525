"""Campaigns: record and judge, batch after batch, until time is up or a fault is found.

Several workloads take turns. With `processes` > 1, as many campaigns run in parallel, with different seeds; the first
finding ends them all. If one of the processes dies, that is a finding too: its history up to then is in its `CallLog`.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from random import SystemRandom
from typing import Any, Final

from stress.checker.check import Budget, check
from stress.formats import jsonl
from stress.processes import Died, Patience, Tally, Team, Worker
from stress.recorder.batch import COUNTERS, Batch, Found, Settings, most_calls
from stress.recorder.call_log import CallLog
from stress.recorder.outcome import Outcome
from stress.recorder.record import pending_calls
from stress.recorder.workload import Workload
from stress.spec import Spec
from stress.verdicts import end_of_process, verdict_of

__all__ = ["Outcome", "Settings", "run", "run_workloads"]

_LATE: Final = 5.0
"""Seconds beyond its patience in which a process should report by itself that a call hangs."""


def run(
    factory: Callable[[], Any],
    spec: Spec,
    operations: Sequence[tuple[Any, ...]],
    *,
    check: Callable[[Any], object] | None = None,
    roles: Sequence[Sequence[tuple[Any, ...]]] = (),
    threads: int | None = None,
    length: int = 8,
    rounds: int | None = None,
    duration: float | None = 10.0,
    seed: int | None = None,
    clock: str = "ticket",
    yields: float = 0.02,
    processes: int = 1,
    budget: Budget | None = None,
    patience: float = 30.0,
    pursuit: float = 5.0,
) -> Outcome:
    """Put an object under stress from several threads, and judge the histories of their calls.

    Parameters:
        factory: makes a fresh object in the state `spec.initial`; called for every batch.
        spec: the sequential object that it must behave like.
        operations: what threads may call: tuples of a method's name and its arguments, which may be
            `one_of(...)` or `unique`.
        check: raises, or answers False, if an invariant of the object does not hold; called after every batch.
        roles: what each thread may call, if not all may call the same: a list of operations for each, and `operations`
            may be empty. If there are more threads, the next one has the first role again.
        threads: how many call at once; by default two, or as many as there are roles.
        length: operations of a thread in a round. Short rounds are easier to judge.
        rounds: how many to run at most; None: no limit.
        duration: seconds to run at most; None: no limit. A call that hangs may take longer: it is waited for as long as
            `patience` says.
        seed: decides which calls are made, and where threads yield; drawn at random if None. It does not decide how the
            operating system schedules the threads, so a run with the same seed may find the fault later, or earlier.
        clock: "ticket" or "monotonic"; see `stress.record`.
        yields: the probability with which a thread yields before an instruction of the Python source, in every
            other batch; some batches take a quarter or a tenth of it.
        processes: how many campaigns to run in parallel. With more than one, each is a separate process: if the object
            crashes one, that is a finding. With one, the object crashes the caller.
        budget: what judging one batch may cost.
        patience: seconds without any progress after which an operation counts as hung.
        pursuit: if a history was refuted, seconds to look for the same fault in fewer calls, and for the schedule that
            leads to it.

    Returns:
        the outcome, which is true if nothing is wrong; `outcome.report()` explains it.

    Raises:
        AttributeError: the object has no method with the name of an operation.
        ValueError: a method does not take as many arguments as an operation gives, or a setting makes no sense.

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
        len(roles) or 2 if threads is None else threads, length, rounds, duration,
        draw_seed() if seed is None else seed, clock, yields, processes, budget or Budget(), patience,
    )  # fmt: skip
    workloads = [Workload(factory, spec, operations, check, roles=roles)]
    outcome = run_workloads(workloads, settings)
    if outcome.judgement is None or not pursuit:
        return outcome
    from stress.pursuit import pursue  # imported here because the explorer uses this module

    return pursue(outcome, workloads, pursuit, apart=processes > 1)


def draw_seed() -> int:
    """A random seed."""
    return SystemRandom().randrange(2**32)


Watch = Callable[[Tally, float], None]
"""Called several times a second with the counters and the seconds that have passed."""


def run_workloads(workloads: Sequence[Workload], settings: Settings, watch: Watch | None = None) -> Outcome:
    """Run a campaign over several workloads, which must share a specification."""
    tally = Tally(COUNTERS, settings.processes)
    campaign = _Campaign(workloads, settings, tally, watch)
    interrupted = False
    found: Found | None = None
    try:
        found = campaign.together() if settings.supervised or settings.processes > 1 else campaign.alone()
        campaign.look()
    except KeyboardInterrupt:
        interrupted = True
    return _outcome(workloads[0].spec, settings, tally, found, interrupted, campaign.seconds)


def _outcome(
    spec: Spec, settings: Settings, tally: Tally, found: Found | None, interrupted: bool, seconds: float
) -> Outcome:
    operations, overlapping, undecided = map(tally.value, ("operations", "overlapping", "undecided"))
    missing = [] if found else list(_missing(settings, operations, overlapping, undecided, interrupted))
    return Outcome(
        verdict_of(found=found is not None, missing=missing), settings.seed, tally.value("rounds"), operations,
        overlapping / max(operations, 1), undecided, seconds, interrupted, spec,
        trouble=found.trouble if found else "",
        history=found.history if found else None,
        judgement=found.judgement if found else None,
        stacks=found.stacks if found else "",
        missing=tuple(missing),
    )  # fmt: skip


def _missing(settings: Settings, operations: int, overlapping: int, undecided: int, interrupted: bool) -> Iterator[str]:
    """The reasons why nothing can be said of the object, although no fault was found."""
    if interrupted:
        yield "it was interrupted"
    if undecided:
        batches = "1 batch was" if undecided == 1 else f"{undecided} batches were"
        yield f"{batches} not decided within the budget"
    if not operations:
        yield "no batch was recorded and judged in this time"
    elif settings.threads == 1:
        yield "one thread called alone, so that nothing could overlap"
    elif not overlapping:
        yield "no two calls overlapped"


class _Campaign:
    """Workloads under some settings."""

    def __init__(self, workloads: Sequence[Workload], settings: Settings, tally: Tally, watch: Watch | None) -> None:
        self._workloads, self._settings, self._tally, self._watch = workloads, settings, tally, watch
        self._began = time.monotonic()
        self._until = None if settings.duration is None else self._began + settings.duration

    @property
    def seconds(self) -> float:
        """The seconds since it began."""
        return time.monotonic() - self._began

    def look(self) -> None:
        """Report the progress to the watch."""
        if self._watch is not None:
            self._watch(self._tally, self.seconds)

    def alone(self) -> Found | None:
        """Run it in this process."""
        for found in self._batches(self._settings, 0, None):
            if found is not None:
                return found
            self.look()
        return None

    def together(self) -> Found | None:
        """Run it in separate processes; the finding may be that one of them died."""
        shares = _shares(self._settings)
        logs = [CallLog(self._settings.threads, most_calls(self._settings)) for _ in shares]
        patience = [Patience() for _ in shares]
        with Team(len(shares), self._work, shares, logs) as team:
            for message in team.messages():
                if isinstance(message, Died):
                    return self._of(message, logs[message.number], shares[message.number])
                if message is not None:
                    return Found(*pickle.loads(message))
                self.look()
                for number, log in enumerate(logs):
                    if patience[number].is_over(log.progress, self._most_seconds(log)):
                        team.interrupt(number)
        return None

    def _most_seconds(self, log: CallLog) -> float:
        """The most seconds that a process may make no progress in its present phase."""
        judging = self._settings.budget.seconds if log.phase == "judging what was seen" else 0.0
        return self._settings.patience + judging + _LATE

    def _batches(self, settings: Settings, first: int, log: CallLog | None) -> Iterator[Found | None]:
        """Run batches until rounds or time are up; yield the finding of each, or None."""
        left, number = settings.rounds, first
        while (left is None or left > 0) and (self._until is None or time.monotonic() < self._until):
            batch = Batch(self._workloads, settings, number, left)
            yield batch.run(lambda name, amount: self._tally.add(first, name, amount), self._until, log)
            left = None if left is None else left - max(batch.rounds_made, 1)
            number += settings.processes

    def _work(self, worker: Worker, shares: Sequence[Settings], logs: Sequence[CallLog]) -> None:
        """The work of one process of the team."""
        settings, log = shares[worker.number], logs[worker.number]
        for found in self._batches(settings, worker.number, log):
            worker.note(f"batch {log.batch}")
            if found is not None:
                worker.send(_packed(found, self._workloads[0].spec, settings.budget))
                return

    def _of(self, died: Died, log: CallLog, settings: Settings) -> Found:
        """The finding that a process died."""
        batch = Batch(self._workloads, settings, log.batch, settings.rounds)
        history = batch.left_in(log)
        calls = (
            f": {pending_calls(history)}".replace(" never returned", "")
            if log.phase == "calling it" and history.operations
            else ""
        )
        trouble = f"a process was {end_of_process(died.exitcode)} while it was {log.phase}{calls}"
        return batch.trouble("death", history, trouble, died.stacks)


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


def _packed(found: Found, spec: Spec, budget: Budget) -> bytes:
    """A finding as bytes. Values that cannot be pickled are replaced by their `repr`, as in a file."""
    try:
        return pickle.dumps((found.history, found.judgement, found.trouble, found.stacks))
    except Exception:  # noqa: BLE001 - pickling may call methods of users' classes
        text = StringIO()
        jsonl.dump(found.history, text)
        history = jsonl.parse(text.getvalue())
        return pickle.dumps((history, check(history, spec, budget=budget), found.trouble, found.stacks))
