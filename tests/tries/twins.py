"""Either twin to explore, an interpreted copy or the compiled modules of this process, and reports on findings in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stress.explorer.experiment import Finding
from stress.explorer.report import report_on_finding
from stress.explorer.scenario import Scenario
from stress.reports.report import Report
from tests.tries.compiled import CompiledCopy, CompiledExperiment, load_compiled
from tests.tries.experiment import TrieExperiment
from tests.tries.source_copy import Change
from tests.tries.token import Token
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


def report_on_trie(twin: TrieCopy, finding: Finding, mutant: str = "") -> Report:
    """The report on a finding, which is executed once more for it."""
    compiled = isinstance(twin, CompiledCopy)
    facts = {"mutant": mutant} if mutant else {"twin": "compiled"} if compiled else {}
    token = Token(finding.scenario, finding.order, mutant, compiled)
    return report_on_finding(experiment_on(twin, finding.scenario), finding, token.command, facts)
