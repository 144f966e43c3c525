"""Live progress on a terminal, and none elsewhere. It goes to standard error and needs `rich`, without which
there is none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar

from stress.recorder.campaign import Settings, Watch
from stress.recorder.counters import Counters

__all__ = ["counting", "each", "each_of", "watching"]

T = TypeVar("T")


def _wanted() -> bool:
    return sys.stderr.isatty() and find_spec("rich") is not None


def each(items: Sequence[T], what: str) -> Iterator[T]:
    """`items`, one by one, with a bar that tells how many are done, unless what is printed meanwhile shows it too."""
    if not _wanted() or sys.stdout.isatty() or len(items) < 2:
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, redirect_stdout=False) as progress:
        yield from progress.track(items, description=what)


def each_of(items: Iterator[T], total: int, what: str) -> Iterator[T]:
    """The same for items that come one by one."""
    if not _wanted() or sys.stdout.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, redirect_stdout=False) as progress:
        yield from progress.track(items, total=total, description=what)


@contextmanager
def watching(settings: Settings) -> Iterator[Watch | None]:
    """A `watch` for a campaign that shows how far it is; None where nobody would see it."""
    if not _wanted():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns: list[Any] = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
    ]
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as progress:
        task = progress.add_task(f"seed {settings.seed}", total=_whole(settings), counts="")

        def watch(counters: Counters, seconds: float) -> None:
            operations, overlapping = counters.value("operations"), counters.value("overlapping")
            share = f"{overlapping / operations:.0%} overlapping" if operations else "starting"
            done = counters.value("rounds") if settings.duration is None else seconds
            progress.update(task, completed=done, counts=f"{operations:,} operations, {share}")

        yield watch


@contextmanager
def counting(what: str, seconds: float | None) -> Iterator[Callable[[Counters, float], None] | None]:
    """A `watch` for the explorer that shows how many scenarios and executions are done; None where nobody would see
    it.
    """
    if not _wanted():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}")]
    columns.append(TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as progress:
        task = progress.add_task(what, total=seconds, counts="")

        def watch(counters: Counters, gone: float) -> None:
            executions = sum(counters.value(name) for name in counters.names if name.endswith(" executions"))
            told = ", ".join(f"{counters.value(part):,} {part}" for part in ("pairs", "stops", "triples", "random"))
            progress.update(task, completed=gone, counts=f"{executions:,} executions: {told}")

        yield watch


def _whole(settings: Settings) -> float:
    """What counts as all of it: seconds, or rounds if there is no time limit."""
    return float(settings.rounds or 0) if settings.duration is None else settings.duration
