"""Makes a finding small: fewer calls, then fewer preemptions, each time by a new search.

The result is a finding of its own, which has been executed and judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Final

from stress.checker.waiting import may_wait
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.scenario import Scenario
from stress.explorer.strategies import bounded, reduced, sampled
from stress.history import Call
from stress.spec import Spec

__all__ = ["in_all_ways", "minimise"]

_WAITS: Final = ("livelock", "deadlock")
_EXECUTIONS: Final = 2_000
_REDUCED: Final = 500
_SAMPLES: Final = 1_000
_MOST_PREEMPTIONS: Final = 3


def minimise(
    finding: Finding, experiment_on: Callable[[Scenario], Experiment], spec: Spec | None = None, seconds: float = 10.0
) -> Finding:
    """A finding with as few calls and preemptions as can be found in `seconds`. `experiment_on` makes the experiment on
    a smaller scenario. With its specification, there are also fewer calls before and after the threads.
    """
    deadline = time.monotonic() + seconds
    found: Finding | None = finding
    while found is not None:
        finding, found = found, None
        for smaller in _smaller(finding.scenario, spec):
            found = _first(experiment_on(smaller), deadline)
            if found is not None and found.kind != finding.kind and found.kind in _WAITS:
                found = None  # without the call that ends a wait, a right object waits for ever
            if found is not None or time.monotonic() > deadline:
                break
    if finding.kind == "livelock":  # the threads go in circles and switch without end
        return finding
    fewest = islice(bounded(experiment_on(finding.scenario), _MOST_PREEMPTIONS), 5 * _EXECUTIONS)
    return _found(fewest, deadline) or finding


def _smaller(scenario: Scenario, spec: Spec | None) -> Iterator[Scenario]:
    """The scenario without one of its threads, or one of its calls; with its specification, then also without all calls
    before or after, or without one of them, if no call before has to wait then.
    """
    threads = scenario.threads
    for at, calls in enumerate(threads):
        for left in _shorter(calls):
            if left or len(threads) > 1:
                yield replace(scenario, threads=(*threads[:at], *filter(None, [left]), *threads[at + 1 :]))
    if spec is not None:
        yield from (replace(scenario, at_end=left) for left in _shorter(scenario.at_end))
        fewer = (left for left in _shorter(scenario.at_start) if not may_wait(spec, left))
        yield from (replace(scenario, at_start=left) for left in fewer)


def _shorter(calls: tuple[Call, ...]) -> Iterator[tuple[Call, ...]]:
    """None of several calls, and all but one."""
    if len(calls) > 1:
        yield ()
    yield from (calls[:at] + calls[at + 1 :] for at in range(len(calls)))


def _first(experiment: Experiment, deadline: float) -> Finding | None:
    """The first finding in a scenario, if there is one before the deadline."""
    return _found(in_all_ways(experiment, Random(0), _REDUCED, _EXECUTIONS, _SAMPLES), deadline)


def in_all_ways(
    experiment: Experiment, random: Random, few: int, with_few_preemptions: int, samples: int
) -> Iterator[Finding | None]:
    """All executions that differ, if they are fewer than `few`; else so many of these, then at most so many with two
    preemptions, and some at random, since what one strategy cannot find another may find soon.
    """
    executions = 0
    for finding in islice(reduced(experiment), few):
        executions += 1
        yield finding
    if executions == few:
        yield from islice(bounded(experiment, 2), with_few_preemptions)
        yield from islice(sampled(experiment, random), samples)


def _found(tried: Iterator[Finding | None], deadline: float) -> Finding | None:
    for finding in tried:
        if finding is not None:
            return finding
        if time.monotonic() > deadline:
            return None
    return None
