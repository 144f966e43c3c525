"""The outcome of a campaign, and its presentation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stress.checker.check import Judgement
from stress.formats import jsonl
from stress.history import History
from stress.reference import is_as_made
from stress.reports.html import save as save_page
from stress.reports.report import Report, report_on
from stress.reports.text import render_outcome
from stress.sequential import Sequential
from stress.spec import Spec
from stress.verdicts import Verdict


@dataclass(frozen=True)
class Outcome:
    """The outcome of a campaign. True only if it ran to its end, calls overlapped, and every history was judged, and
    judged linearizable.

    With the verdict `UNKNOWN`, `missing` tells why nothing can be said. With `ILLEGAL`, `history` is the refuted one,
    or `trouble` names another fault: a call that hangs, an invariant that is broken, a process that died.
    """

    verdict: Verdict
    seed: int
    rounds: int
    operations: int
    overlap: float
    undecided: int
    seconds: float
    interrupted: bool
    spec: Spec
    trouble: str = ""
    history: History | None = None
    judgement: Judgement | None = None
    saved_as: str = ""
    stacks: str = ""
    missing: tuple[str, ...] = ()
    smaller: Report | None = None
    """The same fault in fewer calls, if it was found again; with its schedule, if the explorer found one."""

    def __bool__(self) -> bool:
        return self.verdict is Verdict.LINEARIZABLE

    @property
    def summary(self) -> str:
        """One line: what was run, and the result."""
        found = f"NOT all right: {self.trouble}" if self.trouble else self.verdict.value
        why = f" ({'; '.join(self.missing)})" if self.missing else ""
        return (
            f"{found}{why}; {self.operations:,} operations in {self.rounds:,} rounds, "
            f"{self.overlap:.0%} overlapping, {self.seconds:.1f} s, seed {self.seed}"
        )

    def explained(self) -> Report | None:
        """The report on the fault; None if there is none."""
        if self.history is None or self.judgement is None:
            return None
        size = f"{self.operations:,} operations in {self.rounds:,} rounds"
        facts = {"campaign": f"{size}, {self.seconds:.1f} s, seed {self.seed}"}
        return report_on(self.history, self.spec, self.judgement, facts, self.replay)

    @property
    def replay(self) -> str:
        """The command that shows the finding again; empty if its history was not saved."""
        if not self.saved_as or self.history is None or isinstance(self.spec, Sequential):
            return ""
        header = self.history.header
        known = header.get("spec", "")
        if ":" in known and not is_as_made(self.spec):
            known = header.get("target", known)
        named = f" --spec {known}" if ":" in known else ""
        return f"python -m stress replay {self.saved_as}{named}"

    def report(self) -> str:
        """The full report, as text."""
        return render_outcome(self.summary, self.explained(), self.smaller)

    def save(self, path: str) -> Outcome:
        """Write the recorded history of the finding to a file, and return this outcome with the command that
        replays it.
        """
        if self.history is None:
            raise ValueError("nothing was found, so there is no history to save")
        jsonl.save(self.history, path)
        return replace(self, saved_as=path)

    def save_html(self, path: str) -> None:
        """Write the report on the refuted history as a page."""
        explained = self.explained()
        if explained is None:
            raise ValueError("no history was refuted, so there is nothing to show")
        save_page(explained, path)
