"""Names the fault of a refuted history, in a plain sentence, by asking which change would have made it right.

Each shape is a question about a history that differs in one thing:

* *snapshot changed*: the recorder read a snapshot twice, with different results;
* *wrong with one thread alone*: no other thread made a call, so the class and the specification disagree;
* *torn match* (or *torn read*): a read of several elements fits without one of the changes that were made meanwhile;
* *lost update*: everything fits if one completed update had never happened; or, if the wrong answer is an update's, the
  latest few (a slow writer has restored what was there before them);
* *stale read*: everything fits if the read had been called earlier;
* *impossible answer*: none of these.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from stress.checker.components import universe_of
from stress.history import Operation, Raised, show, until
from stress.reports.window import Window, illegal
from stress.spec import EVERYTHING, Spec, State

WRONG_ALONE: Final = "wrong with one thread alone"

_STEPS = 20_000
_SECONDS = 3.0
_MOST_ANSWERS = 3


@dataclass(frozen=True)
class Shape:
    """The name of a fault, the sentence that tells it, and the second operation that it is about."""

    name: str
    sentence: str
    cause: Operation | None = None


def classify(window: Window, spec: Spec, expected: Sequence[Any], *, is_alone: bool = False) -> Shape:
    """The shape of the fault in a window. `expected` are the answers that would have been right, if known. `is_alone`:
    one thread made all calls.
    """
    case = _Case(window, spec, expected, is_alone)
    questions = (case.snapshot_changed, case.alone, case.torn, case.lost_update, case.stale, case.impossible)
    shape = next(chain.from_iterable(question() for question in questions))
    return replace(shape, sentence=shape.sentence[0].upper() + shape.sentence[1:])


class _Case:
    def __init__(self, window: Window, spec: Spec, expected: Sequence[Any], is_alone: bool) -> None:
        self.window, self.spec, self.expected, self.is_alone = window, spec, expected, is_alone
        self.culprit = window.culprit
        self.original = window.originals[window.culprit.id]
        self.accused = self.who(self.culprit)
        self.deadline = time.monotonic() + _SECONDS
        self.reads = self.only_reads(self.culprit)
        self.story = window.widened(window.before[-1])
        self.updates = [
            each
            for each in self.story.operations
            if not each.pending and each.id != self.culprit.id and not self.only_reads(each)
        ]

    def only_reads(self, operation: Operation) -> bool:
        return self.spec.is_read_only(operation.op, operation.args, operation.result)

    def fits(self, operations: Sequence[Operation], starts: Sequence[State] | None = None) -> bool:
        """Whether there may be a linearization; no more, when the time to ask is up."""
        if time.monotonic() > self.deadline:
            return False
        return not illegal(operations, self.spec, starts or self.story.starts, _STEPS)

    def without(self, lost: Sequence[Operation], operations: Sequence[Operation]) -> list[Operation]:
        gone = {each.id for each in lost}
        return [each for each in operations if each.id not in gone]

    def who(self, operation: Operation) -> str:
        """``thread 1's get('a') -> 2``, as it was recorded."""
        return f"thread {operation.thread}'s {self.window.originals[operation.id].describe()}"

    # The questions: each yields the shapes that the fault may have, the first of which counts.

    def alone(self) -> Iterator[Shape]:
        """One thread made all calls, so no others are needed for what is wrong."""
        if self.is_alone:
            told = f"{self.accused} is wrong with one thread alone: the class and the specification disagree."
            yield Shape(WRONG_ALONE, told + self.instead())

    def snapshot_changed(self) -> Iterator[Shape]:
        result = self.original.result
        if isinstance(result, Raised) and result.type == "SnapshotChanged":
            told = f"{self.accused}: its result was read twice, and the readings differ: {result.message}."
            yield Shape("snapshot changed", told)

    def torn(self) -> Iterator[Shape]:
        """Other threads must have made at least two changes while the culprit looked at different elements."""
        window, culprit = self.window, self.culprit
        changing = [each for each in window.operations if each.id != culprit.id and not self.only_reads(each)]
        meanwhile = [each for each in changing if each.returned is None or each.returned >= culprit.call]
        universe = universe_of(window.operations, self.spec, window.starts)
        footprint = self.spec.footprint(self.culprit, universe)
        looked_at = len(universe if footprint is EVERYTHING else footprint)
        may_be_torn = self.reads and len(meanwhile) > 1 and looked_at > 1
        if may_be_torn and any(self.fits(self.without([each], window.operations), window.starts) for each in meanwhile):
            yield Shape(
                "torn match" if self.culprit.op == "match" else "torn read",
                f"{self.accused} saw no one moment: the answer would be right without one of the calls that were made "
                f"meanwhile. They are: {' and '.join(map(self.who, meanwhile))}.",
            )

    def lost_update(self) -> Iterator[Shape]:
        """One update that had never happened, or, if the wrong answer is an update's, the latest few."""
        latest = sorted(self.updates, key=lambda each: each.call, reverse=True)
        several = [] if self.reads else [latest[:number] for number in range(2, len(latest) + 1)]
        for lost in [*([update] for update in latest), *several]:
            if self.fits(self.without(lost, self.story.operations)):
                more = len(lost) - 1
                those = f", and {more} more after it" if more else ""
                only = "these calls had never happened, as if what was there before had been put back" if more else ""
                told = f"{self.who(lost[-1])} was lost{those}: {self.accused} fits only if "
                if not self.are_seen_later(lost):
                    yield Shape("lost update", f"{told}{only or 'that call had never happened'}.", lost[-1])
                break

    def are_seen_later(self, lost: Sequence[Operation]) -> bool:
        """Whether what follows is explained further if the culprit had read too early than if updates had been lost.
        Other faults may follow, so neither needs to explain all of it. Others may have seen the updates before they
        were lost.
        """
        if self.find_cause_of_staleness(self.culprit) is None:
            return False
        known = {each.id for each in self.story.operations}
        after = [
            each
            for each in self.story.after
            if each.id != self.culprit.id
            and (each.id in known or (each.returned or math.inf) > (self.culprit.returned or 0))
        ]
        return self.unexplained(self.without(lost, after)) > self.unexplained(after)

    def unexplained(self, operations: Sequence[Operation]) -> int:
        """The number of returns from the first on, in the order of time, that has no explanation."""
        returns = sorted(each.returned for each in operations if each.returned is not None)
        explained = bisect_left(range(len(returns)), 1, key=lambda at: not self.fits(until(operations, returns[at])))
        return len(returns) - explained

    def stale(self) -> Iterator[Shape]:
        """The stale read may also be one before the culprit, whose answer only reveals it."""
        others = [each for each in self.window.operations if self.only_reads(each) and each.id != self.culprit.id]
        for read in [self.culprit, *others]:
            cause = self.find_cause_of_staleness(read)
            if cause is not None:
                told = f"was right once but no longer when it was called: {self.who(cause)} had returned by then."
                yield Shape("stale read", f"{self.who(read)} {told}", cause)

    def find_cause_of_staleness(self, read: Operation) -> Operation | None:
        """The operation such that everything fits if `read` had been called before its return."""
        others = [each for each in self.story.operations if each.id != read.id and self.only_reads(read)]
        earlier = [each for each in others if each.returned is not None and each.returned < read.call]
        for pinning in sorted(earlier, key=lambda each: each.returned or 0, reverse=True):
            called_then = [
                each._replace(call=pinning.returned or 0) if each.id == read.id else each
                for each in self.story.operations
            ]
            if self.fits(called_then):
                return pinning
        return None

    def instead(self) -> str:
        """The answers that would have been right."""
        answers = sorted(set(map(show, self.expected)))
        if len(answers) > _MOST_ANSWERS:
            answers[_MOST_ANSWERS:] = [f"{len(answers) - _MOST_ANSWERS} others"]
        told = " or ".join(answers)
        return f" Where an order goes furthest, the answer would have to be {told}." if told else ""

    def impossible(self) -> Iterator[Shape]:
        yield Shape("impossible answer", f"no order of the overlapping calls explains {self.accused}.{self.instead()}")
