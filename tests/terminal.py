"""A terminal for tests: it holds what a program draws on it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress


def drawn_by(command: Sequence[str]) -> tuple[str, str]:
    """Run a command whose standard error is a terminal; what it drew there, and what it printed."""
    terminal, program_side = os.openpty()
    try:
        ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=program_side, timeout=100, check=False, text=True)
    finally:
        os.close(program_side)
    drawn = b""
    with suppress(OSError):  # that is how a terminal tells that nobody writes to it any more
        while chunk := os.read(terminal, 65536):
            drawn += chunk
    os.close(terminal)
    return drawn.decode(), ran.stdout
