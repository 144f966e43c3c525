"""Scripts that a test runs in a process of its own, to see how the process ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# All are errors, but for one: newer interpreters warn about every fork of a process that has other threads, "This process is
# multi-threaded". (A message is no pattern here, but the text that it begins with.)
WARNINGS = ("-W", "error", "-W", "ignore:This process:DeprecationWarning")


def run_script(text: str, **environment: str) -> tuple[int, str, str]:
    """Run `text` as a program in which warnings are errors; return its exit status, output and error output."""
    ended = subprocess.run(
        [sys.executable, *WARNINGS, "-c", text],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr
