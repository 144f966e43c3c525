"""The pages of all results, a page for each benchmark, rebuilt from the raw results of all runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from benchmarks.machine import busy, cores_of
from benchmarks.results import Run, load_all
from benchmarks.tables import table

INTRODUCTION = """\
---
orphan: true
---

# All results

Made by `python -m benchmarks` (`make bench`); these pages, too. Each figure is the median of several repeats, with
the smallest and the largest beside it. The contenders of a table were measured in turn, in one process: compare within
a table. The raw results, with the machine and the versions, are in the JSON files beside these pages.
[How to read them](../benchmarks.md#how-to-read-the-tables).

| results | question | measured | on a busy machine |
| --- | --- | --- | --- |
"""


def write_report(folder: Path) -> None:
    """Write a page for each benchmark of a folder, and a list of them."""
    lines = []
    for name, runs in groupby(load_all(folder), key=lambda run: run.benchmark):
        same = list(runs)
        (folder / f"{name}.md").write_text("\n".join(_page(same)))
        taken = ", ".join(dict.fromkeys(run.taken for run in same))
        disturbed = ", ".join(run.tag for run in same if busy(run.machine))
        lines.append(f"| [{name}]({name}.md) | {same[0].title} | {taken} | {disturbed} |\n")
    (folder / "index.md").write_text(INTRODUCTION + "".join(lines))


def _page(runs: list[Run]) -> Iterator[str]:
    """Yield the lines of a benchmark: its results on each interpreter that it ran on."""
    yield f"---\norphan: true\n---\n\n# {runs[0].title}\n"
    if runs[0].note:
        yield f"{runs[0].note}\n"
    for run in runs:
        machine = run.machine
        threads = "GIL" if machine["gil"] else "no GIL"
        yield (
            f"## {run.benchmark}: Python {machine['python']}, {threads}\n\n"
            f"{machine['cpu']}, {cores_of(machine)}, load {machine['load_before']} before, {run.taken},"
            f" {machine['twin']} twin; raw: [{run.stem}.json]({run.stem}.json)\n"
        )
        if remark := busy(machine):
            yield f"**{remark}**\n"
        yield f"![{run.title}]({run.stem}.png)\n"
        yield table(run) + "\n"
