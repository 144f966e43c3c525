"""Calls that take effect at once: a `put` that waits for its `take`, two threads that exchange what they hold.

An element of a linearization may be a *set* of operations that overlap, all of them (set-linearizability, Neiger; for
objects, concurrency-aware linearizability, Hemed, Rinetzky and Vafeiadis). The search knows single operations only. So
a meeting is two of its steps or more: the first partner leads to a state that is `Half` done, in which nothing but the
next partner is possible, and no search ends there. Real time is respected by the search as ever; that the partners
overlap is asked here: none may be called after another one has returned.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from stress.history import UNSEEN, Call, Operation, Time
from stress.spec import Spec, State

__all__ = ["Half", "meetings_of", "with_meetings"]


class _Args(tuple[Hashable, ...]):
    """The arguments of one operation, which is known by them: its number, and when it ran."""

    number: int
    call: Time
    returned: Time


@dataclass(frozen=True)
class Half:
    """The state `before`, while some partners of a meeting have come, and others not yet."""

    before: State
    numbers: tuple[int, ...]
    calls: tuple[Call, ...] = field(compare=False)
    results: tuple[Hashable, ...] = field(compare=False)
    until: Time = field(compare=False)
    """When the first of the partners returns."""


def with_meetings(spec: Spec, operations: Sequence[Operation]) -> tuple[Spec, Sequence[Operation]]:
    """The specification and the operations as the search takes them: the same if there are no meetings."""
    return (
        (_Meetings(spec), [*map(_dated, range(len(operations)), operations)]) if spec.meetings else (spec, operations)
    )


def _dated(number: int, operation: Operation) -> Operation:
    args = _Args(operation.args)
    args.number, args.call = number, operation.call
    args.returned = float("inf") if operation.returned is None else operation.returned
    return operation._replace(args=args)


class _Meetings(Spec):
    """An object with its meetings, as one whose operations take effect one after another."""

    def __init__(self, spec: Spec) -> None:
        self._spec, self.initial = spec, spec.initial
        self._begun = {tuple(names[:size]) for names in spec.meetings for size in range(1, len(names))}
        self._complete = {tuple(names) for names in spec.meetings}
        self._partners = {op for names in spec.meetings for op in names}

    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Hashable) -> Iterator[State]:
        """As `Spec.successors`."""
        half = state if type(state) is Half else Half(state, (), (), (), float("inf"))
        if half is not state:
            yield from self._spec.successors(state, op, tuple(args), result)
        if op not in self._partners or not isinstance(args, _Args) or args.call > half.until:
            return
        calls, results = (*half.calls, (op, tuple(args))), (*half.results, result)
        names = tuple(name for name, _ in calls)
        if names in self._complete:
            yield from self._spec.meeting(half.before, calls, results)
        if names in self._begun:
            yield Half(half.before, (*half.numbers, args.number), calls, results, min(half.until, args.returned))

    def is_read_only(self, op: str, args: tuple[Any, ...], result: Hashable) -> bool:
        """As `Spec.is_read_only`. One that may be another's partner must not be taken as soon as it fits alone."""
        return op not in self._partners and self._spec.is_read_only(op, args, result)

    def shows(self, operation: Operation) -> Iterable[Hashable]:
        """As `Spec.shows`."""
        return self._spec.shows(operation)

    def brings(self, operation: Operation) -> Any:
        """As `Spec.brings`."""
        return self._spec.brings(operation)

    def refusal(self, state: Any, operation: Operation) -> str:
        """As `Spec.refusal`."""
        return self._spec.refusal(state, operation)


def meetings_of(spec: Spec, state: State, calls: Sequence[Call]) -> Iterator[tuple[tuple[int, ...], State]]:
    """Which of these calls, all of them running, can take effect together in a state: their places, and the state
    afterwards.
    """
    for names in spec.meetings:
        for places in permutations([at for at, (op, _) in enumerate(calls) if op in names], len(names)):
            partners = tuple(calls[at] for at in places)
            if all(op == name for (op, _), name in zip(partners, names, strict=True)):
                for after in spec.meeting(state, partners, (UNSEEN,) * len(names)):
                    yield places, after
