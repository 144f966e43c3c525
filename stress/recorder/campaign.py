"""Campaigns: record and judge, batch after batch, until time is up or a fault is found.

Several workloads take turns. With `processes` > 1, as many campaigns run in parallel, with different seeds; the first
finding ends them all. If one of the processes dies, that is a finding too: what it was calling is in its `ProgressLog`.
"""

from __future__ import annotations

import pickle
import signal
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from io import StringIO
from typing import Final

from stress.checker.check import Budget, check
from stress.checker.waiting import could_contradict
from stress.formats import jsonl
from stress.history import Call, Raised
from stress.outside import Outside
from stress.processes import Died, Patience, Tally, Team, Worker, gil_enabled
from stress.recorder.around import wrong_alone
from stress.recorder.batch import COUNTERS, Batch, Found, Settings
from stress.recorder.fresh import Fresh, Outliving, Refused
from stress.recorder.outcome import Outcome
from stress.recorder.progress_log import ProgressLog
from stress.recorder.record import pending_calls
from stress.recorder.workload import Workload
from stress.spec import Spec, SpecError
from stress.verdicts import Verdict, end_of_process, verdict_of

_LATE: Final = 5.0
"""Seconds beyond its patience in which a process should report by itself that a call hangs."""


Watch = Callable[[Tally, float], None]
"""Called several times a second with the counters and the seconds that have passed."""


def run_workloads(workloads: Sequence[Workload], settings: Settings, watch: Watch | None = None) -> Outcome:
    """Run a campaign over several workloads, which must share a specification."""
    tally = Tally(COUNTERS, settings.processes)
    campaign = _Campaign(workloads, settings, tally, watch)
    interrupted = False
    try:
        with campaign.ctrl_c:
            if settings.supervised or settings.processes > 1:
                campaign.together()
            else:
                campaign.alone()
            campaign.look()
    except KeyboardInterrupt:
        interrupted = True
    return _outcome(workloads[0].spec, settings, tally, campaign.found, interrupted, campaign.seconds, campaign.once)


def _outcome(
    spec: Spec,
    settings: Settings,
    tally: Tally,
    found: Found | None,
    interrupted: bool,
    seconds: float,
    once: Collection[str],
) -> Outcome:
    operations, overlapping, undecided = map(tally.value, ("operations", "overlapping", "undecided"))
    reasons = [] if found else list(missing(settings, tally, interrupted))
    if not found and operations and not (interrupted or undecided or settings.threads == 1):
        reasons += vacuous(tally, once)  # also if few calls overlapped: more of them would not help
    return Outcome(
        verdict_of(found=found is not None, missing=reasons), settings.seed, tally.value("rounds"), operations,
        overlapping / max(operations, 1), undecided, seconds, interrupted, spec,
        trouble=found.trouble if found else "",
        history=found.history if found else None,
        judgement=found.judgement if found else None,
        stacks=found.stacks if found else "",
        missing=tuple(reasons),
    )  # fmt: skip


def missing(settings: Settings, tally: Tally, interrupted: bool) -> Iterator[str]:
    """The reasons why nothing can be said of the object, although no fault was found."""
    operations, overlapping, undecided = map(tally.value, ("operations", "overlapping", "undecided"))
    if interrupted:
        yield "it was interrupted: run it to its end"
    if undecided:
        batches = "1 batch was" if undecided == 1 else f"{undecided} batches were"
        yield f"{batches} not decided within the budget: raise `budget`, or let fewer calls overlap (`length`)"
    if not operations:
        yield "no batch was recorded and judged in this time: let `duration` be longer"
    elif settings.threads == 1:
        yield "one thread called alone, so that nothing could overlap: let `threads` be 2 or more"
    elif overlapping < _LEAST_OVERLAP * operations:
        share = f"only {overlapping:,} of {operations:,} calls overlapped" if overlapping else "no two calls overlapped"
        lock = ", or take a free-threaded interpreter if it is compiled code" if gil_enabled() else ""
        yield f"{share}: let more threads call, let `yields` be larger{lock}"


