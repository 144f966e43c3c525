"""The demonstration as an HTML page: the events, the measurements, and Spark's answers. It needs no network."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from examples.demo.parts import Outcome
from examples.demo.report import rows

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 190, 78, 26
_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --text: #1c1c1c; --faint: #666; --line: #ccc;
  --one: #2563ab; --good: #1a7f37; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --ground: #131416; --text: #e6e6e6; --faint: #9a9a9a; --line: #3a3d42;
  --one: #6cb0f5; --good: #4ac26b; --bad: #ff7b72; } }
body { margin: 0 auto; padding: 1rem; max-width: 60rem; background: var(--ground); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { font-weight: bold; } .good { color: var(--good); } .bad { color: var(--bad); }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
td { padding: .15rem 1rem .15rem 0; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--faint); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--line); } .moment { stroke: var(--faint); stroke-dasharray: 4 3; }
td svg { width: 8rem; margin-top: .4rem; } @media (max-width: 40rem) { svg text { font-size: 20px; } }
.curve { fill: none; stroke: var(--one); stroke-width: 2; stroke-linejoin: round; } .bar { fill: var(--one); }
"""


def require_place(path: Path) -> None:
    """See that a page can be written there, before anything is done that takes time.

    Raises:
        OSError: it cannot.
    """
    existed = path.exists()
    with path.open("ab"):
        pass
    if not existed:
        path.unlink()


def write_page(path: Path, outcome: Outcome, about: str) -> None:
    """Write the page of a finished demonstration, completely or not at all.

    Args:
        about: what was demonstrated, in a sentence.
    """
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text("\n".join(_page(outcome, about)) + "\n", encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _page(outcome: Outcome, about: str) -> Iterator[str]:
    good = outcome.is_good
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>subtrie: a demonstration</title>\n<style>{_STYLE}</style>\n</head>\n<body>"
    yield f"<h1>Threads at work on one trie</h1>\n<p>{escape(about)}</p>"
    verdict = "No match was wrong, and Spark finds the snapshot consistent." if good else "Something is wrong."
    yield f'<p class="verdict {"good" if good else "bad"}">{verdict}</p>'
    yield from (f'<p class="bad">{escape(fault)}</p>' for fault in outcome.exporter.faults)
    moments, rates = outcome.watch.moments(), outcome.watch.rates()
    seconds = [rate.seconds for rate in rates]
    for title, values in (
        ("Messages matched in a second", [rate.messages for rate in rates]),
        ("Subscribers found in a second", [rate.matches for rate in rates]),
        ("Subscriptions made and ended in a second", [rate.changes for rate in rates]),
    ):
        yield f"<h2>{title}</h2>"
        yield from _plot(title, seconds, values, [at for at, _ in moments])
    yield '<div class="wide"><table>'
    for number, (at, what) in enumerate(moments, 1):
        yield f'<tr><td class="number">{number}</td><td class="number">{at:.1f} s</td><td>{escape(what)}</td></tr>'
    yield '</table></div>\n<h2>What was measured</h2>\n<div class="wide"><table>'
    yield from (f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in rows(outcome))
    yield "</table></div>"
    yield from _ranking("Filters with the most subscribers", outcome.exporter.top_filters)
    yield from _ranking("Topics with the most subscribers", outcome.exporter.top_topics)
    yield "</body>\n</html>"


def _plot(title: str, seconds: Sequence[float], values: Sequence[float], moments: Sequence[float]) -> Iterator[str]:
    last, greatest = max(seconds, default=0) or 1, max(values, default=0) or 1

    def across(at: float) -> float:
        return _LEFT + min(at / last, 1) * (_WIDTH - _LEFT - 12)

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - value / greatest * (_HEIGHT - _BOTTOM - 22)

    yield f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"><title>{title}</title>'
    for part in (0, 0.5, 1):
        y = up(greatest * part)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_short(greatest * part)}</text>'
        x = across(last * part)
        anchor = "end" if part == 1 else "middle"
        yield f'<text x="{x:.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{last * part:.1f} s</text>'
    for number, at in enumerate(moments, 1):
        x = across(at)
        yield f'<line class="moment" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{_HEIGHT - _BOTTOM}"/>'
        yield f'<text x="{x:.1f}" y="13" text-anchor="middle">{number}</text>'
    points = " ".join(f"{across(at):.1f},{up(value):.1f}" for at, value in zip(seconds, values, strict=True))
    yield f'<polyline class="curve" points="{points}"/></svg>'


def _ranking(title: str, counted: Sequence[tuple[str, int]]) -> Iterator[str]:
    yield f'<h2>{title}</h2>\n<div class="wide"><table>'
    most = max((count for _, count in counted), default=1)
    for name, count in counted:
        bar = f'<rect class="bar" width="{100 * count / most:.0f}" height="10"/>'
        drawn = f'<svg viewBox="0 0 100 10">{bar}</svg>'
        yield f'<tr><td>{escape(name)}</td><td class="number">{count:,}</td><td>{drawn}</td></tr>'
    yield "</table></div>"


def _short(number: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.0f}"
