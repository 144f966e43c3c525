"""Progress bars on a terminal, nothing elsewhere. They are drawn by rich, and omitted if rich is not installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int], None]
AddBar = Callable[[str, int | None], Advance]
"""Adds a bar with a description and a total (None: unknown) and returns the function that advances it."""


@contextmanager
def progress_bars(*, shown: bool = True) -> Iterator[AddBar]:
    """Show bars on standard error for as long as the context lasts; any thread may advance them.

    Args:
        shown: False if they would be drawn over other output.
    """
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    except ImportError:
        yield _no_bar
        return
    if not shown or sys.stderr is None or not sys.stderr.isatty():
        yield _no_bar
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def add(description: str, total: int | None) -> Advance:
            task = progress.add_task(description, total=total)
            return lambda amount: progress.advance(task, amount)

        yield add


def _no_bar(description: str, total: int | None) -> Advance:
    return lambda amount: None
