"""The content of a report in any format: a verdict, the origin of the history, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from traceback import FrameSummary, format_list
from typing import Final

from stress.checker.check import Judgement
from stress.frozen_states import judged, with_frozen_states
from stress.history import History, Raised
from stress.reports.diagnosis import Diagnosis, diagnose
from stress.spec import Spec
from stress.spec_check import as_instance
from stress.verdicts import Verdict, verdict_of

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
    """The steps of an explored execution: rows of (thread, text), and the meaning of the names in them."""

    rows: tuple[tuple[int | str, str], ...]
    legend: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Report:
    """A judged history. `facts` tell how it was recorded and checked, by label; `replay` is a command that shows this
    report again. `trouble` is a fault that is not in the history, as a name and a sentence; `steps` tell how the fault
    occurs, if that is known.
    """

    history: History
    spec: Spec
    judgement: Judgement
    diagnosis: Diagnosis | None
    facts: Mapping[str, str] = field(default_factory=dict)
    replay: str = ""
    trouble: tuple[str, str] | None = None
    steps: Steps | None = None
    stacks: str = ""
    """The stacks of the threads, if they made no progress."""

    @property
    def traceback(self) -> tuple[str, str] | None:
        """A call of the crucial window that raised an exception, the refuted one if it did, and where it was raised."""
        if self.diagnosis is None:
            return None
        window = self.diagnosis.window
        for each in (window.culprit, *window.operations):
            answer = window.originals[each.id].result
            if isinstance(answer, Raised) and answer.frames:
                summaries = [FrameSummary(file, line, function) for file, line, function in answer.frames]
                told = "".join([*format_list(summaries), f"{answer.type}: {answer.message}".removesuffix(": ")])
                return f"thread {each.thread}'s {window.describe(each)}", told
        return None

    @property
    def headline(self) -> str:
        """The verdict, and the name of the fault if there is one."""
        if self.trouble is not None:
            return f"NOT all right: {self.trouble[0]}"
        verdict, reason = verdict_on(self.history, self.judgement)
        shape = self.diagnosis.shape.name if self.diagnosis else reason
        return f"{verdict.value}{': ' * bool(shape)}{shape}"

    @property
    def sentence(self) -> str:
        """The finding, in a plain sentence."""
        if self.trouble is not None:
            return self.trouble[1]
        if self.diagnosis is not None:
            return self.diagnosis.shape.sentence
        if verdict_on(self.history, self.judgement)[0] is Verdict.UNKNOWN:
            return "That says nothing, good or bad."
        return "Some order of the operations respects real time and is what the specification allows."


def report_on(
    history: History,
    spec: Spec,
    judgement: Judgement,
    facts: Mapping[str, str] | None = None,
    replay: str = "",
) -> Report:
    """The report on a judged history. It takes some seconds if a fault has to be explained."""
    spec = with_frozen_states(as_instance(spec), judgement.types_count)
    told = {
        "operations": f"{judgement.operations:,}",
        "overlapping": f"{history.overlap:.0%}",
        "components": f"{judgement.components:,}",
        "states searched": f"{judgement.steps:,}",
        **{label: str(history.header[key]) for key, label in _ORIGINS.items() if key in history.header},
        **(facts or {}),
    }
    trouble = trouble_of(history)
    stacks = str(history.header.get("stacks", "")) if trouble else ""
    spec, diagnosis = judged(spec, lambda its: (its, diagnose(judgement, its, history)))
    return Report(history, spec, judgement, diagnosis, told, replay, trouble, stacks=stacks)


_KINDS: Final = {
    "hang": "a call that never returns",
    "invariant": "a broken invariant",
    "death": "a process that died",
}


def verdict_on(history: History, judgement: Judgement) -> tuple[Verdict, str]:
    """The verdict on a history from a file, and the reason if it differs from the judgement."""
    trouble = trouble_of(history)
    if trouble is not None and judgement.verdict is not Verdict.ILLEGAL:
        return Verdict.ILLEGAL, f"{trouble[0]}: {history.header['trouble']}"
    missing = [] if history.operations else ["it holds no operations: let some calls be recorded"]
    if judgement.verdict is Verdict.UNKNOWN:
        missing.append(
            f"not within {judgement.spent}: let the budget be larger, or record fewer overlapping operations"
        )
    return verdict_of(found=judgement.verdict is Verdict.ILLEGAL, missing=missing), "; ".join(missing)


def trouble_of(history: History) -> tuple[str, str] | None:
    """A fault of the recording that its history does not show: a name for it, and a sentence."""
    trouble = history.header.get("trouble")
    if not trouble:
        return None
    name = _KINDS.get(str(history.header.get("kind")), "trouble")
    return name, f"{str(trouble)[:1].upper()}{str(trouble)[1:]}."
