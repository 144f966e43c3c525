"""The report as plain text: the sentence, the crucial window with a column for each thread, and the refused steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from textwrap import indent
from typing import Final

from stress.history import calls_and_returns, shortened
from stress.reports.diagnosis import Diagnosis, Partial
from stress.reports.report import Report, Steps
from stress.reports.window import Window
from stress.spec import Spec

_MOST_ROWS = 60
_MOST_PARTIALS = 3
_short: Final = partial(shortened, most=60)
_WIDEST_TABLE = 150


def render(report: Report, *, is_short: bool = False) -> str:
    """The whole report; `is_short`: without the calls, of which there are fewer below."""
    lines = [report.headline, "", f"  {report.sentence}", ""]
    if report.diagnosis is not None and not is_short:
        lines += _window(report, report.diagnosis)
        lines += _partials(report.diagnosis, report.spec)
    if report.steps is not None:
        lines += _steps(report.steps)
    if report.traceback is not None:
        call, told = report.traceback
        lines += [f"Where it was raised: {call}", indent(told, "  "), ""]
    if report.stacks:
        lines += ["Where the threads were", indent(report.stacks, "  "), ""]
    lines += [f"  {label}: {value}" for label, value in report.facts.items()]
    if report.replay:
        lines += ["", f"To see it again: {report.replay}"]
    return "\n".join(lines) + "\n"


def render_outcome(summary: str, report: Report | None, smaller: Report | None = None) -> str:
    """The summary of a search, followed by the report on its finding, if any, and by the report on the same fault in
    fewer calls, if it was found.
    """
    told = summary + "\n" + ("" if report is None else "\n" + render(report, is_short=smaller is not None))
    return told + ("" if smaller is None else f"\nThe same in fewer calls: {render(smaller)}")


def _window(report: Report, diagnosis: Diagnosis) -> Iterator[str]:
    window = diagnosis.window
    starts = " or ".join(dict.fromkeys(report.spec.describe(state) for state in window.starts[:4]))
    about = ""
    if window.projected and window.elements:
        about = _short(f", only as far as they say something about {', '.join(map(repr, window.elements))}")
    yield f"The crucial window: {len(window.operations)} of {len(report.history)} operations{about}"
    yield f"  state before it: {starts}"
    yield ""
    yield from (f"  {line}" for line in render_window(window))
    yield ""


def render_window(window: Window) -> Iterator[str]:
    """A table with a column for each thread and a row for each call and return, ordered by time."""
    rows = list(_rows(window))
    left_out, rows = len(rows[:-_MOST_ROWS]), rows[-_MOST_ROWS:]
    yield from _columns(rows, f"({left_out} earlier calls and returns are left out)" if left_out else "")


def _steps(steps: Steps) -> Iterator[str]:
    yield "What the threads did, step by step"
    yield from (f"  {line}" for line in _columns(list(steps.rows)))
    yield ""
    if not steps.legend:
        return
    yield "  where, when first met,"
    width = max(len(name) for name, _ in steps.legend)
    yield from (f"    {name.ljust(width)}  {text}" for name, text in steps.legend)
    yield ""


def _columns(rows: Sequence[tuple[int | str, str]], remark: str = "") -> Iterator[str]:
    """Rows of (thread, text) as a table with a column for each thread."""
    threads = sorted({thread for thread, _ in rows}, key=lambda thread: (isinstance(thread, str), thread))
    heads = [f"thread {thread}" for thread in threads]
    widths = [
        max(len(head), *(len(text) for owner, text in rows if owner == thread), 0)
        for head, thread in zip(heads, threads, strict=True)
    ]
    if sum(widths) + 3 * len(widths) > _WIDEST_TABLE:  # too many threads for columns
        yield from (f"thread {owner}: {text}" for owner, text in rows)
        return
    yield " | ".join(head.ljust(width) for head, width in zip(heads, widths, strict=True)).rstrip()
    yield "-+-".join("-" * width for width in widths)
    if remark:
        yield remark
    for owner, text in rows:
        cells = [text if thread == owner else "" for thread in threads]
        yield " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _rows(window: Window) -> Iterator[tuple[int | str, str]]:
    events = calls_and_returns(window.operations)
    for at, (is_return, operation) in enumerate(events):
        whole = window.describe(operation)
        call, _, answer = whole.rpartition(" -> ")
        returns_next = at + 1 < len(events) and events[at + 1][1] is operation
        if not is_return:
            yield operation.thread, _short(whole if operation.pending or returns_next else f"{call} ...")
        elif events[at - 1][1] is not operation:
            yield operation.thread, _short(f"  {operation.op} -> {answer}")


def _partials(diagnosis: Diagnosis, spec: Spec) -> Iterator[str]:
    yield "As far as any order goes"
    for number, order in enumerate(diagnosis.partials[:_MOST_PARTIALS], start=1):
        yield f"  {number}. from {_short(spec.describe(order.start))}"
        yield from _partial(order, diagnosis.window, spec)
    more = len(diagnosis.partials) - _MOST_PARTIALS
    if more > 0:
        yield f"  ... and {more} more of the same length"
    yield ""


def _partial(order: Partial, window: Window, spec: Spec) -> Iterator[str]:
    for step in order.steps:
        state = f"[now {_short(spec.describe(step.after))}]"
        yield f"       thread {step.operation.thread}: {_short(window.describe(step.operation))}  {state}"
    for operation, reason in order.refused:
        yield f"     x thread {operation.thread}: {_short(window.describe(operation))}  {reason}"
