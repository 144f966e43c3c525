"""Executes and judges any object as `experiment` says.

The parts of such an object are not known, so nothing can be restored: every execution gets a fresh object from the
factory. References that the factory makes are named in the order in which it makes them. Garbage is collected between
two executions, and never in one: finalizers and callbacks of weak references would run in the middle of any step.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Final, cast

from stress.alike import typed_key
from stress.explorer.alone import Alone
from stress.explorer.coroutines import Coroutines, new_coroutines
from stress.explorer.entered import caller_of
from stress.explorer.experiment import NOTHING_SEEN, Experiment, Look
from stress.explorer.held import held
from stress.explorer.kinds import Kind, kind_of
from stress.explorer.machine import BoundCall, Execution, Machine, Strategy
from stress.explorer.names import ObjectNames
from stress.explorer.plain_state import PlainState
from stress.explorer.policy import PACKAGE, is_used_whole, module_of
from stress.explorer.scenario import Scenario
from stress.explorer.sharing import NewCode
from stress.explorer.slots import AccessLimit, OneThread, Seam, reference_class
from stress.explorer.substitution import substituted
from stress.explorer.synchronization import By, ExploredThreading
from stress.history import ANSWERS, Operation, freeze
from stress.outside import Outside
from stress.process_wide import COLLECTOR
from stress.progress_line import Tell
from stress.spec import Spec
from stress.values import fresh

__all__ = [
    "ObjectExperiment", "ObjectMachine", "Subject", "collect_garbage", "explored_references", "garbage_is_kept",
    "subject_of",
]  # fmt: skip


@dataclass(frozen=True)
class Subject:
    """The subject of an exploration: a factory of objects, their specification, and a check that raises if an invariant
    does not hold.
    """

    factory: Callable[[], Any]
    spec: Spec
    check: Callable[[Any], object] | None
    plain: PlainState
    actions: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    """Calls that are functions of the object, and not methods."""

    def bound(self, op: str) -> Callable[..., Any]:
        """What a call of `op` calls, with the object as the first argument."""
        return self.actions[op] if op in self.actions else caller_of(op)


_MOST_STEPS: Final = 20_000
"""Steps without the return of any call: ordinary code may take thousands, in a loop over a container."""
_one_at_a_time: Final = threading.Lock()


@cache
def _coroutines() -> Coroutines:
    """One set for all explorations."""
    return new_coroutines()


def _say_nothing(text: str, done: float) -> None:
    """Nobody wants to know how far it is."""


class ObjectMachine(Machine):
    """A machine for any object, and the primitives that are explored on it. `real` are the types of the primitives
    that it refuses.
    """

    def __init__(self, seam: Seam, primitives: ExploredThreading, real: tuple[type, ...]) -> None:
        super().__init__(seam, _coroutines())
        self.primitives, self.real, self.fair = primitives, real, True
        self.plain: PlainState = cast("PlainState", None)
        """That of the subject: there is one while anything runs."""
        self.tell: Tell = _say_nothing
        self.progress: Callable[[str], object] | None = None
        """Is told of each execution that begins."""
        self.most = _MOST_STEPS

    def run(self, plans: Sequence[Sequence[BoundCall]], strategy: Strategy) -> Execution:
        """As `Machine.run`."""
        self.plain.listens = True
        try:
            return super().run(plans, strategy)
        finally:
            self.plain.listens = False

    def uses_clock(self, *, sleeps: bool) -> None:
        """As `OneThread.uses_clock`."""
        self.plain.use_clock(sleeps)

    def is_circle(self, where: str) -> bool | None:
        """As `Machine.is_circle`, by what was tried."""
        knowledge = self.plain.knowledge
        return False if where in knowledge.ends else where in knowledge.circles or not self.plain.aborts or None

    def learn_circle(self, where: str, is_circle: bool) -> None:
        """As `Machine.learn_circle`; then the exploration begins again."""
        knowledge = self.plain.knowledge
        knowledge.learn(knowledge.circles if is_circle else knowledge.ends, where)
        raise NewCode

    def _body(self, me: int) -> None:
        if self.plain.watches:
            self.plain.entered.watch()
        try:
            super()._body(me)
        finally:
            self.plain.entered.rest()


@contextmanager
def _quiet_ends() -> Iterator[None]:
    """Within the block, what ends an execution says nothing where an object ends: exceptions go no further there. What
    a signal's handler, or the end of the time, raised where a generator of this package ended, is raised once more:
    nobody has seen it.
    """
    before, me = sys.unraisablehook, ctypes.c_ulong(threading.get_ident())

    def tell(told: Any) -> None:
        code = getattr(told.object, "gi_code", None)
        if issubclass(told.exc_type, NewCode):
            return
        if code is not None and code.co_filename.startswith(PACKAGE):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(me, ctypes.py_object(told.exc_type))
        else:
            before(told)

    sys.unraisablehook = tell
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def explored_references() -> Iterator[ObjectMachine]:
    """Within the block, every new `ctrie.AtomicReference` is one whose accesses the machine schedules. There is one
    such block at a time.
    """
    with Outside() as outside:  # first: objects and threads that have ended may be found to be garbage anywhere
        import_module("concurrent.futures.thread")  # one that is imported meanwhile would keep explored locks
        seam = Seam(takes_back=False)
        seam.home = threading.get_ident()
        ours = sys.modules.get("ctrie")  # if nobody has imported it, there are no such references
        native = {} if ours is None else {ours.AtomicReference: reference_class(seam)}
        primitives = ExploredThreading(seam)
        with (
            _one_at_a_time,
            substituted(native, primitives.everything),
            garbage_is_kept(),
            _quiet_ends(),
        ):
            machine = ObjectMachine(seam, primitives, (*native, *primitives.instances))
            machine.outside = outside
            try:
                yield machine
            finally:
                machine.coroutines.end()


class _Naming:
    """Within the block, which runs the object's code while no thread runs, `maker` names what is made, and code that
    begins to run is seen. It is written without `contextlib`, which may have steps there.
    """

    def __init__(self, seam: Any, maker: OneThread, plain: PlainState) -> None:
        self._seam, self._maker, self._plain = seam, maker, plain

    def __enter__(self) -> None:
        self._seam.scheduler = self._maker
        self._plain.listens = True
        if self._plain.watches:
            self._plain.entered.watch()

    def __exit__(self, *_: object) -> None:
        self._plain.entered.rest()
        self._plain.listens = False
        self._seam.scheduler = None


@contextmanager
def subject_of(
    machine: ObjectMachine,
    factory: Callable[[], Any],
    spec: Spec,
    check: Callable[[Any], object] | None,
) -> Iterator[Subject]:
    """The subject within the block, including its plain state and primitives that were made before."""
    plain = PlainState(
        machine.seam, machine.primitives.instead_of, machine.primitives.modules, machine.outside, [factory]
    )
    with plain.stepping():
        machine.plain = plain

        def made_alone() -> Any:
            with _Naming(machine.seam, OneThread(machine.seam), plain):
                return factory()

        plain.expect(factory, made_alone())
        plain.begin_again()
        made = made_alone()
        if is_used_whole(module_of(type(made))):
            raise ValueError(
                f"a {type(made).__name__} cannot be explored, since each of its calls is one step: "
                "use stress.run for it"
            )
        _refuse_real_primitives(machine, made)
        yield Subject(factory, spec, check, plain)


def _refuse_real_primitives(machine: ObjectMachine, made: Any) -> None:
    """Refuse real primitives for which no explored ones stand: the access of a real reference would be no step."""
    for each, where in held(made, machine.real):
        kind = type(each).__name__
        if issubclass(type(each), machine.real) and not where:
            raise ValueError(f"a {kind} cannot be explored, since it is not Python code: use stress.run for it")
        if issubclass(type(each), machine.real) and kind_of(type(each)) not in (Kind.LOCK, Kind.LOCAL):
            raise ValueError(
                f"{where} is of type {kind}, and was made before the exploration, or by a name that the explorer does "
                "not know: let the factory make it, by a name such as threading.Lock or AtomicReference"
            )


class ObjectExperiment(Experiment):
    """A scenario on the subject; to be used within `explored_references`."""

    machine: ObjectMachine

    def __init__(self, machine: ObjectMachine, subject: Subject, scenario: Scenario) -> None:
        super().__init__(machine, scenario)
        self.spec = subject.spec
        self._subject = subject
        self._object: Any = None
        self._looks = bool(scenario.at_end) or subject.check is not None
        if isinstance(self.spec, Alone):
            self._calls = [[(By.thread(op, at), args) for op, args in of] for at, of in enumerate(self._calls)]
        self._bound = [[(subject.bound(op), args) for op, args in calls] for calls in scenario.threads]

    def names(self) -> ObjectNames:
        """As `Experiment.names`."""
        return ObjectNames(lambda: self._object)

    def _plans(self) -> Sequence[Sequence[BoundCall]]:
        if self.machine.progress is not None:
            self.machine.progress(str(self.scenario))
        collect_garbage()
        plain = self._subject.plain
        plain.begin_execution()
        self.machine.seam.clock, self.machine.seam.callers = 0.0, {}
        self.machine.seam.threads = len(self.scenario.threads)
        maker = OneThread(self.machine.seam)
        with _Naming(self.machine.seam, maker, plain):
            made = self._object = self._subject.factory()
        plain.refuse_older(made)
        plain.note(made)
        calls = self.scenario.at_start
        if calls:
            with AccessLimit(self.machine.seam), _Naming(self.machine.seam, maker, plain):
                self.before = tuple(
                    Operation(at, "main", time, time + 1, op, args, self._call(op, args))
                    for at, (time, (op, args)) in enumerate(zip(range(-2 * len(calls), 0, 2), calls, strict=True))
                )
            plain.note(made)
        return [[(call, (made, *fresh(args))) for call, args in calls] for calls in self._bound]

    def _look(self, execution: Execution) -> Look:
        if not self._looks:
            return NOTHING_SEEN
        with _Naming(self.machine.seam, OneThread(self.machine.seam), self._subject.plain):
            calls = tuple([(op, args, self._call(op, args)) for op, args in self.scenario.at_end])
            broken = self._broken()
        return Look((typed_key(calls), broken), calls, broken)

    def _call(self, op: str, args: tuple[Any, ...]) -> Any:
        try:
            answer = getattr(self._object, op)(*fresh(args))
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


_MANY: Final = 20_000
_OFTEN: Final = 10


def garbage_is_kept() -> AbstractContextManager[None]:
    """Within the block, garbage is collected where `collect_garbage` is called."""
    return COLLECTOR.held(False)


def collect_garbage() -> None:
    """Collect garbage if there may be much of it."""
    new, young, _ = gc.get_count()
    if new > _MANY:
        gc.collect(2 if young > _OFTEN else 0)
