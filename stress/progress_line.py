"""A line on a terminal that tells how far a long run is. Elsewhere nothing is written."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, TextIO

Tell = Callable[[str, float], None]
"""To be called now and then with what was done, in a few words, and its share of the whole."""

_BEAT: Final = 0.2
"""Seconds between two looks of the line."""
_EMPTY: Final = "\r\x1b[K"


def _is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream of the process is one; None is a stream that was closed before the start."""
    return stream is not None and stream.isatty()


@contextmanager
def following(what: str, whole: float | None, *, told: bool = False, after: float = 0.0) -> Iterator[Tell]:
    """Within the block, show progress under the name `what`, from some seconds `after` its beginning on. `whole` is the
    amount of work, if known. `told`: standard output gets lines meanwhile, and where that is a terminal they suffice.
    """
    stream = sys.stderr
    if not _is_terminal(stream) or (told and _is_terminal(sys.stdout)):
        yield lambda text, done: None
        return
    began = time.monotonic()
    next_at = began + after

    def tell(text: str, done: float) -> None:
        nonlocal next_at
        now = time.monotonic()
        if now >= next_at:
            next_at = now + _BEAT
            share = f", {done / whole:.0%}" if whole else ""
            line = f"{what}: {now - began:.0f} s{share}, {text}"
            with suppress(OSError):
                print(f"{_EMPTY}{line[: shutil.get_terminal_size().columns - 1]}", end="", file=stream, flush=True)

    try:
        yield tell
    finally:
        with suppress(OSError):
            print(_EMPTY, end="", file=stream, flush=True)
