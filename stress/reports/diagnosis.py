"""Explains a refuted history: how far it can be linearized, and why every next step is impossible.

`explain` looks at the operations of the crucial window. It finds the longest partial linearizations, with the
states along each. At the end of each it lists the operations that would have to come next and why none of them can. It
searches like the checker but keeps its paths, so it is meant for windows, not for whole histories.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stress.checker.check import Judgement
from stress.history import ALONE, UNSEEN, History, Operation, of_one_thread
from stress.reports.faults import Shape, classify
from stress.reports.window import Window, crucial_window
from stress.spec import WAITS, Spec, State

_CONFIGURATIONS = 50_000
_Path = Any
"""The path so far and the step after it; None at the start. Paths share their beginnings."""


@dataclass(frozen=True)
class Step:
    """One operation of a partial linearization, with the states before and after it."""

    operation: Operation
    before: State
    after: State


@dataclass(frozen=True)
class Partial:
    """A partial linearization that cannot be continued. `refused` are the operations that had to come next, each with
    the reason why it could not.
    """

    start: State
    steps: tuple[Step, ...]
    refused: tuple[tuple[Operation, str], ...]

    @property
    def end(self) -> State:
        """The state at its end."""
        return self.steps[-1].after if self.steps else self.start


@dataclass(frozen=True)
class Diagnosis:
    """The fault of a history: the crucial window, its longest partial linearizations, and the shape of the fault."""

    window: Window
    partials: tuple[Partial, ...]
    shape: Shape


def diagnose(judgement: Judgement, spec: Spec, history: History) -> Diagnosis | None:
    """The reason why a history was refuted; None if it was not."""
    if judgement.failure is None:
        return None
    window = crucial_window(judgement.failure, spec, history.operations)
    partials = explain(window.operations, spec, window.starts)
    is_alone = ALONE in history.header or of_one_thread(history)
    shape = classify(window, spec, _expected(window.culprit, partials, spec), is_alone=is_alone)
    if shape.cause is not None and all(each.id != shape.cause.id for each in window.operations):
        window = window.with_cause(shape.cause, spec)
        partials = explain(window.operations, spec, window.starts)
    return Diagnosis(window, partials, shape)


def _expected(culprit: Operation, partials: Sequence[Partial], spec: Spec) -> list[object]:
    """The answers that the culprit would have given at the end of the longest partial linearizations."""
    answers = []
    for partial in partials:
        if any(operation.id == culprit.id for operation, _ in partial.refused):
            try:
                found = spec.step(partial.end, culprit.op, culprit.args)
                answers += [] if found is WAITS else [found[1]]
            except NotImplementedError:
                return []
    return answers


def explain(operations: Sequence[Operation], spec: Spec, starts: Sequence[State]) -> tuple[Partial, ...]:
    """The longest partial linearizations of operations that have no linearization."""
    window = sorted(operations, key=lambda each: each.call)
    longest: list[Partial] = []
    for path, done, state in _paths(window, spec, starts):
        most, refused = len(longest[0].steps) if longest else 0, tuple(_refused(window, spec, done, state))
        if refused and done.bit_count() >= most:
            steps: list[Step] = []
            while path is not None:
                path, step = path
                steps.insert(0, step)
            longest = longest if len(steps) == most else []
            longest.append(Partial(steps[0].before if steps else state, tuple(steps), refused))
    return tuple(longest)


def _next_after(operations: Sequence[Operation], done: int) -> Iterator[int]:
    """The operations, in the order of their calls, that may come next after those in `done`, a bit mask. An operation
    may not if another one, which is not in `done`, returned before it was called.
    """
    first = (~done & done + 1).bit_length() - 1
    returned = math.inf
    for number in range(first, len(operations)):
        operation = operations[number]
        if operation.call > returned:
            return
        if not done >> number & 1:
            yield number
            if operation.returned is not None:
                returned = min(returned, operation.returned)


def _paths(window: Sequence[Operation], spec: Spec, starts: Sequence[State]) -> Iterator[tuple[_Path, int, State]]:
    """A path to each pair of (operations done, state), depth first, as far as there are not too many."""
    seen = set[tuple[int, State]]()
    waiting: list[tuple[_Path, int, State]] = [(None, 0, start) for start in reversed(starts)]
    while waiting and len(seen) <= _CONFIGURATIONS:
        path, done, state = waiting.pop()
        if (done, state) in seen:
            continue
        seen.add((done, state))
        yield path, done, state
        for number in reversed(list(_next_after(window, done))):
            operation = window[number]
            result = UNSEEN if operation.pending else operation.result
            for after in spec.successors(state, operation.op, operation.args, result):
                waiting.append(((path, Step(operation, state, after)), done | 1 << number, after))


def _refused(window: Sequence[Operation], spec: Spec, done: int, state: State) -> Iterator[tuple[Operation, str]]:
    for number in _next_after(window, done):
        operation = window[number]
        if not operation.pending and not list(spec.successors(state, operation.op, operation.args, operation.result)):
            yield operation, spec.refusal(state, operation)
