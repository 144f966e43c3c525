"""The demonstration on a terminal while it runs: rates, the snapshot, Spark's answers; drawn by rich."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from examples.demo.watch import Watch

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_LEVELS = "▁▂▃▄▅▆▇█"
_WIDTH = 40
_REFRESHES = 8


@contextmanager
def terminal_view(watch: Watch, *, shown: bool = True) -> Iterator[None]:
    """Draw the watch on standard error until the context ends, which removes the drawing.

    Args:
        shown: False if it would be drawn over other output.
    """
    console = _terminal() if shown else None
    if console is None:
        yield
        return
    from rich.live import Live

    with Live(get_renderable=lambda: drawn(watch), console=console, refresh_per_second=_REFRESHES, transient=True):
        yield


@contextmanager
def waiting(for_what: str) -> Iterator[None]:
    """Show on a terminal what the command is waiting for, as long as the context lasts."""
    console = _terminal()
    if console is None:
        yield
        return
    with console.status(for_what):
        yield


def _terminal() -> Console | None:
    """Standard error, if it is a terminal and rich is installed."""
    try:
        from rich.console import Console
    except ImportError:
        return None
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    return Console(stderr=True)


def drawn(watch: Watch) -> RenderableType:
    """Return the present drawing."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    now, rates = watch.samples[-1], watch.rates()
    counts = Table.grid(padding=(0, 2))
    counts.add_column(style="bold")
    counts.add_column(justify="right")
    counts.add_column(style="cyan", no_wrap=True)
    for name, values in (
        ("messages/s", [rate.messages for rate in rates]),
        ("matches/s", [rate.matches for rate in rates]),
        ("changes/s", [rate.changes for rate in rates]),
    ):
        counts.add_row(name, f"{_recent(values):,.0f}", curve(values))
    done = Table.grid(padding=(0, 2))
    done.add_row("messages matched", ProgressBar(total=watch.total, completed=now.messages, width=_WIDTH), _of(watch))
    moments = Table.grid(padding=(0, 2))
    for seconds, what in watch.moments():
        moments.add_row(f"{seconds:5.1f} s", what)
    if doing := _doing(watch):
        moments.add_row(f"{now.seconds:5.1f} s", f"[dim]{doing}[/]")
    threads = f"{len(watch.crew.writers)} threads subscribe and unsubscribe, {len(watch.crew.publishers)} match"
    return Panel(Group(done, "", counts, "", moments), title=f"One trie: {threads}", expand=False)


def curve(values: Sequence[float]) -> str:
    """Return the last values as blocks whose heights are proportional to the greatest value of all."""
    greatest = max(values, default=0) or 1
    return "".join(_LEVELS[min(int(value / greatest * len(_LEVELS)), len(_LEVELS) - 1)] for value in values[-_WIDTH:])


def _recent(values: Sequence[float]) -> float:
    last = values[-5:]
    return sum(last) / len(last) if last else 0.0


def _of(watch: Watch) -> str:
    messages = watch.samples[-1].messages
    return f"{messages:,}" if watch.total is None or messages > watch.total else f"{messages:,} of {watch.total:,}"


def _doing(watch: Watch) -> str:
    doing = ("matching, before the snapshot", "exporting to Spark", "Spark judges the cut", "asking Spark about it", "")
    return doing[len(watch.crew.exporter.moments)]
