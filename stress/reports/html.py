"""The report as one self-contained HTML file: `page.html` with the report's data in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from stress.checker.components import components
from stress.history import Operation, shortened
from stress.reports.diagnosis import Diagnosis, Partial
from stress.reports.report import Report
from stress.spec import Spec
from stress.verdicts import Verdict

_MOST_OPERATIONS: Final = 2_000
_MOST_PARTIALS: Final = 8
_short: Final = partial(shortened, most=400)
_TONES: Final = {Verdict.LINEARIZABLE: "good", Verdict.ILLEGAL: "bad", Verdict.UNKNOWN: "unknown"}


def render(report: Report) -> str:
    """The page as text."""
    data = json.dumps(_data(report)).replace("<", "\\u003c")
    return files(__package__).joinpath("page.html").read_text(encoding="utf-8").replace("{{data}}", data)


def save(report: Report, path: str | Path) -> None:
    """Write the page to `path`."""
    Path(path).write_text(render(report), encoding="utf-8")


def _data(report: Report) -> dict[str, Any]:
    component_of, names = _components(report)
    shown = _around(report.history.operations, report.diagnosis)
    data = {
        "headline": report.headline,
        "tone": "bad" if report.trouble else _TONES[report.judgement.verdict],
        "sentence": report.sentence,
        "facts": list(report.facts.items()),
        "replay": report.replay,
        "stacks": report.stacks,
        "raised": "\n".join(report.traceback or ()),
        "total": len(report.history),
        "operations": [
            _operation(each, report.spec) | {"component": component_of.get(each.id, 0)} for each in shown
        ],
        "components": names,
        "trace": list(report.steps.rows) if report.steps else [],
        "legend": list(report.steps.legend) if report.steps else [],
        "window": [], "start": "", "culprit": None, "partials": [],
    }  # fmt: skip
    return data | _crucial(report.diagnosis, report.spec) if report.diagnosis else data


def _around(operations: Sequence[Operation], diagnosis: Diagnosis | None) -> Sequence[Operation]:
    """The operations to draw: all, or for a long history those around the crucial window."""
    if diagnosis is None:
        return operations[:_MOST_OPERATIONS]
    first = min(each.call for each in diagnosis.window.operations)
    before = sum(each.call < first for each in operations)
    start = max(0, min(before - _MOST_OPERATIONS // 2, len(operations) - _MOST_OPERATIONS))
    return operations[start : start + _MOST_OPERATIONS]


def _components(report: Report) -> tuple[dict[int, int], list[str]]:
    parts = components(report.history.operations, report.spec, [report.spec.initial])
    numbers = {operation.id: number for number, part in enumerate(parts) for operation in part.operations}
    return numbers, [_short(", ".join(map(repr, part.elements or ["everything"]))) for part in parts]


def _crucial(diagnosis: Diagnosis, spec: Spec) -> dict[str, Any]:
    window = diagnosis.window
    return {
        "window": [_operation(each, spec, diagnosis) for each in window.operations],
        "start": _short(" or ".join(dict.fromkeys(map(spec.describe, window.starts[:4])))),
        "culprit": window.culprit.id,
        "partials": [_partial(order, spec, diagnosis) for order in diagnosis.partials[:_MOST_PARTIALS]],
    }


def _operation(operation: Operation, spec: Spec, diagnosis: Diagnosis | None = None) -> dict[str, Any]:
    return {
        "id": operation.id,
        "thread": operation.thread,
        "call": operation.call,
        "returned": operation.returned,
        "text": _short(diagnosis.window.describe(operation) if diagnosis else operation.describe()),
        "reads": spec.is_read_only(operation.op, operation.args, operation.result),
    }


def _partial(order: Partial, spec: Spec, diagnosis: Diagnosis) -> dict[str, Any]:
    steps = [
        {
            "id": step.operation.id,
            "before": _short(spec.describe(step.before)),
            "after": _short(spec.describe(step.after)),
        }
        for step in order.steps
    ]
    return {
        "steps": steps,
        "refused": [{"id": each.id, "reason": _short(reason)} for each, reason in order.refused],
    }
