"""Runs benchmarks: warm-up, then the contenders of a group in turn, repeat after repeat."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.machine import gil
from benchmarks.model import Benchmark, Contender, Group, Result


def run(benchmark: Benchmark, quick: bool, progress: Callable[[str], None]) -> list[Result]:
    """Measure all contenders of a benchmark.

    Args:
        quick: do the small version, once, only to see that everything works.
        progress: called with a text about the present step.
    """
    warm_ups, repeats = (0, 1) if quick else (benchmark.warm_ups, benchmark.repeats)
    results = []
    groups = benchmark.groups(quick)
    progress("building")
    while (group := _built(groups)) is not None:
        results += _run_group(group, warm_ups, repeats, progress)
        group.clear()  # before the next one is built, since two may not fit into memory
        progress("building")
    return results


def _built(groups: Iterator[Group]) -> Group | None:
    """Build the next group without collections, which would visit all new objects again and again."""
    gc.disable()
    try:
        return next(groups, None)
    finally:
        gc.enable()


def _run_group(group: Group, warm_ups: int, repeats: int, progress: Callable[[str], None]) -> list[Result]:
    values: list[list[float]] = [[] for _ in group]
    with _settled_heap():
        for turn in range(warm_ups + repeats):
            gc.collect()
            for contender, kept in zip(group, values, strict=True):
                progress(f"{_label(contender)}: {turn + 1}/{warm_ups + repeats}")
                value = _measured(contender) / contender.operations
                if turn >= warm_ups:
                    kept.append(value)
    return [Result(contender.series, contender.x, kept) for contender, kept in zip(group, values, strict=True)]


def _measured(contender: Contender) -> float:
    """Let a contender pay for its own collections, but not for visits to the objects of the others.

    A free-threaded interpreter visits those, too, in every collection, although they are frozen: for seconds if there
    are ten million objects. So there are no collections there while a contender is measured.
    """
    if gil():
        gc.collect()  # otherwise it would pay for what the last contender left
        return contender.measure()
    gc.disable()
    try:
        return contender.measure()
    finally:
        gc.enable()


@contextmanager
def _settled_heap() -> Iterator[None]:
    """Exempt existing objects from the collector; otherwise each contender would pay for them."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _label(contender: Contender) -> str:
    return contender.series if contender.x is None else f"{contender.series} at {contender.x:,.0f}"
