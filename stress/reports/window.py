"""Minimises a history that has no linearization, without ever making up a violation.

Every step preserves the truth: a fault of the small history is a fault of the recorded one.

1. Everything before the last quiescent cut is replaced by the states that it can end in.
2. The history is cut off at the earliest return that makes it illegal. Operations that return later become pending.
3. Reads are dropped as long as it stays illegal. A read changes nothing, so the other operations do not need it.
   Updates are kept: without them, correct answers of other operations could look wrong.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from stress.checker.check import Failure
from stress.checker.search import Search, segments
from stress.history import Operation, until
from stress.spec import Element, Spec, State

T = TypeVar("T")

_STEPS = 200_000
_SECONDS = 5.0
_AROUND = 60
"""The most operations before the window, and after it, in which the cause of the fault is looked for."""


@dataclass(frozen=True)
class Stretch:
    """All operations from a quiescent cut up to the window, and the possible states of the object at the cut."""

    operations: tuple[Operation, ...]
    starts: tuple[State, ...]


@dataclass(frozen=True)
class Window:
    """The crucial part of a history: from every one of `starts`, `operations` have no linearization.

    `culprit` is the operation whose return makes the history illegal: without it, there is a linearization.
    `before` are the stretches that lead up to the window, each longer than the last; the first is empty. `after` is
    everything recorded since the beginning of the window, also after the culprit. `projected`: the operations are
    what the recorded ones (`originals`, by id) say about these `elements` alone.
    """

    operations: tuple[Operation, ...]
    starts: tuple[State, ...]
    culprit: Operation
    before: tuple[Stretch, ...]
    after: tuple[Operation, ...]
    elements: tuple[Element, ...] | None
    projected: bool
    originals: dict[int, Operation]

    def describe(self, operation: Operation) -> str:
        """The call and its answer. An operation that returned after the window is shown as such."""
        text = operation.describe()
        returned_later = operation.pending and not self.originals[operation.id].pending
        return text.replace("never returned", "returned after this window") if returned_later else text

    def widened(self, lead: Stretch) -> Window:
        """The window, extended by a stretch before it."""
        return replace(
            self, operations=lead.operations + self.operations, after=lead.operations + self.after, starts=lead.starts
        )

    def with_cause(self, cause: Operation, spec: Spec) -> Window:
        """The window, extended until it contains `cause`, if that is before it."""
        wider = self.widened(next((each for each in self.before if cause in each.operations), self.before[0]))
        deadline = time.monotonic() + _SECONDS
        fewer = _without_reads(list(wider.operations), self.culprit, spec, wider.starts, deadline)
        return replace(wider, operations=tuple(fewer))


def illegal(operations: Sequence[Operation], spec: Spec, starts: Sequence[State], steps: int = _STEPS) -> bool:
    """Whether it is certain, within so many steps, that the operations have no linearization."""
    ending = Search(operations, spec, starts).advance(steps)
    return ending is not None and not ending.linearizable


def crucial_window(failure: Failure, spec: Spec, originals: Sequence[Operation]) -> Window:
    """The crucial window of a failure of the history `originals`. Takes a few seconds at most."""
    deadline = time.monotonic() + _SECONDS
    levels = segments(failure.operations)
    before: list[Stretch] = []
    lead: tuple[Operation, ...] = ()
    for level, states in reversed(failure.trail or ((failure.segment, list(failure.initial)),)):
        lead = (*levels[level], *lead) if before else ()
        if len(lead) > _AROUND:
            break
        before.append(Stretch(lead, tuple(states)))
    segment, starts = tuple(levels[failure.segment]), before[0].starts
    later = [operation for level in levels[failure.segment + 1 :] for operation in level]
    operations, culprit = _first_illegal(segment, spec, starts)
    by_id = {operation.id: operation for operation in originals}
    return Window(
        tuple(_without_reads(operations, culprit, spec, starts, deadline)),
        starts,
        culprit,
        tuple(before),
        (*segment, *later[:_AROUND]),
        failure.elements,
        failure.projected,
        {operation.id: by_id[operation.id] for operation in failure.operations},
    )


def _first_illegal(
    segment: Sequence[Operation], spec: Spec, starts: Sequence[State]
) -> tuple[list[Operation], Operation]:
    """The segment up to the earliest return that makes it illegal, and the operation that returns."""
    returns = sorted((each.returned, each.id) for each in segment if each.returned is not None)
    at = bisect_left(returns[:-1], True, key=lambda one: illegal(until(segment, one[0]), spec, starts))
    moment, culprit = returns[at]
    return until(segment, moment), next(each for each in segment if each.id == culprit)


def _without_reads(
    operations: list[Operation], culprit: Operation, spec: Spec, starts: Sequence[State], deadline: float
) -> list[Operation]:
    def with_these(reads: Sequence[Operation]) -> list[Operation]:
        gone = {each.id for each in others} - {each.id for each in reads}
        return [each for each in operations if each.id not in gone]

    others = [
        each for each in operations if each.id != culprit.id and spec.is_read_only(each.op, each.args, each.result)
    ]

    return with_these(
        needed(
            others,
            lambda some: (not some or time.monotonic() < deadline) and illegal(with_these(some), spec, starts),
        )
    )


def needed(items: Sequence[T], suffices: Callable[[list[T]], bool]) -> list[T]:
    """Those of the items that are needed for something; groups of them, ever smaller, are left out."""
    kept, size = list(items), len(items)
    while size:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            if suffices(fewer):
                kept = fewer
            else:
                at += size
        size //= 2
    return kept
