"""Scenarios: an object, and a few threads with a few calls each; given, or drawn at random for any object, small ones
first.

A scenario that is drawn has three parts: calls *before*, made by one thread; the *threads*; and calls *after*, made by
one thread again. Operations that have to wait, according to the specification, are not called before or after: no other
thread would end their wait.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from stress.checker.waiting import after, may_wait
from stress.history import Call, show, steady
from stress.recorder.workload import Draw, as_calls
from stress.spec import Spec

__all__ = ["Program", "Scenario", "Scenarios", "describe"]


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


@dataclass(frozen=True)
class Scenarios:
    """Scenarios to be generated for `stress.explore`.

    Args:
        operations: what may be called: tuples of a method's name and its arguments, which may be `one_of(...)` or
            `unique`; write one twice to have it called twice as often.
        roles: what each thread may call, if not all may call the same: a list of operations for each. They set the
        number of threads.
        threads: how many threads there are.
        calls: how many calls a thread makes at most.
        before: how many calls are made before the threads at most.
        after: how many are made after them at most.
        scenarios: how many to generate.
        executions: how many schedules of each to execute at most.
    """

    operations: Sequence[tuple[Any, ...]]
    roles: Sequence[Sequence[tuple[Any, ...]]] = ()
    threads: int = 2
    calls: int = 5
    before: int = 5
    after: int = 5
    scenarios: int = 100
    executions: int = 1_000

    def __post_init__(self) -> None:
        for operations in (self.operations, *self.roles):
            as_calls(operations)
        if not self.operations and not self.roles:
            raise ValueError("there must be an operation to call")
        if self.threads < 1 or self.calls < 1 or self.scenarios < 1 or self.executions < 1:
            raise ValueError("threads, calls, scenarios and executions must be at least 1")
        if self.before < 0 or self.after < 0:
            raise ValueError("before and after must be at least 0")

    def __str__(self) -> str:
        threads = len(self.roles) or self.threads
        return (
            f"{self.scenarios:,} scenarios of {threads} threads with up to {self.calls} calls each, up to "
            f"{self.executions:,} schedules of each"
        )

    def drawn(self, spec: Spec, random: Random, target: str) -> Iterator[Scenario]:
        """The scenarios, one after another, of growing size."""
        for number in range(self.scenarios):
            yield self._draw(spec, random, target, (number + 1) / self.scenarios)

    def _draw(self, spec: Spec, random: Random, target: str, share: float) -> Scenario:
        fresh = itertools.count(1).__next__
        roles = self.roles or [self.operations] * self.threads
        everything = self.operations or [operation for role in roles for operation in role]

        def call(operations: Sequence[tuple[Any, ...]]) -> Call:
            op, *args = random.choice(operations)
            return op, tuple(steady(arg.draw(random, fresh)) if isinstance(arg, Draw) else steady(arg) for arg in args)

        def size(most: int) -> int:
            return random.randint(0, round(most * share))

        state, before = spec.initial, []
        for _ in range(size(self.before)):
            made = call(everything)
            then = after(spec, state, made)
            if then:
                before.append(made)
                state = then[0]
        threads = tuple(
            tuple(call(role) for _ in range(random.randint(1, max(1, round(self.calls * share))))) for role in roles
        )
        then_made = [call(everything) for _ in range(size(self.after))]
        waiting = may_wait(spec, [call(everything) for _ in range(_WALK)])
        at_end = tuple(each for each in then_made if each[0] not in waiting)
        return Scenario(target, "", threads, tuple(before), at_end)


_WALK: Final = 60
"""Calls that are followed to find out which operations may have to wait."""
