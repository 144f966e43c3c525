"""From a finding in a trie to a report: the small scenario, the sentence, the steps, and the command that shows it
again.
"""

from __future__ import annotations

from stress.explorer.experiment import Finding
from stress.explorer.report import report_on_finding
from stress.reports.report import Report
from stress.tries.experiment import TrieExperiment
from stress.tries.token import Token, encode
from stress.tries.trie_copy import TrieCopy

__all__ = ["replay_command", "report_on_trie"]


def replay_command(finding: Finding, mutant: str = "") -> str:
    """The command that executes a finding again."""
    return f"python -m stress replay {encode(Token(finding.scenario, finding.order, mutant))}"


def report_on_trie(twin: TrieCopy, finding: Finding, mutant: str = "") -> Report:
    """The report on a finding, which is executed once more for it."""
    facts = {"mutant": mutant} if mutant else {}
    return report_on_finding(TrieExperiment(twin, finding.scenario), finding, replay_command(finding, mutant), facts)
