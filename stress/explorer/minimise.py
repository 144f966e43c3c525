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

from stress.explorer.bounded import bounded
from stress.explorer.dpor import reduced
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.sampling import sampled
from stress.explorer.scenario import Scenario

__all__ = ["fewest_preemptions", "first", "in_all_ways", "minimise"]

_WAITS: Final = ("livelock", "deadlock")
_EXECUTIONS: Final = 2_000
_REDUCED: Final = 500
_SAMPLES: Final = 1_000
_MOST_PREEMPTIONS: Final = 3


def minimise(finding: Finding, experiment_on: Callable[[Scenario], Experiment], seconds: float = 10.0) -> Finding:
    """A finding with as few calls and preemptions as can be found in `seconds`. `experiment_on` makes the experiment on
    a smaller scenario.
    """
    deadline = time.monotonic() + seconds
    found: Finding | None = finding
    while found is not None:
        finding, found = found, None
        for smaller in _smaller(finding.scenario):
            found = first(experiment_on(smaller), deadline)
            if found is not None and found.kind != finding.kind and found.kind in _WAITS:
                found = None  # without the call that ends a wait, a right object waits for ever
            if found is not None or time.monotonic() > deadline:
                break
    if finding.kind == "livelock":  # the threads go in circles and switch without end
        return finding
    return fewest_preemptions(experiment_on(finding.scenario), deadline) or finding


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """The scenario without one of its threads, or one of its calls."""
    threads = scenario.threads
    for number in range(len(threads)):
        if len(threads) > 1 and len(threads[number]) > 1:
            yield replace(scenario, threads=(*threads[:number], *threads[number + 1 :]))
    for number, calls in enumerate(threads):
        for at in range(len(calls)):
            left = (*calls[:at], *calls[at + 1 :])
            kept = (left,) if left else ()
            if kept or len(threads) > 1:
                yield replace(scenario, threads=(*threads[:number], *kept, *threads[number + 1 :]))


def first(experiment: Experiment, deadline: float) -> Finding | None:
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


def fewest_preemptions(experiment: Experiment, deadline: float) -> Finding | None:
    """A finding in a scenario with as few preemptions as possible, if there is one before the deadline."""
    return _found(islice(bounded(experiment, _MOST_PREEMPTIONS), 5 * _EXECUTIONS), deadline)


def _found(tried: Iterator[Finding | None], deadline: float) -> Finding | None:
    for finding in tried:
        if finding is not None:
            return finding
        if time.monotonic() > deadline:
            return None
    return None
