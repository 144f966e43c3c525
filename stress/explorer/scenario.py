"""Scenarios: an object, and a few threads with a few calls each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stress.checker.waiting import may_wait
from stress.history import Call, show
from stress.spec import Spec

__all__ = ["Around", "Program", "Scenario", "describe"]

Program = tuple[tuple[Call, ...], ...]
"""The calls of each thread."""


@dataclass(frozen=True)
class Scenario:
    """`target` names the object, `start` its initial state if there are several, and `threads` are the calls of each
    thread.
    """

    target: str
    start: str
    threads: Program

    def __str__(self) -> str:
        threads = " | ".join("; ".join(map(describe, calls)) for calls in self.threads)
        return f"{', '.join(filter(None, (self.target, self.start)))}: {threads}"


@dataclass(frozen=True)
class Around:
    """The calls that are made before any thread runs, and after the last one has ended."""

    at_start: tuple[Call, ...] = ()
    at_end: tuple[Call, ...] = ()

    def smaller(self, spec: Spec) -> Iterator[Around]:
        """Variants without all calls before or after, or without one of them, if then no call before has to wait."""
        start, end = self.at_start, self.at_end
        if len(start) > 1:
            yield Around((), end)
        if len(end) > 1:
            yield Around(start, ())
        for at in range(len(end)):
            yield Around(start, (*end[:at], *end[at + 1 :]))
        for at in range(len(start)):
            left = (*start[:at], *start[at + 1 :])
            if not may_wait(spec, left):
                yield Around(left, end)


def describe(call: Call) -> str:
    """A call in short form."""
    op, args = call
    return f"{op}({', '.join(map(show, args))})"
