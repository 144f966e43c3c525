"""The subject of every strategy: one scenario on one object, executed again and again, with every execution judged.

An execution is right if

* all its threads, except those stopped for ever, came to an end;
* its history, with a last look at the object, is linearizable, and every snapshot showed the same twice;
* no invariant of the object is broken in the end.

Subclasses define how an object reaches its start and how it is looked at in the end: one for the tries, and
`ObjectExperiment` for any other object. Many executions lead to few different histories, so verdicts are remembered.

The parts of any other object are not known, so nothing can be restored: every execution gets a fresh object from the
factory. References that the factory makes are named in the order in which it makes them. Garbage is collected between
two executions, and never in one: finalizers and callbacks of weak references would run in the middle of any step.

Without a specification, an answer is right if some sequential order of the calls on fresh objects gives it. A call that
would wait there waits. All calls are made on two objects: if these give other answers, nothing can be said of them.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from stress.alike import typed_key
from stress.answers import as_it_is
from stress.checker.check import is_linearizable
from stress.checker.waiting import wait_as_they_should
from stress.explorer.coroutines import Coroutines, new_coroutines
from stress.explorer.entered import caller_of
from stress.explorer.machine import BoundCall, Execution, Machine, Strategy
from stress.explorer.names import NodeNames, ObjectNames
from stress.explorer.plain_state import PlainState
from stress.explorer.policy import PACKAGE, Refused, WouldWait, is_used_whole, module_of
from stress.explorer.scenario import Scenario, describe
from stress.explorer.sharing import NewCode
from stress.explorer.slots import MAIN, AccessLimit, Endless, OneThread, Seam, reference_class
from stress.explorer.substitution import substituted
from stress.explorer.synchronization import By, ExploredThreading
from stress.history import ANSWERS, UNSEEN, ChangingAnswer, History, Operation, Raised, freeze, renumbered
from stress.of_calls import Calls, OfCalls
from stress.outside import Outside
from stress.process_wide import COLLECTOR
from stress.progress_line import Tell
from stress.recorder.record import Deferred
from stress.reference import name_of
from stress.spec import WAITS, Spec
from stress.values import fresh

__all__ = [
    "NOTHING_SEEN", "Alone", "Experiment", "Finding", "Look", "ObjectExperiment", "ObjectMachine", "Subject",
    "collect_garbage", "explored_references", "garbage_is_kept", "subject_of",
]  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """The fault of an execution: `kind` is "history", "structure", "livelock" or "deadlock". `order` are the threads
    that made its steps; they are enough to execute it again.
    """

    scenario: Scenario
    order: tuple[int, ...]
    kind: str
    trouble: str
    history: History


class Look(NamedTuple):
    """What is seen of the object in the end: calls as (name, arguments, answer), and the broken invariant, if any.
    Looks with equal keys are alike.
    """

    key: Any
    calls: tuple[tuple[str, tuple[Any, ...], Any], ...] = ()
    broken: str = ""


UNSEEN_LOOK: Final = Look(None)
NOTHING_SEEN: Final = Look(((), ""))
"""The look at an object of which nobody asks anything in the end."""


class Experiment:
    """A scenario on some object: `run` executes it once."""

    machine: Machine
    scenario: Scenario
    spec: Spec
    before: tuple[Operation, ...] = ()
    """Calls that a thread left unfinished before the start."""

    def __init__(
        self, machine: Machine, scenario: Scenario, known_as: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        """`known_as` are the operations that have other names in the specification."""
        self.machine, self.scenario = machine, scenario
        self._calls = [[(known_as.get(op, op), args) for op, args in calls] for calls in scenario.threads]
        self._verdicts: dict[Any, tuple[str, str]] = {}

    # For subclasses to define.

    def _plans(self) -> Sequence[Sequence[BoundCall]]:
        """The calls of each thread, on an object in the state of the start."""
        raise NotImplementedError

    def _look(self, execution: Execution) -> Look:
        """A look at the object, when no thread runs any more."""
        raise NotImplementedError

    def _stir(self) -> None:
        """Change everything that snapshots may show, between their two readings."""

    def names(self) -> NodeNames:
        """Fresh names for the trace of the next execution."""
        raise NotImplementedError

    # Common to all subclasses.

    def run(self, strategy: Strategy) -> tuple[Execution, Finding | None]:
        """Execute the scenario once, as `strategy` decides; judge it, unless the strategy cut it short."""
        seam = self.machine.seam
        execution = self.machine.run(self._plans(), strategy)
        try:
            if execution.cut:
                return execution, None
            with AccessLimit(seam):
                return execution, self._judge(execution)
        except Endless as endless:
            if isinstance(self.spec, Alone):
                raise Refused(f"at the end, {endless}: only a specification can tell whether that is right") from None
            return execution, self._finding(execution, "livelock", _UNENDING["afterwards"], ())
        finally:
            seam.take_back()

    def _judge(self, execution: Execution) -> Finding | None:
        if execution.trouble:
            if self._wait_as_they_should(execution):
                return None
            return self._finding(execution, execution.trouble, self._unending(execution), execution.answers)
        look = self._look(execution)
        try:
            answers = execution.answers = self._answers(execution)
        except ChangingAnswer:
            raise
        except Exception as error:  # noqa: BLE001 - a snapshot of a broken trie may raise anything
            trouble = f"what was answered cannot be read: {type(error).__name__}: {error}"
            return self._finding(execution, "structure", trouble, ())
        key = (execution.precedence(), typed_key(answers), look.key)
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = self._verdict(execution, answers, look)
        return self._finding(execution, *verdict, answers, look) if verdict[0] else None

    def _wait_as_they_should(self, execution: Execution) -> bool:
        """Whether no thread can continue, and the specification agrees that none can."""
        if execution.trouble != "deadlock":
            return False
        answers = execution.answers = self._answers(execution)
        operations = self._operations(execution, answers, UNSEEN_LOOK)
        key = (execution.precedence(), typed_key(answers), "all wait")
        verdict = self._verdicts.get(key)
        if verdict is None:
            verdict = self._verdicts[key] = ("" if wait_as_they_should(operations, self.spec) else "deadlock", "")
        return not verdict[0]

    def _unending(self, execution: Execution) -> str:
        told = _UNENDING[execution.trouble]
        waits = []
        for thread, awaited in sorted(execution.waiting.items()):
            op, args = self.scenario.threads[thread][len(execution.logs[thread])]
            waits.append(f"thread {thread} waits in {describe((op, args))} for {awaited}")
        return f"{told}: {', '.join(waits)}" if waits else told

    def _answers(self, execution: Execution) -> tuple[Any, ...]:
        """The answers of all completed calls, thread by thread. Snapshots are read before and after a change of
        everything.
        """
        deferred = [answer for log in execution.logs for _, _, answer in log if type(answer) is Deferred]
        if deferred:
            for each in deferred:
                each.first = each.read()
            self._stir()
        found, normalise = [], self.spec.normalise
        for calls, log in zip(self._calls, execution.logs, strict=True):
            for (op, _), (_, _, answer) in zip(calls, log, strict=False):
                seen = answer.answer() if type(answer) is Deferred else answer
                found.append(seen if type(seen) is Raised else normalise(op, seen))
        return tuple(found)

    def _verdict(self, execution: Execution, answers: tuple[Any, ...], look: Look) -> tuple[str, str]:
        if not is_linearizable(self._operations(execution, answers, look), self.spec):
            return "history", "the history is not linearizable"
        return ("structure", look.broken) if look.broken else ("", "")

    def _finding(
        self, execution: Execution, kind: str, trouble: str, answers: tuple[Any, ...], look: Look = UNSEEN_LOOK
    ) -> Finding:
        operations = renumbered(self._operations(execution, answers, look))
        header = {"spec": name_of(self.spec), **self.spec.options(), "threads": len(self.scenario.threads)}
        return Finding(self.scenario, tuple(execution.order), kind, trouble, History(operations, header))

    def _operations(self, execution: Execution, answers: tuple[Any, ...], look: Look) -> list[Operation]:
        """The history: calls left unfinished before the start, the threads' calls, and the look at the end."""
        found = list(self.before)
        told = iter(answers)
        for thread, (calls, log) in enumerate(zip(self._calls, execution.logs, strict=True)):
            for (op, args), (called, returned, _) in zip(calls, log, strict=False):
                found.append(Operation(len(found), thread, called, returned, op, args, next(told, UNSEEN)))
            if execution.begun[thread] >= 0:
                op, args = calls[len(log)]
                found.append(Operation(len(found), thread, execution.begun[thread], None, op, args, UNSEEN))
        for end, (op, args, answer) in enumerate(look.calls, start=len(execution.order)):
            found.append(Operation(len(found), "main", 2 * end, 2 * end + 1, op, args, answer))
        return found


