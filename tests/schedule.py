"""Deterministic tests of the tries: keys on exact paths, a thread switch at an exact access, and known faults. Scenarios
are explored elsewhere (`tests/every_schedule.py`).

`load_twin()` imports a private copy of the interpreted twin, whichever twin the test process runs, on a slot of its own.
Its `schedule` executes schedules that a test gives, on the explorer's machine: one thread is held before an access while
another one runs. So nothing depends on chance, and a failing schedule is named by the operations and the numbers of
accesses.

`load_twin(fault)` imports a copy with a fault in its source. A test that passes on that copy does not test for the
fault.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from stress.explorer.coroutines import MAIN, new_coroutines
from stress.explorer.machine import Execution, Machine, Strategy
from stress.explorer.slots import Seam, reference_class
from stress.tries.hashes import on_path, unmix
from stress.tries.source_copy import Change as Fault
from stress.tries.source_copy import import_privately, interpreted_twin
from stress.tries.stand_ins import slot_module

__all__ = [
    "Fault",
    "Key",
    "Twin",
    "hash_of",
    "key",
    "load_twin",
    "unmix",
]

LIVELOCK = 100_000  # accesses; an operation of these tests needs less than a tenth of it, unless it loops


# -------------------------------------------------------------------------------------------------- keys on exact paths


class Key(NamedTuple):
    """A key whose mixed hash is `hash`, for tries made with `hash=hash_of`."""

    name: str
    hash: int

    def __repr__(self) -> str:
        return self.name


def key(name: str, *groups: int) -> Key:
    """Return a key that takes branch `groups[0]` at the root, `groups[1]` one level below it, and so on, then 0."""
    return Key(name, on_path(*groups))


def hash_of(key: Key) -> int:
    return unmix(key.hash)


# ------------------------------------------------------------------------------------------------ switches at accesses


class Switched(NamedTuple):
    first: Any  # answer
    other: Any  # answer
    next: int | None  # the next access at which to try the switch; None if no later one can make a difference


Choose = Callable[[int, Execution], int]


class _Fixed(Strategy):
    """Lets `choose` say who makes the next step, from the number of accesses that thread 0 has made behind its gate, and
    from what has been done. The end of thread 0 is the end.
    """

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._steps = self._accesses = 0

    def decide(self, me: int) -> int:
        execution = self.machine.execution
        self._accesses += execution.order[self._steps :].count(0)
        self._steps = len(execution.order)
        if not self.machine.enabled & 1:
            return MAIN
        return self._choose(self._accesses - 1, execution) if self._accesses else 0


class Schedule:
    """Executes schedules of operations on the slots of one twin."""

    def __init__(self, seam: Seam) -> None:
        self._seam, self._gate, self._coroutines = seam, reference_class(seam)(), new_coroutines()

    def _run(self, choose: Choose, *plans: Iterable[Callable[[], Any]]) -> Execution:
        def gated(operation: Callable[[], Any]) -> Any:
            self._gate.load()  # nothing of an operation comes before its turn
            return operation()

        machine = Machine(self._seam, self._coroutines)
        machine.most = LIVELOCK
        calls: Any = [((gated, (operation,)) for operation in plan) for plan in plans]
        execution = machine.run(calls, _Fixed(choose))
        assert not execution.trouble, execution.trouble
        for log in execution.logs:
            for _, _, answer in log:
                if isinstance(answer, BaseException):
                    raise answer
        return execution

    def _alone(self, operation: Callable[[], Any]) -> Execution:
        return self._run(lambda accesses, so_far: 0, [operation])

    def count(self, operation: Callable[[], Any]) -> int:
        """Run `operation` undisturbed and return how many accesses it made."""
        return len(self._alone(operation).order) - 1

    def changed_by(self, operation: Callable[[], Any]) -> set[object]:
        """Run `operation` undisturbed and return the slots that it changed."""
        execution = self._alone(operation)
        return {execution.slots[step] for step in execution.wrote}

    def switch(
        self, first: Callable[[], Any], at: int, other: Callable[[], Any], *, stops_after: int | None = None
    ) -> Switched:
        """Run `first`. Hold it before its access number `at` while another thread runs `other`, to its end or until it
        has changed slots `stops_after` times, and never any further.

        There is no need to try the values up to the result's `next`: they would only swap accesses to different slots,
        or reads, so every operation would read what it read this time. LookupError if `first` ends before it has made
        so many accesses.
        """

        def choose(accesses: int, so_far: Execution) -> int:
            is_over = so_far.logs[1] or _changes(so_far, 1) == stops_after
            return 0 if accesses < at - 1 or is_over else 1

        execution = self._run(choose, [first], [other])
        if 1 not in execution.order:
            raise LookupError(f"there is no access number {at}")
        answers = execution.logs[1]
        assert answers or stops_after is not None
        return Switched(execution.logs[0][0][2], answers[0][2] if answers else None, _next(execution))

    def suspend(self, operation: Callable[[], Any], after_change: int) -> bool:
        """Run `operation` until it has changed slots `after_change` times, and never any further.

        Return whether it made that many changes; otherwise it has ended. (A suspension between two changes would leave
        the same behind as one right after the first change.)
        """

        def choose(accesses: int, so_far: Execution) -> int:
            return MAIN if _changes(so_far, 0) == after_change else 0

        execution = self._run(choose, [operation])
        execution.slots.clear()  # the machine, which only the collector frees, would hold what they hold
        self._coroutines.end()  # what a thread has made is freed at once only if the thread runs, or is gone
        return _changes(execution, 0) == after_change

    def interfere(self, operation: Callable[[], Any], other: Callable[[int], Any]) -> Any:
        """Run `operation`; before its k-th access another thread calls `other(k)`, for every k. Return the operation's
        answer.
        """

        calls = (functools.partial(other, number) for number in itertools.count(1))
        execution = self._run(lambda accesses, so_far: 0 if len(so_far.logs[1]) > accesses else 1, [operation], calls)
        return execution.logs[0][0][2]


def _changes(execution: Execution, thread: int) -> int:
    # A copy, since the collector may run meanwhile, and an object's end may change slots.
    return sum(execution.order[step] == thread for step in list(execution.wrote))


def _next(execution: Execution) -> int | None:
    """The access of thread 0 after the first one behind thread 1 that depends on what that one did."""
    theirs = [step for step, thread in enumerate(execution.order) if thread == 1][1:]
    touched = {execution.slots[step] for step in theirs}
    changed = {execution.slots[step] for step in theirs if step in execution.wrote}
    number = -1
    for step, thread in enumerate(execution.order):
        if thread == 0:
            number += 1
            if (
                theirs
                and step > theirs[0]
                and execution.slots[step] in (touched if step in execution.wrote else changed)
            ):
                return number + 1
    return None


# ------------------------------------------------------------------------------------------------- private copies


class Twin:
    """A private copy of the interpreted packages. `modules` has them by name."""

    def __init__(self, modules: dict[str, ModuleType], schedule: Schedule) -> None:
        self.modules = modules
        self.schedule = schedule
        self.nodes: Any = modules["ctrie._nodes"]
        self.Ctrie: Any = modules["ctrie"].Ctrie
        self.CtrieSet: Any = modules["ctrie"].CtrieSet


@functools.cache
def load_twin(fault: Fault | None = None, packages: Sequence[str] = ("ctrie",)) -> Twin:
    """Import a private copy of `packages` from their sources, with `fault` in them if one is given."""
    seam = Seam(takes_back=False)
    ours = {"ctrie._slot": slot_module(seam), "ctrie._build_choice": interpreted_twin()}
    return Twin(import_privately(packages, ours, [] if fault is None else [fault]), Schedule(seam))
