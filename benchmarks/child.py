"""Work in a process of its own, so that nothing else has used its memory before."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def in_child(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function in a fresh interpreter and return what it returns."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(work, *args, **kwargs).result()


def resident_bytes() -> int:
    """Return the memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise OSError("this system does not say how much memory a process occupies")