_LEAST_OVERLAP: Final = 0.02
"""The share of calls that must overlap. With methods that are Python code it is some five times as large, and if all of
them are compiled, a global lock leaves a tenth of it: only the calls' own beginnings and ends meet then."""


def vacuous(tally: Tally, once: Collection[str]) -> Iterator[str]:
    """The reasons why calls that were judged say nothing, however many overlapped: no fault could have shown."""
    if not tally.value("telling"):
        yield (
            "no answer depended on what was called before, so that none could be wrong: let a call answer what it saw, "
            "or one that is made at the end (`at_end`)"
        )
    if once:
        yield (
            f"{', '.join(sorted(once))} outlives an object and changed only once, so that a fault had one chance: let "
            "`reset` put it back"
        )


class _Campaign:
    """Workloads under some settings."""

    def __init__(self, workloads: Sequence[Workload], settings: Settings, tally: Tally, watch: Watch | None) -> None:
        self._workloads, self._settings, self._tally, self._watch = workloads, settings, tally, watch
        self._began = time.monotonic()
        self.once: set[str] = set()
        """What changed only once, although it outlives the objects."""
        self.found: Found | None = None
        self.ctrl_c = Outside(signal.SIGINT)
        """What it raised, which the interpreter drops if a thread's object is just being deleted."""

    @property
    def seconds(self) -> float:
        """The seconds since it began."""
        return time.monotonic() - self._began

    def look(self) -> None:
        """Report the progress to the watch, and end if Ctrl-C was pressed."""
        self.ctrl_c.raise_again()
        if self._watch is not None:
            self._watch(self._tally, self.seconds)

    def alone(self) -> None:
        """Run it in this process."""
        for found in self._batches(self._settings, 0, None, self.once):
            if found is None:
                self.look()
            else:
                self.found = found

    def together(self) -> None:
        """Run it in separate processes; the finding may be that one of them died."""
        shares = _shares(self._settings)
        logs = [ProgressLog(self._settings.threads) for _ in shares]
        patience = [Patience() for _ in shares]
        with Team(len(shares), self._work, shares, logs) as team:
            for message in team.messages():
                if isinstance(message, Died):
                    self.found = self.found or self._of(message, logs[message.number], shares[message.number])
                    return
                if isinstance(message, ValueError):
                    raise message
                if isinstance(message, bytes):
                    self.found = Found(*pickle.loads(message))
                elif message is not None:  # one of them has come to its end
                    if self.found is not None:
                        return
                    self.once |= message
                self.look()
                for number, log in enumerate(logs):
                    if patience[number].is_over(log.progress, self._most_seconds(log)):
                        team.interrupt(number)

    def _most_seconds(self, log: ProgressLog) -> float:
        """The most seconds that a process may make no progress in its present phase."""
        judging = self._settings.budget.seconds if log.phase == "judging what was seen" else 0.0
        return self._settings.patience + judging + _LATE

    def _batches(
        self, settings: Settings, first: int, log: ProgressLog | None, once: set[str]
    ) -> Iterator[Found | None]:
        """Run batches until rounds or time are up, or a fault is found; yield the finding of each, or None. A finding
        may be followed by that of one thread alone, which may end the process. `once` gets the names of what outlives
        the objects and has changed only once.
        """
        makers = {id(each): Fresh(each.factory, each.reset) for each in self._workloads}
        lasting = [Outliving(each.factory) for each in self._workloads if each.reset is None]
        left, number, is_telling, right = settings.rounds, first, False, list[Sequence[Call]]()
        # Each process has the whole time: on a busy machine it may take as long to start. The first calls are made even
        # if time is up before they begin (`record`).
        until = None if settings.duration is None else time.monotonic() + settings.duration
        while (left is None or left > 0) and (until is None or time.monotonic() < until):
            batch = Batch(self._workloads, settings, number, left, lambda workload: makers[id(workload)]())
            found = batch.run(lambda name, amount: self._tally.add(first, name, amount), until, log)
            yield found
            if found is not None:
                if batch.workload.reset is None:
                    for each in lasting:
                        each.look()
                    changed = {name for each in lasting for name in each.changed}
                    yield _alone(found, batch, makers[id(batch.workload)], changed, right)
                return
            if batch.seen:
                right.append(batch.calls_of_one())
            if batch.seen and not is_telling:
                is_telling = _is_telling(batch)
                self._tally.add(first, "telling", is_telling)
            for each in lasting:
                each.look()
            left = None if left is None else left - max(batch.rounds_made, 1)
            number += settings.processes
        for each in lasting:
            once |= each.once

    def _work(self, worker: Worker, shares: Sequence[Settings], logs: Sequence[ProgressLog]) -> None:
        """The work of one process of the team."""
        settings, log = shares[worker.number], logs[worker.number]
        once = set[str]()
        try:
            for found in self._batches(settings, worker.number, log, once):
                worker.note(f"batch {log.batch}")
                if found is not None:
                    worker.send(_packed(found, self._workloads[0].spec, settings.budget))
        except (Refused, SpecError) as refused:
            worker.send(refused)
        else:
            worker.send(once)

    def _of(self, died: Died, log: ProgressLog, settings: Settings) -> Found:
        """The finding that a process died."""
        batch = Batch(self._workloads, settings, log.batch, settings.rounds)
        history = batch.left_in(log)
        calls = f": {pending_calls(history)}".replace(" never returned", "") if history.operations else ""
        trouble = f"a process was {end_of_process(died.exitcode)} while it was {log.phase}{calls}"
        return batch.trouble("death", history, trouble, died.stacks)


