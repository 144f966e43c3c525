"""`run`: a campaign on one object, and the pursuit of what it finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from stress.checker.check import Budget
from stress.processes import Tally
from stress.progress_line import following
from stress.pursuit import pursue
from stress.recorder.batch import Settings
from stress.recorder.campaign import run_workloads
from stress.recorder.outcome import Outcome
from stress.recorder.workload import Workload, made_anew
from stress.seed import draw_seed
from stress.sequential import Sequential
from stress.spec import Spec


def run(
    factory: Callable[[], Any],
    spec: Spec | None,
    operations: Sequence[tuple[Any, ...]],
    *,
    invariant: Callable[[Any], object] | None = None,
    at_start: Sequence[tuple[Any, ...]] = (),
    at_end: Sequence[tuple[Any, ...]] = (),
    check: Callable[[Any], object] | None = None,
    reset: Callable[[], object] | None = None,
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

    Args:
        factory: makes a fresh object in the state `spec.initial`; called for every batch. One that gives the same
            object again is refused.
        spec: the sequential object that it must behave like. None: an answer is right if some order of the calls, made
            one after another on a fresh object, gives it (`stress.sequential`). Then each object gets a dozen calls. If
            there is an `invariant`, every answer is right.
        operations: what threads may call: tuples of a method's name and its arguments, which may be
            `one_of(...)` or `unique`.
        invariant: raises, or answers False, if something does not hold that must; called after every batch. Without a
            specification it is all that is demanded.
        at_start: calls to make on each object before its threads begin.
        at_end: calls to make on each object when its threads have ended. Their answers count like any other, so calls
            that answer nothing can be judged by one that reads what they have done.
        check: the former name of `invariant`; answers are judged without a specification, too.
        reset: puts back what outlives an object, such as variables of modules that the first call fills, or the state
            of an object that the factory gives again; called before each object is made.
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
            other batch; some batches take a quarter or a tenth of it, and with `reset` five and fifteen times as much.
        processes: how many campaigns to run in parallel. With more than one, each is a separate process: if the object
            crashes one, that is a finding. With one, the object crashes the caller.
        budget: what judging one batch may cost.
        patience: seconds without any progress after which an operation counts as hung.
        pursuit: if a history was refuted, seconds to look for the same fault in fewer calls, and for the schedule that
            leads to it, or what is left of `duration` if that is more; 0: do not look.

    Returns:
        the outcome, which is true if nothing is wrong; `outcome.report()` explains it. The verdict is `UNKNOWN` if
        nothing could have been found: hardly any calls overlapped, no answer depended on what was called before, or the
        calls change what outlives the object only once in a process.

    Raises:
        AttributeError: the object has no method with the name of an operation.
        ValueError: a method does not take as many arguments as an operation gives, a setting makes no sense, or the
            factory gives the same object again.

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
    if invariant is not None and check is not None:
        raise ValueError("check and invariant are the same: give one")
    if spec is None and check is not None:
        spec = Sequential(partial(made_anew, factory, reset))
    more: dict[str, Any] = {"roles": roles, "reset": reset, "at_start": at_start, "at_end": at_end}
    workloads = [Workload(factory, spec, operations, invariant if check is None else check, **more)]
    return run_and_pursue(workloads, settings, pursuit, apart=processes > 1, quiet=_QUIET)


_QUIET: Final = 2.0
"""Seconds before a line on the terminal tells how far a run is."""


def run_and_pursue(
    workloads: Sequence[Workload], settings: Settings, pursuit: float, *, apart: bool, quiet: float = 0.0
) -> Outcome:
    """The outcome of a campaign, with the same fault in fewer calls if that is found; see `run`. After `quiet` seconds
    a line on a terminal tells how far it is. `apart`: the search is in a process of its own.
    """
    whole = float(settings.rounds or 0) if settings.duration is None else settings.duration
    with following(f"seed {settings.seed}", whole, after=quiet) as tell:

        def watch(tally: Tally, seconds: float) -> None:
            operations, overlapping = tally.value("operations"), tally.value("overlapping")
            share = f"{overlapping / operations:.0%} overlapping" if operations else "starting"
            tell(f"{operations:,} operations, {share}", tally.value("rounds") if settings.duration is None else seconds)

        outcome = run_workloads(workloads, settings, watch)
        if outcome.judgement is None or not pursuit:
            return outcome
        left = 0.0 if settings.duration is None else settings.duration - outcome.seconds
        tell("looking for the same in fewer calls", whole)
        return pursue(outcome, workloads, max(pursuit, left), apart=apart)
