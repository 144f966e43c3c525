"""From a finding to a report: the small scenario, the sentence, the steps, and the command that shows it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from stress.checker.check import Verdict, check
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.trace import trace
from stress.reports.report import Report, Steps, report_on

__all__ = ["report_on_finding"]


_NAMES: Final = {
    "history": "an execution that no order explains",
    "structure": "a broken structure",
    "livelock": "a livelock",
    "deadlock": "a deadlock",
}


def report_on_finding(
    experiment: Experiment, finding: Finding, replay: str, facts: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """The report on a finding, which is executed once more for it. `replay` tells how to execute it again."""
    told, _ = trace(experiment, finding.order)
    judgement = check(finding.history, experiment.spec)
    made = {"scenario": str(finding.scenario), "steps": str(len(finding.order)), **facts}
    report = report_on(finding.history, experiment.spec, judgement, made, replay)
    is_told = judgement.verdict is Verdict.ILLEGAL and finding.kind == "history"
    trouble = None if is_told else (_NAMES[finding.kind], f"{finding.trouble[:1].upper()}{finding.trouble[1:]}.")
    return replace(report, trouble=trouble, steps=Steps(told.steps, told.legend))
