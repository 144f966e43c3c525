"""Results as Markdown tables: median, spread, and the ratio to the baseline."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.model import Result
from benchmarks.results import Run

FACTORS = {"ns": 1e9, "us": 1e6, "bytes": 1.0, "MB": 1e-6}


def table(run: Run) -> str:
    """Return the table of a run: a row for each series at each x."""
    return "\n".join(_lines(run))


def _lines(run: Run) -> Iterator[str]:
    has_x = any(result.x is not None for result in run.results)
    rates = run.plot == "scaling"
    heads = ["", *([run.x_label or "x"] if has_x else []), f"{run.unit} per {run.operation}", "spread"]
    heads += [f"{run.operation}s per s", "speed to that of one thread"] if rates else []
    heads += [f"ratio to {run.baseline}"] if run.baseline else []
    yield _row(heads)
    yield _row(["---", *["---:"] * (len(heads) - 1)])
    factor = FACTORS[run.unit]
    alone = {result.series: result.median for result in run.results if result.x == 1}
    baselines = {result.x: result.median for result in run.results if result.series == run.baseline}
    for result in run.results:
        cells = [result.series]
        if has_x:
            cells.append("" if result.x is None else f"{result.x:,.0f}")
        cells += [number(result.median * factor), _spread(result, factor)]
        if rates:
            cells += [f"{1 / result.median:,.0f}", f"{alone[result.series] / result.median:.2f}"]
        if run.baseline:
            baseline = baselines.get(result.x)
            cells.append("" if baseline is None else f"{result.median / baseline:.2f}")
        yield _row(cells)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _spread(result: Result, factor: float) -> str:
    return f"{number(min(result.values) * factor)} – {number(max(result.values) * factor)}"


def number(value: float) -> str:
    """Return a number with its significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
