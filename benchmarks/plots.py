"""Results as pictures: bars, log-log growth, and scaling with the ideal line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.machine import cores_of
from benchmarks.results import Run
from benchmarks.tables import FACTORS, number

OWN = ("SubscriptionTrie", "Ctrie")
"""Series with a part that begins with one of these are ours, except under a lock: drawn in front, and thicker."""
TOO_WIDE = 30
"""If the largest value is at least this many times the smallest, the axis is logarithmic, to show the small ones."""


def draw(run: Run, folder: Path) -> None:
    """Draw a run into a PNG file beside its JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    size = (9, 1.4 + 0.27 * len(run.results)) if run.plot == "bars" else (11, 5.2)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    {"bars": _bars, "growth": _growth, "scaling": _scaling}[run.plot](axes, run)
    axes.set_title(run.title, fontsize=11, loc="left")
    gil = "GIL" if run.machine["gil"] else "free-threaded"
    machine = f"{cores_of(run.machine)}, {run.machine['cpu']}"
    where = f"Python {run.machine['python']} ({gil}), {machine}, {run.taken}"
    figure.text(0.99, -0.01, where, ha="right", va="top", fontsize=7, color="grey")
    figure.savefig(folder / f"{run.stem}.png", dpi=110, bbox_inches="tight")
    plt.close(figure)


def _bars(axes: Any, run: Run) -> None:
    """One bar for each contender, in their order, the first at the top; the line through it is the spread."""
    factor = FACTORS[run.unit]
    results = run.results[::-1]
    labels = [r.series if r.x is None else f"{r.series}, {r.x:,.0f} {run.x_label}" for r in results]
    medians = [result.median * factor for result in results]
    spread = [
        [median - min(result.values) * factor for median, result in zip(medians, results, strict=True)],
        [max(result.values) * factor - median for median, result in zip(medians, results, strict=True)],
    ]
    colours = ["C0" if _is_own(result.series) else "C7" for result in results]
    bars = axes.barh(labels, medians, xerr=spread, color=colours, error_kw={"lw": 1, "alpha": 0.6})
    axes.bar_label(bars, [f" {number(median)}" for median in medians], fontsize=8)
    longest = max(max(result.values) for result in results) * factor
    if max(medians) > TOO_WIDE * min(medians):
        axes.set_xscale("log")
        axes.set_xlim(right=longest * 8)
    else:
        axes.set_xlim(right=longest * 1.15)
    axes.set_xlabel(f"{run.unit} per {run.operation}, median and spread")
    axes.grid(axis="x", ls="--", alpha=0.5)
    axes.set_axisbelow(True)
    axes.margins(y=0.5 / len(results))


def _growth(axes: Any, run: Run) -> None:
    """A line for each series over x; both axes are logarithmic."""
    factor = FACTORS[run.unit]
    for series, xs, results, style in _series(run):
        axes.plot(xs, [result.median * factor for result in results], label=series, **style)
        low = [min(result.values) * factor for result in results]
        high = [max(result.values) * factor for result in results]
        axes.fill_between(xs, low, high, alpha=0.15)
    axes.set(xscale="log", yscale="log", xlabel=run.x_label, ylabel=f"{run.unit} per {run.operation}")
    axes.grid(ls="--", alpha=0.5)
    _legend(axes)


def _scaling(axes: Any, run: Run) -> None:
    """Operations per second over threads, and a line for perfect scaling."""
    cores = run.machine["cores"]
    all_rates = []
    label = f"ideal on {cores} cores"
    for series, xs, results, style in _series(run):
        rates = [1 / result.median / 1e6 for result in results]
        all_rates += rates
        (line,) = axes.plot(xs, rates, label=series, **style)
        if _is_own(series):
            ideal = [rates[0] * min(x, cores) / xs[0] for x in xs]
            axes.plot(xs, ideal, ls=":", color=line.get_color(), lw=1, label=label)
            label = "_none"  # matplotlib leaves such labels out: one label is enough
    axes.set_xscale("log", base=2)
    threads = sorted({result.x or 0 for result in run.results})
    axes.set_xticks(threads, [f"{x:g}" for x in threads])
    axes.set(xlabel=run.x_label, ylabel=f"million {run.operation}s per second, all threads together")
    if max(all_rates) > TOO_WIDE * min(all_rates):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(ls="--", alpha=0.5)
    _legend(axes)


def _legend(axes: Any) -> None:
    """Put the legend beside the lines, so that it hides none."""
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)


def _is_own(series: str) -> bool:
    return any(part.startswith(OWN) for part in series.split(": ")) and "under a lock" not in series


def _series(run: Run) -> Iterator[tuple[str, list[float], list[Any], dict[str, Any]]]:
    for series in dict.fromkeys(result.series for result in run.results):
        results = sorted((r for r in run.results if r.series == series), key=lambda r: r.x or 0)
        own = _is_own(series)
        style = {"marker": "o", "ms": 4, "lw": 2.2 if own else 1.2, "zorder": 3 if own else 2}
        yield series, [result.x or 0 for result in results], results, style
