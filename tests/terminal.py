"""A terminal for tests: it holds what a program draws on it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress


def drawn_by(command: Sequence[str]) -> tuple[str, str]:
    """Run a command with a terminal as its standard error; return what it drew there, and what it printed."""
    terminal, program_side = os.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=program_side, text=True) as running:
        os.close(program_side)
        drawn = b""
        with suppress(OSError):  # this is how a terminal reports that its last writer is gone
            while chunk := os.read(
                terminal, 65536
            ):  # meanwhile: a terminal that nobody reads holds only some kilobytes
                drawn += chunk
        os.close(terminal)
        printed, _ = running.communicate(timeout=100)
    return drawn.decode(), printed
