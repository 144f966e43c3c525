"""From a finding in a trie to a report: the small scenario, the sentence, the steps, and the command that shows it
again.
"""

from __future__ import annotations

from stress.explorer.experiment import Finding
from stress.explorer.report import report_on_finding
from stress.reports.report import Report
from tests.tries.compiled import CompiledCopy
from tests.tries.token import Token
from tests.tries.trie_copy import TrieCopy
from tests.tries.twins import experiment_on


def report_on_trie(twin: TrieCopy, finding: Finding, mutant: str = "") -> Report:
    """The report on a finding, which is executed once more for it."""
    compiled = isinstance(twin, CompiledCopy)
    facts = {"mutant": mutant} if mutant else {"twin": "compiled"} if compiled else {}
    token = Token(finding.scenario, finding.order, mutant, compiled)
    return report_on_finding(experiment_on(twin, finding.scenario), finding, token.command, facts)
