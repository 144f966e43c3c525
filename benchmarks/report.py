"""The page of all results, rebuilt from the raw results of all runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from benchmarks.machine import cores_of
from benchmarks.results import Run, load_all
from benchmarks.tables import table

INTRODUCTION = """\
# Results

Made by `python -m benchmarks` (`make bench`); this page, too. Each figure is the median of several repeats,
with the smallest and the largest beside it; the contenders of a table were measured in turn, in one process,
so compare within a table rather than between tables. The raw results, with the machine and the versions, are
in the JSON files beside this page. Take absolute figures with a grain of salt: ratios travel better than
nanoseconds. [How to read them](../benchmarks.md).
"""


def write_report(folder: Path) -> None:
    """Write the page of all runs in a folder."""
    runs = load_all(folder)
    sections = ["\n".join(_section(list(same))) for _, same in groupby(runs, key=lambda run: run.benchmark)]
    (folder / "index.md").write_text(INTRODUCTION + "\n" + "\n".join(sections))


def _section(runs: list[Run]) -> Iterator[str]:
    """Yield a benchmark's lines: its results on each interpreter that it ran on."""
    yield f"## {runs[0].title}\n"
    if runs[0].note:
        yield f"{runs[0].note}\n"
    for run in runs:
        machine = run.machine
        threads = "GIL" if machine["gil"] else "no GIL"
        yield (
            f"### {run.benchmark}: Python {machine['python']}, {threads}\n\n"
            f"{machine['cpu']}, {cores_of(machine)}, load {machine['load_before']} before, {run.taken},"
            f" {machine['twin']} twin; raw: [{run.stem}.json]({run.stem}.json)\n"
        )
        yield f"![{run.title}]({run.stem}.png)\n"
        yield table(run) + "\n"
