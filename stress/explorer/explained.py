"""From a finding to a report: the small scenario, the sentence, the steps, and the command that shows it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from stress.check import Verdict, check
from stress.explorer.experiment import Experiment
from stress.explorer.explorable import Explorable, Finding
from stress.explorer.token import Token, encode
from stress.explorer.trace import trace
from stress.explorer.twin import Twin
from stress.report import Report, Steps, report_on

__all__ = ["explain", "explained", "replay_command"]


_NAMES: Final = {
    "history": "an execution that no order explains",
    "structure": "a broken structure",
    "livelock": "a livelock",
    "deadlock": "a deadlock",
}


def replay_command(finding: Finding, mutant: str = "") -> str:
    """The command that executes a finding again."""
    return f"python -m stress replay {encode(Token(finding.scenario, finding.order, mutant))}"


def explain(twin: Twin, finding: Finding, mutant: str = "") -> Report:
    """The report on a finding, which is executed once more for it."""
    facts = {"mutant": mutant} if mutant else {}
    return explained(Experiment(twin, finding.scenario), finding, replay_command(finding, mutant), facts)


def explained(
    experiment: Explorable, finding: Finding, replay: str, facts: Mapping[str, str] = MappingProxyType({})
) -> Report:
    """The same for a finding of any kind of object; `replay` is how it can be had again."""
    told, _ = trace(experiment, finding.order)
    judgement = check(finding.history, experiment.spec)
    made = {"scenario": str(finding.scenario), "steps": str(len(finding.order)), **facts}
    report = report_on(finding.history, experiment.spec, judgement, made, replay)
    is_told = judgement.verdict is Verdict.ILLEGAL and finding.kind == "history"
    trouble = None if is_told else (_NAMES[finding.kind], f"{finding.trouble[:1].upper()}{finding.trouble[1:]}.")
    return replace(report, trouble=trouble, steps=Steps(told.steps, told.legend))
