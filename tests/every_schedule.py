"""Some of the explorer's scenarios of the tries (`tests/tries`), in the ordinary tests: another STRESS_SEED takes others,
and `make stress` takes all. The interpreted twin runs, whatever twin the tests are of.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random

from stress.explorer.experiment import Finding
from stress.explorer.scenario import Scenario
from stress.explorer.strategies import bounded, stopped_for_ever
from tests.tries.experiment import TrieExperiment
from tests.tries.scenarios import pairs, stops
from tests.tries.trie_copy import load_copy

Scenarios = Sequence[Scenario]
MOST = 400  # schedules of a scenario; most have fewer
PREEMPTIONS = 2


def scenarios_of(target: str, start: str, most: int) -> tuple[Scenarios, Scenarios]:
    """Pairs of operations on a start, and pairs of which the first thread stops for ever: at most so many of each."""
    drawn = Random(f"{os.environ.get('STRESS_SEED', '1')} {target} {start}")

    def some(of: Iterator[Scenario], number: int) -> Scenarios:
        found = [each for each in of if each.start == start]
        return drawn.sample(found, min(number, len(found)))

    return some(pairs(target), most), some(stops(target), most)


def explored(running: Scenarios, stopping: Scenarios = ()) -> int:
    """Execute the schedules, of each scenario the first ones, and return how many there were.

    Raises:
        AssertionError: one of them is wrong.
    """
    twin = load_copy()
    executions = 0

    def judged(findings: Iterator[Finding | None], scenario: Scenario) -> None:
        nonlocal executions
        for finding in islice(findings, MOST):
            executions += 1
            assert finding is None, f"{scenario}: {finding}"

    for scenario in running:
        judged(bounded(TrieExperiment(twin, scenario), PREEMPTIONS), scenario)
    for scenario in stopping:
        judged(stopped_for_ever(TrieExperiment(twin, scenario)), scenario)
    return executions