_UNENDING: Final[Mapping[str, str]] = {
    "livelock": "no call returns any more: the threads go in circles",
    "deadlock": "no thread gets any further",
    "afterwards": "a call that runs alone, after the others, does not return",
}


# -------------------------------------------------------------------------------------------- without a specification


_MOST_WAITS: Final = 2_000


class Alone(OfCalls):
    """What the object itself answers if one thread makes the calls. To be used within the exploration of it."""

    def __init__(self, bound: Callable[[Any, str], Callable[..., Any]], factory: Callable[[], Any]) -> None:
        super().__init__()
        self._bound, self._factory, self._context = bound, factory, copy_context()
        self._seam: Any = None
        self._state: Any = None

    def live_in(self, seam: Seam, plain: PlainState) -> None:
        """Make the calls on this seam."""
        self._seam, self._state = seam, plain

    def _learn(self, calls: Calls) -> None:
        kept: list[Any] = []
        answer = self._made(calls, kept)
        # These live on meanwhile, so that an `id` is another one: they take the memory which was freed last.
        kept += [object() for _ in range(8)] + [bytes(size) for size in range(0, 480, 8)]
        self.demand_equal(calls, answer, self._made(calls, kept))
        self._known[calls] = answer

    def _made(self, calls: Calls, kept: list[Any]) -> Any:
        """The answer to the last of these calls, which are made on a fresh object; that goes into `kept`."""
        seam, plain = self._seam, self._state
        before, clock, callers, answer = seam.before, seam.clock, seam.callers, None
        one, contexts = _Lonely(seam), defaultdict[int, Context](Context, {MAIN: self._context.copy()})
        seam.before, seam.scheduler, seam.clock, seam.callers = None, one, 0.0, {}
        plain.alone_begins()
        try:
            made = contexts[MAIN].run(self._factory)
            kept.append(made)
            for op, args in calls:
                one.by, plain.now.rounds = op.by if type(op) is By else MAIN, 0
                try:
                    answer = contexts[one.by].run(self._bound(made, op), *fresh(args))
                except ANSWERS as error:
                    answer = error
                if one.would_wait:  # what the object raised on its way out is no answer
                    return WAITS
            # While it is as the call left it: what was filled by a method is emptied again in the end.
            is_raised = isinstance(answer, ANSWERS)
            return freeze(answer) if is_raised else self.normalise(calls[-1][0], as_it_is(answer))
        except WouldWait:
            return WAITS
        finally:
            plain.alone_ends()
            seam.before, seam.scheduler, seam.clock, seam.callers = before, None, clock, callers