def _is_telling(batch: Batch) -> bool:
    """Whether a history that is right says anything."""
    workload = batch.workload
    return workload.invariant is not None or any(
        could_contradict(its, workload.spec) for its in batch.seen[:_LOOKED_AT]
    )


_LOOKED_AT: Final = 8
"""The parts of a history that are looked through for an answer that tells something."""


def _alone(found: Found, batch: Batch, make: Fresh, changed: Collection[str], right: Sequence[Sequence[Call]]) -> Found:
    """The finding, or that of one thread alone, if that gets wrong answers, too: then no others are needed for it, and
    the class and its specification disagree. `right` are calls of earlier batches whose answers were right.

    Raises:
        Refused: the factory gives the same object again; or what is wrong with one thread alone has not been wrong
            before, so that something outlives objects. It is no fault of the object that a later one begins in another
            state than the specification.
    """
    if found.judgement.verdict is not Verdict.ILLEGAL:
        return found
    make()  # refuses an object that was given before
    spec = batch.workload.spec
    in_order = sorted(found.history, key=lambda each: each.call)
    calls = batch.calls_of_one() if batch.workload.is_sequential else [(each.op, each.args) for each in in_order]
    alone = wrong_alone(make, calls, spec)
    if alone is None:
        return found
    is_shared = any(each.result == Raised("SnapshotChanged") for each in alone)  # no object by itself answers so
    was_right = not is_shared and (
        (batch.workload.is_sequential and not found.trouble)
        or any(wrong_alone(make, calls, spec) is not None for calls in right[:_LOOKED_AT])
    )
    if changed or was_right:
        names = f"{', '.join(sorted(changed))} outlives objects" if changed else "something outlives objects"
        raise Refused(
            f"a fresh object is wrong even if one thread calls it alone, and {names}: let the factory make everything, "
            "or let `reset` put it back"
        )
    history = batch.named(alone)
    return replace(found, history=history, judgement=check(history, spec))


def _shares(settings: Settings) -> list[Settings]:
    """The settings of each process: the rounds are divided among them."""
    if settings.rounds is None:
        return [settings] * settings.processes
    rounds = (len(range(number, settings.rounds, settings.processes)) for number in range(settings.processes))
    return [replace(settings, rounds=each) for each in rounds if each]


def _packed(found: Found, spec: Spec, budget: Budget) -> bytes:
    """A finding as bytes. Values that cannot be pickled are replaced by their `repr`, as in a file."""
    try:
        return pickle.dumps((found.history, found.judgement, found.trouble, found.stacks))
    except Exception:  # noqa: BLE001 - pickling may call methods of users' classes
        text = StringIO()
        jsonl.dump(found.history, text)
        history = jsonl.parse(text.getvalue())
        return pickle.dumps((history, check(history, spec, budget=budget), found.trouble, found.stacks))
