"""Raw results as JSON: the benchmark, every repeat, and the machine."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import tag
from benchmarks.model import Benchmark, Result


@dataclass(frozen=True)
class Run:
    """The results of one benchmark on one interpreter."""

    benchmark: str
    title: str
    operation: str
    unit: str
    baseline: str | None
    x_label: str | None
    plot: str
    note: str
    tag: str
    taken: str
    machine: dict[str, Any]
    results: list[Result]
    seconds: float | None = None
    """How long it took, with all that it prepares. Not known of results from before 2026-11-27."""

    @property
    def stem(self) -> str:
        """The name of its files."""
        return f"{self.benchmark}-{self.tag}"


def finished(benchmark: Benchmark, machine: dict[str, Any], results: list[Result], seconds: float) -> Run:
    """Combine results with their explanations."""
    return Run(
        benchmark=benchmark.name,
        title=benchmark.title,
        operation=benchmark.operation,
        unit=benchmark.unit,
        baseline=benchmark.baseline,
        x_label=benchmark.x_label,
        plot=benchmark.plot,
        note=benchmark.note,
        tag=tag(),
        taken=datetime.now(UTC).date().isoformat(),
        machine=machine,
        results=results,
        seconds=round(seconds, 1),
    )


def save(run: Run, folder: Path) -> None:
    """Write a run as JSON, one line for each series at each x. If it is stopped meanwhile, the earlier file stays."""
    record = asdict(run)
    results = record.pop("results")
    head = json.dumps(record, indent=1)[:-2]
    lines = ",\n".join("  " + json.dumps(result) for result in results)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run.stem}.json"
    part = path.with_suffix(".part")
    part.write_text(f'{head},\n "results": [\n{lines}\n ]\n}}\n')
    part.replace(path)


def load(path: Path) -> Run:
    """Read a run that `save` wrote."""
    record = json.loads(path.read_text())
    return Run(**record | {"results": [Result(**result) for result in record["results"]]})


def load_all(folder: Path) -> list[Run]:
    """Read all runs of a folder, in the order of their names."""
    return [load(path) for path in sorted(folder.glob("*.json"))]