class _Lonely(OneThread):
    """The scheduler of a thread that is alone: whoever waits would wait for ever."""

    alone = True
    would_wait = False
    by = MAIN
    """Whose call is made."""
    _waits = 0

    def caller(self) -> int:
        """As `Seam` says of `caller`."""
        return self.by

    def park(self, _: Any, timeout: float | None) -> bool:
        """As `Machine.park`."""
        self._waits += 1
        if timeout is None or self._waits > _MOST_WAITS:
            self.would_wait = True
            raise WouldWait
        return super().park(_, timeout)


# --------------------------------------------------------------------------------------------------------- any object


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


_MOST_STEPS: Final = 20_000
"""Steps without the return of any call: ordinary code may take thousands, in a loop over a container."""
_one_at_a_time: Final = threading.Lock()


@cache
def _coroutines() -> Coroutines:
    """One set for all explorations."""
    return new_coroutines()


class ObjectMachine(Machine):
    """A machine for any object, and the primitives that are explored on it."""

    def __init__(self, seam: Seam, primitives: ExploredThreading) -> None:
        super().__init__(seam, _coroutines())
        self.primitives, self.fair = primitives, True
        self.plain: PlainState = cast("PlainState", None)
        """That of the subject: there is one while anything runs."""
        self.tell: Tell = lambda *_: None
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
        if code is not None and code.co_filename.startswith(PACKAGE) and told.exc_type is not NewCode:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(me, ctypes.py_object(told.exc_type))
        elif not issubclass(told.exc_type, NewCode):
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
            machine = ObjectMachine(seam, primitives)
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
                return copy_context().run(factory)

        plain.expect(factory, made_alone())
        plain.begin_again()
        made = made_alone()
        if is_used_whole(module_of(type(made))):
            raise ValueError(
                f"a {type(made).__name__} cannot be explored, since each of its calls is one step: "
                "use stress.run for it"
            )
        yield Subject(factory, spec, check, plain)


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
        self._bound = [
            [(subject.actions[op] if op in subject.actions else caller_of(op), args) for op, args in calls]
            for calls in scenario.threads
        ]

    def run(self, strategy: Strategy) -> tuple[Execution, Finding | None]:
        """As `Experiment.run`. Variables of the caller's context that are set go with the execution."""
        return copy_context().run(super().run, strategy)

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
