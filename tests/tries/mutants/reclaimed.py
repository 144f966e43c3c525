"""The layer that should catch mutants of the reclaimer: real threads, on the C source itself.

`ctrie/c/epoch.h` is compiled alone, with `reclaimer/harness.c`. So this needs neither a free-threaded interpreter nor a
build of the package, only a C compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from tests.tries.source_copy import Change, source_of

_SECONDS: Final = 60
_HEADERS: Final = ("epoch.h", "slot.h")


@cache
def compiler() -> str | None:
    """A C compiler for POSIX threads; None if there is none."""
    return next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def trouble_of(changes: Sequence[Change]) -> str:
    """The fault that the threads find in the reclaimer with `changes` applied; empty if none.

    Raises:
        StaleChange: a change does not fit the source.
    """
    with tempfile.TemporaryDirectory() as folder, as_file(files(__package__).joinpath("reclaimer")) as harness:
        for name in _HEADERS:
            text = (source_of("ctrie").parent / "c" / name).read_text(encoding="utf-8")
            for change in changes:
                if change.module == name:
                    text = change.put_into(text)
            Path(folder, name).write_text(text, encoding="utf-8")
        program = str(Path(folder, "harness"))
        words = ["-O1", "-std=gnu11", "-pthread", f"-I{folder}", f"-I{harness}", str(harness / "harness.c")]
        built = subprocess.run(
            [compiler() or "cc", *words, "-o", program], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if built.returncode:
            raise RuntimeError(f"the harness of the reclaimer does not compile: {built.stderr}")
        ran = subprocess.run([program], capture_output=True, text=True, timeout=_SECONDS, check=False)
        if ran.returncode < 0:
            return f"the threads were ended by signal {-ran.returncode}"
        return ran.stdout.strip() if ran.returncode else ""
