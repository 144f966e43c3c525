"""What a report says, whatever it is written in: a verdict, where the history comes from, and what is wrong
with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from stress.checker.check import Judgement, Verdict
from stress.history import History
from stress.reports.diagnosis import Diagnosis, diagnose
from stress.spec import Spec

__all__ = ["Report", "Steps", "report_on"]


_ORIGINS: Final = {
    "workload": "workload",
    "clock": "clock",
    "seed": "seed",
    "threads": "threads",
    "python": "Python",
    "gil": "global interpreter lock",
    "source": "source",
}


@dataclass(frozen=True)
class Steps:
    """What an explored execution did, step by step: rows of (thread, text), and what the names in them mean."""

    rows: tuple[tuple[int | str, str], ...]
    legend: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Report:
    """A judged history. `facts` tell how it was made and checked, by label; `replay` is a command that shows
    this report again. `trouble` is what is wrong besides the history, as a name and a sentence; `steps` tell how it
    came about, if that is known.
    """

    history: History
    spec: Spec
    judgement: Judgement
    diagnosis: Diagnosis | None
    facts: Mapping[str, str] = field(default_factory=dict)
    replay: str = ""
    trouble: tuple[str, str] | None = None
    steps: Steps | None = None

    @property
    def is_bad(self) -> bool:
        """Whether anything is wrong."""
        return self.trouble is not None or self.judgement.verdict is Verdict.ILLEGAL

    @property
    def headline(self) -> str:
        """The verdict and the name of what is wrong, if anything is."""
        if self.trouble is not None:
            return f"NOT all right: {self.trouble[0]}"
        shape = f": {self.diagnosis.shape.name}" if self.diagnosis else ""
        return f"{self.judgement.verdict.value}{shape}"

    @property
    def sentence(self) -> str:
        """What was found, in a plain sentence."""
        if self.trouble is not None:
            return self.trouble[1]
        if self.diagnosis is not None:
            return self.diagnosis.shape.sentence
        if self.judgement.verdict is Verdict.UNKNOWN:
            return (
                f"Not decided within {self.judgement.spent}: that says nothing, good or bad. "
                "Raise the budget, or record fewer overlapping operations."
            )
        return "Some order of the operations respects real time and is what the specification allows."


def report_on(
    history: History,
    spec: Spec,
    judgement: Judgement,
    facts: Mapping[str, str] | None = None,
    replay: str = "",
) -> Report:
    """The report on a judged history; takes some seconds if it has to be explained."""
    told = {
        "operations": f"{judgement.operations:,}",
        "overlapping": f"{history.overlap:.0%}",
        "components": f"{judgement.components:,}",
        "states searched": f"{judgement.steps:,}",
        **{label: str(history.header[key]) for key, label in _ORIGINS.items() if key in history.header},
        **(facts or {}),
    }
    return Report(history, spec, judgement, diagnose(judgement, spec, history.operations), told, replay)
