"""Either twin to explore: an interpreted copy, or the compiled modules of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stress.explorer.scenario import Scenario
from tests.tries.compiled import CompiledCopy, CompiledExperiment, load_compiled
from tests.tries.experiment import TrieExperiment
from tests.tries.source_copy import Change
from tests.tries.trie_copy import TrieCopy, load_copy


def load_twin(compiled: bool, ideal: bool = False, order: Any = None, changes: Sequence[Change] = ()) -> TrieCopy:
    """The compiled twin, which writes each schedule into the buffer `order` as it goes, if that is given; or a copy of
    the interpreted twin with `changes` applied.

    Raises:
        NotBuilt: there is no compiled twin that can be explored.
    """
    if not compiled:
        return load_copy(changes)
    twin = load_compiled(ideal)
    if order is not None:
        twin.seam.native.write_order(memoryview(order).cast("B"))
    return twin


def experiment_on(twin: TrieCopy, scenario: Scenario) -> TrieExperiment:
    """A scenario on a twin of either kind.

    Raises:
        BrokenStart: its start cannot be made.
    """
    if isinstance(twin, CompiledCopy):
        return CompiledExperiment(twin, scenario)
    return TrieExperiment(twin, scenario)
