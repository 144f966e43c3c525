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
    thread.
    """

    target: str
    start: str
    threads: Program

    def __str__(self) -> str:
        threads = " | ".join("; ".join(map(describe, calls)) for calls in self.threads)
        return f"{', '.join(filter(None, (self.target, self.start)))}: {threads}"


def describe(call: Call) -> str:
    """A call in short form."""
    op, args = call
    return f"{op}({', '.join(map(show, args))})"
