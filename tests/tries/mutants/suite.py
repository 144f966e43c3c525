"""The suite: runs every mutant against the layers that should catch it, and the unmutated code against the same layers.

Mutants share nothing, so several processes divide them among themselves.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stress.processes import Died, Team, Worker
from stress.verdicts import end_of_process
from tests.tries.campaign import taken_in_turn
from tests.tries.mutants.catalogue import MUTANTS
from tests.tries.mutants.checked import first_difference
from tests.tries.mutants.layers import catch
from tests.tries.mutants.mutant import Mutant
from tests.tries.mutants.reclaimed import compiler, processors, trouble_of
from tests.tries.source_copy import StaleChange

_RUNS: Final = 40
"""Runs of the real threads of a mutant of the reclaimer: nearly all are caught by the first."""
_OF_CONTROLS: Final = 10
"""One in so many executions is enough for unmutated code, which takes all that it may."""

CONTROLS: Final = tuple(
    Mutant("unmutated", of, ())
    for of in ("map", "subscriptions", "shares", "exclusions", "topics", "fields", "routes", "checker", "reclaimer")
)
"""Unmutated code, in which no fault may be found."""


@dataclass(frozen=True)
class Trial:
    """The result of a mutant: the `layer` that caught it and the observation; no layer if it survived.

    `stale` tells that its text no longer occurs in the source, `untried` why it could not be tried here, `died` how the
    process that tried it ended.
    """

    name: str
    of: str
    seconds: float
    layer: str = ""
    seen: str = ""
    attempts: int = 0
    replay: str = ""
    stale: str = ""
    untried: str = ""
    died: str = ""

    @property
    def is_control(self) -> bool:
        """Whether this is the unmutated code."""
        return self.name == CONTROLS[0].name

    @property
    def is_well(self) -> bool:
        """Whether a mutant was caught, or the unmutated code was not."""
        return not self.stale and not self.died and (bool(self.untried) or bool(self.layer) != self.is_control)


def try_mutant(mutant: Mutant, seed: int, most: int) -> Trial:
    """Run a mutant against its layers, for at most so many executions; unmutated code for a tenth of them."""
    began = time.monotonic()
    told: dict[str, Any] = {}
    try:
        told = _OTHERS.get(mutant.of, catch)(mutant, seed, most if mutant.edits else max(1, most // _OF_CONTROLS))
    except StaleChange as error:
        told = {"stale": str(error)}
    return Trial(mutant.name, mutant.of, time.monotonic() - began, **told)


def _try_checker(mutant: Mutant, seed: int, most: int) -> dict[str, Any]:
    attempts, wrong = first_difference(mutant.changes, seed)
    return {"layer": "verdicts" if wrong else "", "seen": wrong, "attempts": attempts}


def _try_reclaimer(mutant: Mutant, seed: int, most: int) -> dict[str, Any]:
    if compiler() is None:
        return {"untried": "there is no C compiler"}
    if mutant.edits and processors() < 2:
        return {"untried": "on one processor threads do not meet often enough"}
    attempts, trouble = 0, ""
    while not trouble and attempts < (_RUNS if mutant.edits else 1):
        attempts += 1
        trouble = trouble_of(mutant.changes)
    return {"layer": "threads" if trouble else "", "seen": trouble, "attempts": attempts}


_OTHERS: Final[dict[str, Callable[[Mutant, int, int], dict[str, Any]]]] = {
    "checker": _try_checker,
    "reclaimer": _try_reclaimer,
}
"""How mutants are tried that are of no trie."""


def run_suite(
    seed: int, most: int, processes: int, mutants: Sequence[Mutant] = (*CONTROLS, *MUTANTS)
) -> Iterator[Trial | None]:
    """Try all of them, each with at most so many executions. Yield the trials as they end, and None several times a
    second. If the process of a mutant dies, its trial says how; the others continue.
    """
    turn = multiprocessing.Value("i", 0)
    left = processes
    while left:
        with Team(left, _work, mutants, turn, seed, most) as team:
            left = 0
            for message in team.messages():
                if isinstance(message, Died):
                    left += 1
                    if message.note:
                        at = int(message.note)
                        yield Trial(mutants[at].name, mutants[at].of, 0.0, died=end_of_process(message.exitcode))
                else:
                    yield message


def _work(worker: Worker, mutants: Sequence[Mutant], turn: Any, seed: int, most: int) -> None:
    """The work of one process: it takes the next mutant whenever it is free."""
    for at in taken_in_turn(turn, len(mutants)):
        worker.note(str(at))
        worker.send(try_mutant(mutants[at], seed, most))
