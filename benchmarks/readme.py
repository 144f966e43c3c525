"""The figure in the README: one picture and one sentence, from the raw results of a folder."""

from __future__ import annotations

from pathlib import Path

from benchmarks.answers import PICTURE, QUESTIONS
from benchmarks.machine import busy, cores_of
from benchmarks.results import Run

README = Path("README.md")
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


def write_figures(runs: list[Run], folder: Path, readme: Path = README) -> None:
    """Put the first answer's picture into the README, and say where and when it was measured."""
    question = next(one for one in QUESTIONS if one.name == PICTURE)
    run = next((run for run in runs if run.stem == question.stem), None)
    if run is None:
        return
    where = f"Python {run.machine['python']}, {run.machine['cpu']}, {cores_of(run.machine)}, {run.taken}"
    marked = f" {busy(run.machine)}" if busy(run.machine) else ""
    text = (
        f"![Matches a second]({folder.as_posix()}/answer-{question.name}.svg)\n\n"
        f"{where}; `python -m benchmarks {run.benchmark}` in a clone measures yours.{marked}"
    )
    before, rest = readme.read_text().split(BEGIN)
    readme.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2] or rest}")
