"""The layers of the suite that should catch mutants of the tries, the cheapest first.

* *model*: one thread, many calls, on every kind of start. Answers, content and structure are compared with the
  specification.
* *explore*: few calls in several threads: schedules drawn at random, all schedules with one preemption, and threads
  that stop for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from random import Random
from typing import Any, Final

from stress.explorer.experiment import Finding
from stress.explorer.scenario import Scenario
from stress.explorer.slots import Endless
from stress.explorer.strategies import bounded, sampled, stopped_for_ever
from tests.tries.experiment import BrokenStart, TrieExperiment
from tests.tries.mutants.mutant import Mutant
from tests.tries.scenarios import random_scenario
from tests.tries.trie_copy import TrieCopy, load_copy
from tests.tries.twins import Token

_SEQUENCES: Final = 120
_LENGTHS: Final = ((6,), (12,))
_SAMPLES: Final = 40
_BOUNDED: Final = 200
_PREEMPTIONS_SHOWN: Final = 2
_PAIR: Final = ((1, 1),)
_BESIDE_A_MOVE: Final = ((1, 1), (1, 2))


def catch(mutant: Mutant, seed: int, most: int) -> dict[str, Any]:
    """Run the layers on a twin with `mutant` in it, for at most so many executions. What a trial tells of that: the layer
    that noticed a fault, if any, the number of executions, what was seen, and how to see it again."""
    twin = load_copy(mutant.changes)
    random = Random(f"{seed}/{mutant.of}")
    draw = partial(random_scenario, mutant.of, random, mutant.starts)
    executions = 0
    for layer, attempts in (
        ("model", _sequences(twin, draw)),
        ("explore", chain(_shown(twin, mutant), _schedules(twin, draw, random))),
    ):
        try:
            for finding in attempts:
                executions += 1
                if finding is not None:
                    token = Token(finding.scenario, finding.order, mutant.name if mutant.edits else "")
                    seen = f"{finding.trouble}, in {finding.scenario}"
                    return {"layer": layer, "attempts": executions, "seen": seen, "replay": token.command}
                if executions >= most:
                    return {"attempts": executions}
        except (BrokenStart, Endless) as broken:
            seen = str(broken) if isinstance(broken, BrokenStart) else "a call never returns"
            return {"layer": layer, "attempts": executions, "seen": seen}
    raise AssertionError("schedules end")


def _shown(twin: TrieCopy, mutant: Mutant) -> Iterator[Finding | None]:
    """The scenario that shows the mutant best, if it names one: random search finds few faults quickly."""
    if mutant.shown_by:
        yield from bounded(TrieExperiment(twin, Scenario(mutant.of, *mutant.shown_by)), _PREEMPTIONS_SHOWN)


def _sequences(twin: TrieCopy, draw: Callable[..., Scenario]) -> Iterator[Finding | None]:
    for _ in range(_SEQUENCES):
        yield from bounded(TrieExperiment(twin, draw(sizes=_LENGTHS)), 0)


def _schedules(twin: TrieCopy, draw: Callable[..., Scenario], random: Random) -> Iterator[Finding | None]:
    while True:
        yield from islice(sampled(TrieExperiment(twin, draw()), random), _SAMPLES)
        yield from islice(bounded(TrieExperiment(twin, draw(sizes=_BESIDE_A_MOVE)), 1), _BOUNDED)
        pair = draw(sizes=_PAIR)
        if all(op != "get_or_create" for calls in pair.threads for op, _ in calls):
            yield from islice(stopped_for_ever(TrieExperiment(twin, pair)), _BOUNDED)
