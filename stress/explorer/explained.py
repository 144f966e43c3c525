"""From a finding to a report: the small scenario, the sentence, the steps, and the command that shows it again."""

from __future__ import annotations

from stress.check import Verdict, check
from stress.explorer.experiment import Experiment, Finding
from stress.explorer.token import Token, encode
from stress.explorer.trace import trace
from stress.explorer.twin import Twin
from stress.report import Report, Steps, report_on

__all__ = ["explain", "replay_command"]


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
    trouble = "" if judgement.verdict is Verdict.ILLEGAL and finding.kind == "history" else finding.trouble
    return Report(
        report.history, report.spec, report.judgement, report.diagnosis, report.facts, report.replay, trouble,
        Steps(told.steps, told.legend),
    )  # fmt: skip
