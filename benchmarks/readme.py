"""The figures in the README: the published table with our own figures, one for each interpreter, and two pictures.

The text between two marks in the README is replaced by figures from the raw results of a folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.machine import cores_of
from benchmarks.matchers import INVERTED, LOCKED, NAIVE, OPTIMISED, PAHO, PAHO_UNDER_LOCK, TRIE, Entrant
from benchmarks.results import Run, load_all
from benchmarks.suite.writers import ALONE, BESIDE, series
from benchmarks.tables import number

README = Path("README.md")
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"
ROWS = (TRIE, LOCKED, OPTIMISED, INVERTED, NAIVE, PAHO)
SHARED = {PAHO: PAHO_UNDER_LOCK}
"""The contender that represents a matcher that is not thread-safe."""
PICTURES = ("mixed-90-10", "growth")
OPERATIONS = ("subscribe", "unsubscribe", "lookup")
FOOTNOTE = """
Cold is an empty matcher, hot one with 1,000 filters of five long words. Lookups/s: one thread among 1,000 filters of
three digits, about 3 matches each, alone and while another thread subscribes and unsubscribes without a pause (there
paho's matcher is under a lock).
"""


def write_figures(folder: Path, readme: Path = README) -> None:
    """Put the figures of a folder's runs into the README."""
    before, rest = readme.read_text().split(BEGIN)
    after = rest.partition(END)[2] or rest
    text = "\n".join(_figures(load_all(folder), folder))
    readme.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def _figures(runs: list[Run], folder: Path) -> Iterator[str]:
    by_stem = {run.stem: run for run in runs}
    tags = sorted({run.tag for run in runs if run.benchmark == "published"})
    for tag in tags:
        yield from _published(by_stem[f"published-{tag}"], by_stem.get(f"writers-{tag}"))
    for name in PICTURES:
        for run in [run for run in runs if run.benchmark == name][-1:]:
            yield f"![{run.title}]({folder.as_posix()}/{run.stem}.png)\n"
    yield f"[How to read these, and all others]({folder.as_posix()}.md)."


def _published(costs: Run, rates: Run | None) -> Iterator[str]:
    machine = costs.machine
    threads = "with its GIL" if machine["gil"] else "free-threaded"
    where = f"{machine['cpu']}, {cores_of(machine)}, load {machine['load_before']} before"
    yield f"**Python {machine['python']}, {threads}**, {where}:\n"
    heads = [f"{operation}, ns: cold / hot" for operation in OPERATIONS]
    yield _row(["", *heads, "lookups/s", "lookups/s beside a writer"])
    yield _row(["---", *["---:"] * (len(heads) + 2)])
    cost = {result.series: result.median for result in costs.results}
    rate = {result.series: 1 / result.median for result in rates.results} if rates else {}
    for entrant in ROWS:
        if f"lookup, hot: {entrant.name}" in cost:
            yield _row([entrant.name, *_costs(entrant, cost), *_rates(entrant, rate)])
    yield FOOTNOTE


def _costs(entrant: Entrant, cost: Mapping[str, float]) -> Iterator[str]:
    for operation in OPERATIONS:
        cold, hot = (cost[f"{operation}, {state}: {entrant.name}"] * 1e9 for state in ("cold", "hot"))
        yield f"{number(cold)} / {number(hot)}"


def _rates(entrant: Entrant, rate: Mapping[str, float]) -> Iterator[str]:
    for what in (ALONE, BESIDE):
        found = rate.get(series(SHARED.get(entrant, entrant), what))
        yield "" if found is None else f"{found:,.0f}"


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
