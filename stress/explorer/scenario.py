"""Scenarios: an object, and a few threads with a few calls each."""

from __future__ import annotations

from dataclasses import dataclass

from stress.history import Call, show

__all__ = ["Program", "Scenario", "describe"]

Program = tuple[tuple[Call, ...], ...]
"""The calls of each thread."""


@dataclass(frozen=True)
class Scenario:
    """`target` names the object, `start` its initial state if there are several, and `threads` are the calls of each
    thread. Those `at_start` and `at_end` are made before any thread runs, and after the last one has ended.
    """

    target: str
    start: str
    threads: Program
    at_start: tuple[Call, ...] = ()
    at_end: tuple[Call, ...] = ()

    def __str__(self) -> str:
        threads = " | ".join("; ".join(map(describe, calls)) for calls in self.threads)
        return f"{', '.join(filter(None, (self.target, self.start)))}: {threads}"

    @property
    def calls(self) -> list[Call]:
        """All calls."""
        return [call for calls in (self.at_start, *self.threads, self.at_end) for call in calls]


def describe(call: Call) -> str:
    """A call in short form."""
    op, args = call
    return f"{op}({', '.join(map(show, args))})"
