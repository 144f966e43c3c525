"""The parts of a benchmark: groups of contenders that are measured in turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Literal


@dataclass(frozen=True)
class Contender:
    """One series at one point of a benchmark, ready to be measured.

    Before a benchmark yields a contender, it has built the contender and checked its answers against those of
    another one or of a naive computation. `measure` does one repeat, and may prepare what the repeat consumes.
    """

    series: str
    measure: Callable[[], float]
    """Does one repeat and returns what it took: seconds on the clock, or bytes."""
    operations: int
    """The number of operations to divide that by."""
    x: float | None = None
    """The point's place on the axis: threads, filters, keys."""


Group = list[Contender]


@dataclass(frozen=True)
class Benchmark:
    """A question, and the contenders that answer it.

    Contenders of one group exist at the same time and are measured in turn, again and again, so whatever
    disturbs the machine disturbs all of them. Groups follow one another; each is built when its turn comes.
    """

    name: str
    title: str
    operation: str
    """The name of one operation, for tables and axes: "match"."""
    groups: Callable[[bool], Iterator[Group]]
    """Builds the groups; the argument asks for a small version that only shows that everything works."""
    baseline: str | None = None
    """The series that the table's ratios refer to, at the same x."""
    unit: Literal["ns", "us", "bytes", "MB"] = "ns"
    x_label: str | None = None
    plot: Literal["bars", "growth", "scaling"] = "bars"
    repeats: int = 7
    warm_ups: int = 1
    note: str = ""
    """What a reader needs to know besides the title."""


@dataclass(frozen=True)
class Result:
    """All repeats of one contender, each divided by the number of operations: seconds or bytes."""

    series: str
    x: float | None
    values: list[float]

    @property
    def median(self) -> float:
        """The value with half of the repeats below it."""
        return median(self.values)


class OneRun:
    """Hands out, one by one, the values of a measurement that yields several at once.

    Args:
        measure: returns a value for each of the contenders that share it, in their order.
    """

    def __init__(self, measure: Callable[[], list[float]]) -> None:
        self._measure = measure
        self._values: list[float] = []

    def next(self) -> float:
        """Return the next value, and measure again when there is none left."""
        if not self._values:
            self._values = self._measure()
        return self._values.pop(0)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def check(condition: bool, what: str) -> None:
    """Stop a benchmark whose contender answers wrongly: its time would mean nothing."""
    if not condition:
        raise AssertionError(f"wrong answer: {what}")


def same(one: Iterable[object], other: Iterable[object], what: str) -> None:
    """Check that two answers hold the same elements, whatever their order."""
    check(set(one) == set(other), what)
