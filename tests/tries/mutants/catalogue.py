"""The catalogue: the change of the source that makes each mutant.

Most are faults that other implementations had. A text that no longer occurs is an error: the mutant must follow the
source.
"""

from __future__ import annotations

from typing import Final

from tests.tries.mutants.mutant import Mutant
from tests.tries.mutants.of_fields_and_checker import CHECKER, FIELDS
from tests.tries.mutants.of_maps import APPROACH, GCAS, MAPPING, RECLAIMER, SNAPSHOTS, TOMBS
from tests.tries.mutants.of_subscriptions import OBSERVERS, SHAPES, SUBSCRIPTIONS


def find(name: str) -> Mutant:
    """The mutant of that name; LookupError if there is none."""
    named = [mutant for mutant in MUTANTS if mutant.name == name]
    if not named:
        raise LookupError(f"no mutant is called {name!r}")
    return named[0]


MUTANTS: Final[tuple[Mutant, ...]] = (
    *GCAS,
    *SNAPSHOTS,
    *TOMBS,
    *MAPPING,
    *APPROACH,
    *SUBSCRIPTIONS,
    *OBSERVERS,
    *FIELDS,
    *CHECKER,
    *RECLAIMER,
    *SHAPES,
)
