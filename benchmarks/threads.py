"""Measures threads: all prepare, meet at a barrier, and then the clock starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeAlias

THREADS = (1, 2, 4, 8, 16)

Work: TypeAlias = Callable[[], object]


def timed_in_threads(threads: int, prepare: Callable[[int], Work]) -> float:
    """Return the seconds from the start of the first thread's work to the end of the last one's.

    Args:
        prepare: called in each thread with its number, to make what only this thread uses (strings and bound methods of
            another thread are slower on free-threaded Python); returns the work.
    """
    together = Barrier(threads)

    def task(number: int) -> tuple[float, float]:
        work = prepare(number)
        together.wait()
        start = time.perf_counter()
        work()
        return start, time.perf_counter()

    with ThreadPoolExecutor(threads) as pool:
        spans = list(pool.map(task, range(threads)))
    return max(end for _, end in spans) - min(start for start, _ in spans)
