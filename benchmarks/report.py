"""The list of all results, which is kept, and a page with a picture for each, which is made when somebody wants it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from benchmarks.machine import busy, cores_of
from benchmarks.plots import draw
from benchmarks.results import Run, load_all
from benchmarks.tables import table

INTRODUCTION = """\
---
orphan: true
---

# All results

Made by `python -m benchmarks` (`make bench`); this page, too. The raw results have every repeat, the machine and the
versions. `python -m benchmarks --pages` makes a page of each, with a table and a picture, in `build/benchmarks`.
[How to read them](../benchmarks.md#how-to-read-the-tables).

| question | measured | raw results | on a busy machine |
| --- | --- | --- | --- |
"""


def write_list(folder: Path) -> None:
    """Write the list of the results of a folder."""
    lines = []
    for _, runs in groupby(load_all(folder), key=lambda run: run.benchmark):
        same = list(runs)
        taken = ", ".join(dict.fromkeys(run.taken for run in same))
        raw = ", ".join(f"[{run.stem}]({run.stem}.json)" for run in same)
        disturbed = ", ".join(run.tag for run in same if busy(run.machine))
        lines.append(f"| {same[0].title} | {taken} | {raw} | {disturbed} |\n")
    (folder / "index.md").write_text(INTRODUCTION + "".join(lines))


def write_pages(folder: Path, pages: Path) -> None:
    """Write a page and its pictures for each benchmark of a folder into another one."""
    for name, runs in groupby(load_all(folder), key=lambda run: run.benchmark):
        same = list(runs)
        for run in same:
            draw(run, pages)
        (pages / f"{name}.md").write_text("\n".join(_page(same)))


def _page(runs: list[Run]) -> Iterator[str]:
    """Yield the lines of a benchmark: its results on each interpreter that it ran on."""
    yield f"# {runs[0].title}\n"
    if runs[0].note:
        yield f"{runs[0].note}\n"
    for run in runs:
        machine = run.machine
        threads = "GIL" if machine["gil"] else "no GIL"
        yield (
            f"## {run.benchmark}: Python {machine['python']}, {threads}\n\n"
            f"{machine['cpu']}, {cores_of(machine)}, load {machine['load_before']} before, {run.taken},"
            f" {machine['twin']} twin\n"
        )
        if remark := busy(machine):
            yield f"**{remark}**\n"
        yield f"![{run.title}]({run.stem}.png)\n"
        yield table(run) + "\n"
