"""Executes and judges any object as `experiment` says.

The parts of such an object are not known, so nothing can be restored: every execution gets a fresh object from the
factory. References that the factory makes are named in the order in which it makes them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import count
from typing import Any, Final

from stress.explorer.access_limit import AccessLimit
from stress.explorer.coroutines import Coroutines, new_coroutines
from stress.explorer.experiment import Experiment, Look
from stress.explorer.machine import BoundCall, Drift, Execution, Machine
from stress.explorer.names import ObjectNames
from stress.explorer.plain_state import CONTAINERS, PlainState, held
from stress.explorer.scenario import Around, Scenario
from stress.explorer.slots import Seam, slot_module
from stress.explorer.substitution import exchanged, substituted
from stress.explorer.switch_point import switching
from stress.explorer.synchronization import ExploredThreading
from stress.history import ANSWERS, Operation, freeze
from stress.spec import Spec

__all__ = ["ObjectExperiment", "ObjectMachine", "Outliving", "Subject", "explored_references", "subject_of"]


@dataclass(frozen=True)
class Subject:
    """The subject of an exploration: a factory of objects, their specification, the calls that are made before and in
    the end, and a check that raises if an invariant does not hold.
    """

    factory: Callable[[], Any]
    spec: Spec
    around: Around
    check: Callable[[Any], object] | None
    plain: PlainState
    outliving: Sequence[Any] = ()
    """Primitives in variables of modules and attributes of classes."""


_MOST_OF_A_VALUE: Final = 10_000
_one_at_a_time: Final = threading.Lock()


@cache
def _coroutines() -> Coroutines:
    """One set for all explorations: its threads, if it does not use greenlets, never end."""
    return new_coroutines()


class ObjectMachine(Machine):
    """A machine for any object, and the primitives that are explored on it. `real` are the types of the primitives
    that it refuses.
    """

    def __init__(self, seam: Seam, primitives: ExploredThreading, real: tuple[type, ...]) -> None:
        super().__init__(seam, _coroutines())
        self.primitives, self.real, self.fair = primitives, real, True


@contextmanager
def explored_references() -> Iterator[ObjectMachine]:
    """Within the block, every new `ctrie.AtomicReference` is one whose accesses the machine schedules. There is one
    such block at a time.
    """
    seam = Seam(takes_back=False)
    native, explored = import_module("ctrie").AtomicReference, slot_module(seam).AtomicReference
    primitives = ExploredThreading(seam)
    late = [(sys.modules, "threading", primitives.everything[threading])]  # for functions that import it when called
    with (
        _one_at_a_time,
        substituted({native: explored}, primitives.everything),
        exchanged(late),
        switching(seam),
    ):
        yield ObjectMachine(seam, primitives, (native, *primitives.instances))


class _Maker:
    """The scheduler while the factory runs: it only gives names, none of which a thread can give."""

    def __init__(self) -> None:
        self.name = count(-1, -1).__next__

    def identity(self) -> int:
        """As `Scheduler.identity`."""
        return -1


def _made(seam: Seam, factory: Callable[[], Any]) -> Any:
    """An object of the factory's."""
    known: Any = seam
    known.scheduler = _Maker()
    try:
        return factory()
    finally:
        known.scheduler = None


@contextmanager
def subject_of(
    machine: ObjectMachine,
    factory: Callable[[], Any],
    spec: Spec,
    around: Around,
    check: Callable[[Any], object] | None,
) -> Iterator[Subject]:
    """The subject within the block, including its plain state and primitives that were made before."""
    plain = PlainState(machine.seam, _made(machine.seam, factory), [factory])
    outliving: list[Any] = []
    instead: list[tuple[Any, str, Any]] = []
    for owner, name, value in plain.outliving():
        new = machine.primitives.instead_of(value)
        if new is not None:
            new._name = ("made before", len(outliving))
            outliving.append(new)
            instead.append((owner, name, new))
    with exchanged(instead), plain.stepping():
        _refuse_real_primitives(machine, factory)
        yield Subject(factory, spec, around, check, plain, outliving)


def _refuse_real_primitives(machine: ObjectMachine, factory: Callable[[], Any]) -> None:
    """Refuse real primitives: all explored threads run in one real thread, which could enter a real lock several
    times, and the access of a real reference would be no step."""
    for each, where in held(_made(machine.seam, factory), machine.real):
        kind = type(each).__name__
        if isinstance(each, machine.real) and not where:
            raise ValueError(f"a {kind} cannot be explored, since it is not Python code: use stress.run for it")
        if isinstance(each, machine.real):
            raise ValueError(
                f"{where} is of type {kind}, and was made before the exploration, or by a name that the explorer does "
                "not know: let the factory make it, by a name such as threading.Lock or AtomicReference"
            )


class Outliving:
    """State that outlives an execution and must not change: variables of modules, attributes of classes."""

    def __init__(self, plain: PlainState) -> None:
        self._plain = plain
        self._before = self._values()

    def _values(self) -> dict[str, str]:
        found = {}
        for owner, name, value in self._plain.outliving():
            if isinstance(value, (*CONTAINERS, int, float, str, bytes, frozenset, tuple, type(None))):
                where = owner.__qualname__ if isinstance(owner, type) else owner.get("__name__", "")
                found[f"{where}.{name}"] = repr(value)[:_MOST_OF_A_VALUE]
        return found

    def compare(self) -> None:
        """Check that an execution has changed none of it.

        Raises:
            Drift: it has.
        """
        for name, value in self._values().items():
            if self._before.get(name, value) != value:
                raise Drift(f"{name} outlives an execution, and calls change it: let the factory make it")


class ObjectExperiment(Experiment):
    """A scenario on the subject; to be used within `explored_references`."""

    def __init__(self, machine: Machine, subject: Subject, scenario: Scenario) -> None:
        super().__init__(machine, scenario)
        self.spec = subject.spec
        self._subject = subject
        self._object: Any = None

    def names(self) -> ObjectNames:
        """As `Experiment.names`."""
        return ObjectNames(lambda: self._object)

    def _plans(self) -> Sequence[Sequence[BoundCall]]:
        for primitive in self._subject.outliving:
            primitive.reset()
        made = self._object = _made(self.machine.seam, self._subject.factory)
        self._subject.plain.note(made)
        calls = self._subject.around.at_start
        if calls:
            with AccessLimit(self.machine.seam):
                self.before = tuple(
                    Operation(at, "main", time, time + 1, op, args, self._call(op, args))
                    for at, (time, (op, args)) in enumerate(zip(range(-2 * len(calls), 0, 2), calls, strict=True))
                )
        return [[(getattr(made, op), args) for op, args in calls] for calls in self.scenario.threads]

    def _look(self, execution: Execution) -> Look:
        calls = tuple([(op, args, self._call(op, args)) for op, args in self._subject.around.at_end])
        broken = self._broken()
        return Look((calls, broken), calls, broken)

    def _call(self, op: str, args: tuple[Any, ...]) -> Any:
        try:
            answer = getattr(self._object, op)(*args)
        except ANSWERS as error:
            return freeze(error)
        return self.spec.normalise(op, answer)

    def _broken(self) -> str:
        if self._subject.check is None:
            return ""
        try:
            answer = self._subject.check(self._object)
        except ANSWERS as error:  # a check of a broken object may raise anything
            return f"an invariant is broken: {type(error).__name__}: {error}".rstrip(": ")
        return "an invariant is broken: the check answered False" if answer is False else ""
