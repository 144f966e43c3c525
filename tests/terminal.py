"""A terminal for tests: it holds what a program draws on it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress


def drawn_by(command: Sequence[str]) -> tuple[str, str]:
    """Run a command with a terminal as its standard error; return what it drew there, and what it printed."""
    terminal, program_side = os.openpty()
    try:
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=program_side, timeout=100, check=False, text=True)
    finally:
        os.close(program_side)
    drawn = b""
    with suppress(OSError):  # this is how a terminal reports that its last writer is gone
        while chunk := os.read(terminal, 65536):
            drawn += chunk
    os.close(terminal)
    return drawn.decode(), ran.stdout
