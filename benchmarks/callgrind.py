"""Runs a module of the benchmarks under valgrind's callgrind, in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def is_missing() -> bool:
    """Tell whether there is no valgrind, and say what to do about it."""
    if shutil.which("valgrind") is not None:
        return False
    print("valgrind is missing: install it (Debian and Ubuntu: apt-get install valgrind)", file=sys.stderr)
    return True


@contextmanager
def profiles(module: str, *arguments: str) -> Iterator[list[Path]]:
    """Run a module, and give the profiles of its parts, in their order, as files that exist within the context.

    Each call of `os.getppid` ends one part and begins the next. The run uses the compiled twin.
    """
    with TemporaryDirectory() as folder:
        subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                "--dump-before=getppid",
                f"--callgrind-out-file={Path(folder, 'counts')}",
                sys.executable,
                "-m",
                module,
                *arguments,
            ],
            check=True,
            env=os.environ | {"PYTHONHASHSEED": "1", "CTRIE_TWIN": "compiled"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        yield sorted(Path(folder).glob("counts.*"), key=lambda part: int(part.suffix[1:]))
