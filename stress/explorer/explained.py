"""From a finding to a report: the small scenario, the sentence, the steps, and the command that shows it again."""

from __future__ import annotations

from typing import Final

from stress.check import Verdict, check
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.token import Token, encode
from stress.explorer.trace import trace
from stress.explorer.twin import Twin
from stress.report import Report, Steps, report_on

__all__ = ["explain", "replay_command"]


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
    experiment = Experiment(twin, finding.scenario)
    told, _ = trace(experiment, finding.order)
    judgement = check(finding.history, experiment.spec)
    facts = {"scenario": str(finding.scenario), "steps": str(len(finding.order))}
    if mutant:
        facts["mutant"] = mutant
    report = report_on(finding.history, experiment.spec, judgement, facts, replay_command(finding, mutant))
    explained = judgement.verdict is Verdict.ILLEGAL and finding.kind == "history"
    trouble = None if explained else (_NAMES[finding.kind], f"{finding.trouble[:1].upper()}{finding.trouble[1:]}.")
    return Report(
        report.history, report.spec, report.judgement, report.diagnosis, report.facts, report.replay, trouble,
        Steps(told.steps, told.legend),
    )  # fmt: skip
