"""Workloads: the object under stress, and the calls that its threads make.

An operation is written as a tuple: the name of a method and its arguments. An argument may be drawn anew for
every call:

    ("put", one_of("a", "b"), unique)
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Final

from stress.checker.waiting import after, may_wait
from stress.frozen_states import class_of
from stress.history import ANSWERS, Call, show, steady
from stress.of_calls import AnyAnswer
from stress.sequential import Sequential
from stress.source import PACKAGE, digests, module_of
from stress.spec import Spec
from stress.spec_check import as_instance


@dataclass(frozen=True)
class Draw:
    """An argument that is drawn for every call, from random numbers and from a supply of numbers that were never used
    before.
    """

    draw: Callable[[Random, Callable[[], int]], Any]


def one_of(*values: Any) -> Draw:
    """One of `values`, each as likely as the others."""
    return Draw(lambda random, _: random.choice(values))


unique: Final = Draw(lambda _, fresh: fresh())
"""An integer that no other call of the batch gets. So a read of this value tells which write it saw."""


def as_calls(operations: Any) -> tuple[Call, ...]:
    """Operations as pairs of a name and arguments.

    Raises:
        ValueError: one of them is not an operation.
    """
    calls = []
    for operation in (operations,) if isinstance(operations, str) else operations:
        if not isinstance(operation, (tuple, list)) or not operation or not isinstance(operation[0], str):
            raise ValueError(
                "an operation is a tuple of a method's name and its arguments, such as ('increment',) or "
                f"('put', 'a', 1), not {operation!r}"
            )
        calls.append((operation[0], tuple(map(_steady, operation[1:]))))
    return tuple(calls)


def _steady(argument: Any) -> Any:
    """An argument as it is kept.

    Raises:
        ValueError: it may change, and nothing tells its values apart.
    """
    try:
        found = steady(argument)
        hash(found)
    except TypeError as error:
        raise ValueError(
            f"an argument may be a list, a dict or a set, but what else may change can not ({error}): give what it is "
            f"made from, or let a method of the object make it: {show(argument)}"
        ) from None
    return found


def as_arguments(calls: Iterable[Call]) -> list[tuple[Any, ...]]:
    """The reverse: calls as tuples of a name and arguments."""
    return [(op, *args) for op, args in calls]


def refuse_misfits(subject: Any, calls: Iterable[Call]) -> None:
    """Refuse calls that the object cannot take. What they raise is no answer of it, but a mistake of the caller. Only
    the number of arguments counts, so they may still be drawn. A method whose signature cannot be read takes any.

    Raises:
        AttributeError: the object has no such method.
        ValueError: the method does not take as many arguments.
    """
    kind = type(subject).__name__
    for op, given in {(op, len(args)) for op, args in calls}:
        method = getattr(subject, op, None)
        if not callable(method):
            raise AttributeError(f"{kind} has no method {op!r}, which an operation names")
        try:
            # A wrapper counts with its own parameters: it may take others than what it wraps.
            signature = inspect.signature(method, follow_wrapped=False)
        except Exception:  # noqa: BLE001 - compiled methods may have none, and others may raise anything
            continue
        try:
            signature.bind(*[None] * given)
        except TypeError:
            names = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
            taken = signature.replace(parameters=names, return_annotation=signature.empty)
            number = "no arguments" if not given else f"{given} argument{'s' * (given > 1)}"
            raise ValueError(f"the operation {op!r} has {number}, but the method is {kind}.{op}{taken}") from None


def made_anew(factory: Callable[[], Any], reset: Callable[[], object] | None) -> Any:
    """An object, after what outlives objects was put back."""
    if reset is not None:
        reset()
    return factory()


@dataclass(frozen=True)
class Workload:
    """An object to put under stress.

    Args:
        factory: makes a fresh object, whose state is `spec.initial`.
        spec: the sequential object that it must behave like; None: like itself, if one thread alone calls it
            (`Sequential`).
        operations: what threads may call; write one twice to have it called twice as often.
        invariant: raises, or answers False, if something does not hold that must; called when no operation is running.
            Without a specification it is all that is demanded.
        name: its name in reports.
        roles: what each thread may call, if not all may call the same: a list of operations for each. If there are more
            threads, the next one has the first role again.
        reset: puts back what outlives objects, such as variables of modules; called before each object is made.
        at_start: calls to make on each object before its threads begin.
        at_end: calls to make when they have ended; their answers count like any other.
    """

    factory: Callable[[], Any]
    spec: Any
    operations: Sequence[tuple[Any, ...]]
    invariant: Callable[[Any], object] | None = None
    name: str = ""
    target: str = ""
    """Its reference, as `module:attribute`, if it is known."""
    roles: Sequence[Sequence[tuple[Any, ...]]] = ()
    reset: Callable[[], object] | None = None
    at_start: Sequence[tuple[Any, ...]] = ()
    at_end: Sequence[tuple[Any, ...]] = ()

    @property
    def everything(self) -> Sequence[tuple[Any, ...]]:
        """All operations that any thread may call."""
        return [operation for role in self.roles or [self.operations] for operation in role]

    @property
    def is_sequential(self) -> bool:
        """Whether the object is its own specification."""
        return isinstance(self.spec, Sequential)

    @property
    def given_spec(self) -> Any:
        """The specification, if one was given: what `explore` takes."""
        return None if isinstance(self.spec, (Sequential, AnyAnswer)) else self.spec

    @property
    def demand(self) -> dict[str, Any]:
        """The invariant, as `explore` takes it."""
        return {"check" if self.is_sequential else "invariant": self.invariant}  # the latter is all that is demanded

    @cached_property
    def waits_alone(self) -> bool:
        """Whether some calls wait where one thread alone makes them."""
        return bool(may_wait(self.spec, self._walk()))

    def made(self) -> Any:
        """An object in its start state."""
        return made_anew(self.factory, self.reset)

    def code(self) -> tuple[tuple[str, str], ...]:
        """The source files of the object and its specification, with a digest of each."""
        return digests(self.factory, class_of(self.spec))

    def broken(self, subject: Any) -> str:
        """The broken invariant of an object on which no call is running; empty if none is broken."""
        if self.invariant is None:
            return ""
        try:
            answer = self.invariant(subject)
        except ANSWERS as error:  # a check of a broken object may raise anything
            return f"{type(error).__name__}: {error}".rstrip(": ")
        return "the check answered False" if answer is False else ""

    def __post_init__(self) -> None:
        if not callable(self.factory):
            raise ValueError(f"a factory makes a fresh object at each call, and {self.factory!r} cannot be called")
        if self.reset is not None and not callable(self.reset):
            raise ValueError(f"`reset` puts back what outlives objects, and {self.reset!r} cannot be called")
        object.__setattr__(self, "spec", self._own() if self.spec is None else as_instance(self.spec))
        for operations in (self.operations, *self.roles, self.at_start, self.at_end):
            as_calls(operations)
        if not all(self.roles):
            raise ValueError("a role needs at least one operation")

    def _own(self) -> Spec:
        """What is demanded without a specification."""
        return Sequential(self.made) if self.invariant is None else AnyAnswer()

    def plans(
        self, random: Random, threads: int, rounds: int, length: int, *, anew: bool = False
    ) -> list[list[list[Call]]]:
        """The rounds of each thread, with `length` calls each; `anew`: each on an object of its own."""
        if not self.everything:
            raise ValueError("a workload needs at least one operation")
        fresh = itertools.count(1).__next__
        roles = self.roles or [self.operations]

        def call(thread: int) -> Call:
            return _drawn(random.choice(roles[thread % len(roles)]), random, fresh)

        if anew and rounds > 1:
            each = [self.plans(random, threads, 1, length) for _ in range(rounds)]
            return [[plans[thread][0] for plans in each] for thread in range(threads)]
        is_own = module_of(type(self.spec)).startswith(f"{PACKAGE}.")  # those of this package do not tell who waits
        if (self.is_sequential or not is_own) and self.waits_alone:
            return self._plans_that_end(random, threads, rounds, length, call)
        return [[[call(thread) for _ in range(length)] for _ in range(rounds)] for thread in range(threads)]

    def _walk(self) -> list[Call]:
        random, fresh = Random(0), itertools.count(1).__next__
        size = MOST_ALONE if self.is_sequential else _WALK
        return [_drawn(random.choice(self.everything), random, fresh) for _ in range(size) if self.everything]

    def _plans_that_end(
        self, random: Random, threads: int, rounds: int, length: int, call: Callable[[int], Call]
    ) -> list[list[list[Call]]]:
        """The same for operations that wait: in each round, all calls can return in at least one order. Whether they do
        is up to the threads. If they cannot, they wait as they should.
        """
        plans: list[list[list[Call]]] = [[] for _ in range(threads)]
        state = self.spec.initial
        for made in as_calls(self.at_start):
            state = next(iter(after(self.spec, state, made)), state)
        for _ in range(rounds):
            places = [thread for thread in range(threads) for _ in range(length)]
            random.shuffle(places)
            for plan in plans:
                plan.append([])
            for thread in places:
                for made in (call(thread) for _ in range(_TRIES)):
                    then = after(self.spec, state, made)
                    if then:
                        plans[thread][-1].append(made)
                        state = then[0]
                        break
        if not any(made for plan in plans for made in plan):
            names = ", ".join(sorted({op for op, *_ in self.everything}))
            raise ValueError(
                f"there is nothing to call: {names} would wait from the start, or take long. Let a call at the start "
                "(`at_start`) or another operation end their wait"
            )
        return plans


MOST_ALONE: Final = 12
"""Calls of all threads on one object that is its own specification: in a state all of them are made again."""
_WALK: Final = 60
"""Calls that are followed to find out which operations may have to wait."""
_TRIES: Final = 10


def _drawn(operation: Sequence[Any], random: Random, fresh: Callable[[], int]) -> Call:
    """A call of an operation."""
    op, *args = operation
    return op, tuple(_steady(arg.draw(random, fresh) if isinstance(arg, Draw) else arg) for arg in args)
