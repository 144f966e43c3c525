"""Scripts that a test runs in a process of its own, to see how the process ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run_script(text: str, **environment: str) -> tuple[int, str, str]:
    """Run `text` as a program in which warnings are errors; return its exit status, output and error output."""
    ended = subprocess.run(
        # Newer interpreters warn about every fork of a process that has other threads.
        [sys.executable, "-W", "error", "-W", "ignore:.*fork:DeprecationWarning", "-c", text],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr
