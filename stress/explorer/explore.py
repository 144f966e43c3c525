"""Exploring an object of one's own: `stress.explore`.

The object's class goes through `ctrie.AtomicReference`, by whatever name its module knows it. While `explore` runs,
that name stands for an explored reference (`patch_class`), so the class is explored as it is: it need not take its
references from a parameter, and may make more of them at any time. The price is that nothing else in the process may
make references meanwhile. What threads share without a reference is marked with `switch_point`.

Schedules, judgement, minimisation and traces are those of the tries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from random import Random
from typing import Any, Final

from stress.checker.check import Verdict
from stress.explorer.bounded import bounded
from stress.explorer.dpor import reduced
from stress.explorer.experiment import Finding
from stress.explorer.machine import Drift, Machine
from stress.explorer.minimise import minimise
from stress.explorer.object_experiment import ObjectExperiment, Subject, explored_references, subject_of
from stress.explorer.report import report_on_finding
from stress.explorer.sampling import sampled
from stress.explorer.scenario import Scenario
from stress.explorer.suspension import stopped_for_ever
from stress.explorer.token import TokenError, decode, encode
from stress.explorer.trace import trace
from stress.history import UNSEEN, Operation
from stress.recorder.campaign import draw_seed
from stress.recorder.workload import as_calls
from stress.reports.html import save as save_page
from stress.reports.report import Report
from stress.reports.text import render_outcome
from stress.spec import Spec
from stress.spec_check import as_instance, check_spec

__all__ = ["Explored", "explore"]

Calls = Sequence[tuple[Any, ...]]
Attempts = Iterator[Finding | None]


@dataclass(frozen=True)
class Explored:
    """What exploring an object found. True only if all schedules that were asked for were executed, and nothing was
    wrong in any of them.

    `verdict` is `UNKNOWN` if time was up before, or none was asked for. `executions` tells how many schedules were
    executed, `token` is for `explore(..., replay=token)`, and `found` is the report on what is wrong.
    """

    verdict: Verdict
    schedules: str
    executions: int
    seconds: float
    token: str = ""
    found: Report | None = None

    def __bool__(self) -> bool:
        return self.verdict is Verdict.LINEARIZABLE

    @property
    def summary(self) -> str:
        """One line: what was executed, and how it went."""
        verdict = self.verdict.value if self.found is None else self.found.headline
        rate = self.executions / self.seconds if self.seconds else 0.0
        return f"{verdict}; {self.schedules}: {self.executions:,} executions in {self.seconds:.1f} s ({rate:,.0f}/s)"

    def report(self) -> str:
        """All that is known, as text."""
        return render_outcome(self.summary, self.found)

    def save_html(self, path: str) -> None:
        """Write the report on what is wrong as a page.

        Raises:
            ValueError: nothing is.
        """
        if self.found is None:
            raise ValueError("nothing was found, so there is nothing to show")
        save_page(self.found, path)


def explore(
    factory: Callable[[], Any],
    spec: Spec,
    threads: Sequence[Calls],
    *,
    at_end: Calls = (),
    check: Callable[[Any], object] | None = None,
    preemptions: int | None = None,
    samples: int | None = None,
    stops: bool = False,
    seed: int | None = None,
    duration: float | None = None,
    replay: str = "",
) -> Explored:
    """Let a few threads call an object under every schedule, and judge all that they see.

    Parameters:
        factory: makes a fresh object in the state `spec.initial`; called for every execution, and makes the same
            object each time.
        spec: the sequential object that it must look like.
        threads: the calls of each thread: tuples of a method's name and its arguments.
        at_end: calls to make when no thread runs any more. Their answers count as any other.
        check: raises if an invariant of the object does not hold; called after every execution.
        preemptions: how many switches away from a thread that could go on a schedule may have; None: any number, and
            of schedules that nobody could tell apart one is executed.
        samples: execute so many schedules drawn at random instead, uniformly and by priorities (PCT).
        stops: let, besides, each thread in turn stop for ever after its first step, its second, and so on. The
            others must come to their ends, one after another if `preemptions` is None.
        seed: decides what `samples` draws; drawn at random if None.
        duration: seconds to explore at most; None: no limit.
        replay: the token of an earlier call with the same arguments: execute that schedule alone.

    Returns:
        the outcome, which is true if nothing is wrong; `outcome.report()` explains it. An execution takes some
        hundred microseconds; their number is exponential in the number of accesses.

    Raises:
        ValueError: the threads access nothing that the explorer knows, or the object does not do the same each time,
            or `replay` does not fit.
        AttributeError: the object has no method of the name of a call.

    A call that waits for another thread by trying again is found as a livelock. One that waits otherwise, for a lock,
    would wait for ever, and one that goes in circles without an access too.

    >>> import stress
    >>> from ctrie import AtomicReference
    >>> class Hits:
    ...     def __init__(self):
    ...         self.n = AtomicReference(0)
    ...     def increment(self):
    ...         while True:
    ...             n = self.n.load()
    ...             if self.n.compare_and_set(n, n + 1):
    ...                 return n + 1
    >>> outcome = stress.explore(Hits, stress.Counter(), [[("increment",)], [("increment",)]])
    >>> outcome.verdict, outcome.executions
    (<Verdict.LINEARIZABLE: 'linearizable'>, 4)
    """
    if preemptions is not None and samples is not None:
        raise ValueError("schedules with few preemptions, or samples: choose one")
    program = tuple(map(as_calls, threads))
    calls = [call for calls in (*program, as_calls(at_end)) for call in calls]
    check_spec(as_instance(spec), [Operation(at, 0, 2 * at, None, *call, UNSEEN) for at, call in enumerate(calls)])
    if not program or not all(program):
        raise ValueError("there must be a thread, and a call in every thread")
    plan = _Plan(preemptions, samples, stops, draw_seed() if seed is None else seed, duration)
    with (
        explored_references() as machine,
        subject_of(machine, factory, spec, as_calls(at_end), check) as subject,
    ):
        exploration = _Exploration(machine, subject, Scenario(type(factory()).__name__, "", program))
        return exploration.replay(replay) if replay else exploration.run(plan)


@dataclass(frozen=True)
class _Plan:
    """Which schedules to execute, and for how long."""

    preemptions: int | None
    samples: int | None
    stops: bool
    seed: int
    duration: float | None

    def __str__(self) -> str:
        if self.samples is not None:
            told = f"{self.samples:,} schedules drawn at random, seed {self.seed}"
        elif self.preemptions is not None:
            told = f"every schedule with at most {self.preemptions} preemptions"
        else:
            told = "every schedule that can be told from others"
        return told + (", and with threads that stop for ever" if self.stops else "")


_REPLAYED: Final = "the schedule of the token"


class _Exploration:
    """A subject, the scenario on it, and the machine that they run on."""

    def __init__(self, machine: Machine, subject: Subject, scenario: Scenario) -> None:
        self._machine, self._subject, self._scenario = machine, subject, scenario
        self._began = time.monotonic()

    def _on(self, scenario: Scenario) -> ObjectExperiment:
        return ObjectExperiment(self._machine, self._subject, scenario)

    def run(self, plan: _Plan) -> Explored:
        """Execute the schedules, up to the first in which something is wrong."""
        executions = 0
        try:
            for finding in self._attempts(plan):
                executions += 1
                if finding is not None:
                    outcome = self._outcome(str(plan), executions, Verdict.ILLEGAL)
                    return self._explained(outcome, minimise(finding, self._on))
                if executions == 1:
                    self._refuse_nothing()
                if plan.duration is not None and time.monotonic() - self._began > plan.duration:
                    return self._outcome(f"{plan}, but time was up", executions, Verdict.UNKNOWN)
        except Drift as drift:
            raise ValueError(f"{self._scenario.target} does not do the same each time: {drift}") from None
        return self._outcome(str(plan), executions, Verdict.LINEARIZABLE if executions else Verdict.UNKNOWN)

    def _attempts(self, plan: _Plan) -> Attempts:
        whole = self._on(self._scenario)
        if plan.samples is not None:
            yield from islice(sampled(whole, Random(plan.seed)), plan.samples)
        elif plan.preemptions is not None:
            yield from bounded(whole, plan.preemptions)
        else:
            yield from reduced(whole)
        if plan.stops:
            threads = self._scenario.threads
            for first in range(len(threads)):
                turned = Scenario(self._scenario.target, "", threads[first:] + threads[:first])
                yield from stopped_for_ever(self._on(turned), plan.preemptions or 0)

    def _refuse_nothing(self) -> None:
        if all(slot._name is None for slot in self._machine.execution.slots):
            raise ValueError(
                f"there is nothing to explore: no call of {self._scenario} accesses an AtomicReference that was made "
                "during the exploration, or passes a switch_point"
            )

    def replay(self, token: str) -> Explored:
        """Execute the one schedule again that the token holds."""
        threads, order = decode(self._scenario.threads, token)
        try:
            _, finding = trace(self._on(Scenario(self._scenario.target, "", threads)), order)
        except Drift as drift:
            raise TokenError(f"the token does not fit (any more): {drift}") from None
        made = len(self._machine.execution.order)
        if made < len(order):
            raise TokenError(f"the token does not fit (any more): of its {len(order)} steps only {made} are made")
        if finding is None:
            return self._outcome(_REPLAYED, 1)
        return self._explained(self._outcome(_REPLAYED, 1, Verdict.ILLEGAL), finding)

    def _outcome(self, schedules: str, executions: int, verdict: Verdict = Verdict.LINEARIZABLE) -> Explored:
        return Explored(verdict, schedules, executions, time.monotonic() - self._began)

    def _explained(self, outcome: Explored, finding: Finding) -> Explored:
        token = encode(self._scenario.threads, finding)
        report = report_on_finding(self._on(finding.scenario), finding, f"stress.explore(..., replay={token!r})")
        return replace(outcome, token=token, found=report)
