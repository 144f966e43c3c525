"""Progress of a long run, on standard error: live on a terminal if `rich` is installed, else a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Final

from stress.cli.output import aside

__all__ = ["Tell", "following"]

Tell = Callable[[str, float], None]
"""To be called now and then with what was done, in a few words, and its share of the whole."""

_FIRST: Final = 10.0
_LONGEST: Final = 60.0
"""Seconds until the first line, and at last between two lines."""


@contextmanager
def following(what: str, whole: float | None, live: bool = True) -> Iterator[Tell]:
    """Within the block, show progress under the name `what`. `whole` is the amount of work, if known. `live`: also on a
    terminal; False if the command prints its own progress there.
    """
    if sys.stderr is not None and sys.stderr.isatty():
        if live and find_spec("rich") is not None:
            with _bar(what, whole) as tell:
                yield tell
        else:
            yield lambda text, done: None
        return
    yield _Lines(what, whole).tell


@contextmanager
def _bar(what: str, whole: float | None) -> Iterator[Tell]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns: list[Any] = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}")]
    columns.append(TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as progress:
        task = progress.add_task(what, total=whole, counts="")
        yield lambda text, done: progress.update(task, completed=done, counts=text)


class _Lines:
    """Lines for a log file: few, at growing intervals."""

    def __init__(self, what: str, whole: float | None) -> None:
        self._what, self._whole = what, whole
        self._began = time.monotonic()
        self._pause = self._next = _FIRST

    def tell(self, text: str, done: float) -> None:
        seconds = time.monotonic() - self._began
        if seconds < self._next:
            return
        self._pause = min(2 * self._pause, _LONGEST)
        self._next = seconds + self._pause
        share = f", {done / self._whole:.0%}" if self._whole else ""
        aside(f"{self._what}: {seconds:.0f} s{share}, {text}")
