"""Ctrl-C, a signal by which a test runner ends a test, or the end of the time may come in the middle of a step: it is seen,
and leaves nothing behind."""

from __future__ import annotations

import cProfile
import functools
import random
import signal
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

import stress
from stress import Verdict, explore
from stress.explorer import coroutines, entered
from stress.explorer.experiment import garbage_is_kept
from stress.explorer.substitution import all_functions
from tests.stress.objects import LockedCounter as Counter

pytestmark = pytest.mark.once  # the explorer's own rules, which are the same everywhere

TWICE: list[Any] = [[("increment",)], [("increment",)]]
LONG: list[Any] = [[("increment",)] * 4] * 4


class Late(BaseException):
    """What a test runner raises when a test takes too long."""


class TooLong(Exception):
    """The same, of a kind that could be an answer of the object."""


def interrupt() -> None:
    if not interrupted:
        interrupted.append(True)
        signal.raise_signal(signal.SIGALRM)


interrupted: list[bool] = []


class Interrupted(Counter):
    """Its first call is interrupted in the middle of a step."""

    def increment(self) -> int:
        interrupt()
        return super().increment()


class InterruptedWithin(Counter):
    """The same within a block that is left with a step, so that others go on before the interruption is seen."""

    def __init__(self) -> None:
        super().__init__()
        self.other = threading.Lock()

    def increment(self) -> int:
        with self.other:
            if self.n:
                interrupt()
            return super().increment()


class InterruptedAndDeaf(Counter):
    """The same, and catches what the handler raises."""

    def increment(self) -> int:
        try:
            interrupt()
        except BaseException:  # noqa: BLE001 - as careless code does
            return 7
        return super().increment()


@contextmanager
def alarms(raised: type[BaseException]) -> Iterator[None]:
    """Within the block, a signal raises an exception, by a handler in a file whose functions are explored."""

    def late(*_: object) -> None:
        tell()

    def tell() -> None:
        raise raised

    before = signal.signal(signal.SIGALRM, late)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        interrupted.clear()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_it_is_seen_wherever_it_comes_and_leaves_nothing_behind() -> None:
    """Where the interpreter drops it, as in a callback of the collector, it is told, and raised again all the same."""
    drawn = random.Random(20)
    with alarms(Late):
        for _ in range(8):
            signal.setitimer(signal.ITIMER_REAL, drawn.uniform(0.03, 0.2))
            with pytest.raises(Late):
                explore(Counter, stress.Counter(), LONG)
        assert explore(Counter, stress.Counter(), TWICE).verdict is Verdict.LINEARIZABLE


def test_it_is_seen_where_an_exploration_begins_and_a_thread_is_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter drops what is raised where a weak reference ends; code is looked through before the first step."""

    def looked_through() -> Any:
        weakref.finalize(Late(), signal.raise_signal, signal.SIGALRM)
        return garbage_is_kept()

    monkeypatch.setattr("stress.explorer.experiment.garbage_is_kept", looked_through)
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    with alarms(Late), pytest.raises(Late):
        explore(Counter, stress.Counter(), TWICE)


@pytest.mark.parametrize(
    ("factory", "raised"),
    [
        (Interrupted, Late), (Interrupted, KeyboardInterrupt), (InterruptedWithin, TooLong), (InterruptedAndDeaf, Late),
        (InterruptedAndDeaf, TooLong),
    ],
)  # fmt: skip
def test_a_handler_is_no_part_of_the_object(factory: Any, raised: type[BaseException]) -> None:
    with alarms(raised), pytest.raises(raised):
        explore(factory, stress.Counter(), [[("increment",)]] * 3)


class Alarm:
    def ring(self, *_: object) -> None:
        raise TooLong

    __call__ = ring


@pytest.mark.parametrize("handler", [Alarm().ring, Alarm(), functools.partial(Alarm().ring)])
def test_a_handler_may_be_any_callable(handler: Any) -> None:
    with alarms(Late):
        signal.signal(signal.SIGALRM, handler)
        with pytest.raises(TooLong):
            explore(InterruptedAndDeaf, stress.Counter(), [[("increment",)]] * 3)
        assert signal.getsignal(signal.SIGALRM) == handler


def test_a_handler_that_raises_nothing_changes_nothing() -> None:
    heard: list[object] = []
    with alarms(Late):
        signal.signal(signal.SIGALRM, lambda *given: heard.append(given))
        outcome = explore(Interrupted, stress.Counter(), TWICE)
    assert heard
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


def test_it_is_not_lost_in_the_specification() -> None:
    """Where an exception of its steps has a meaning."""

    class Interrupting(stress.Counter):
        def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
            interrupt()
            return super().step(state, op, args)

    with alarms(TooLong), pytest.raises(TooLong):
        explore(Counter, Interrupting(), TWICE)


def test_it_leaves_no_thread_of_the_system_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without greenlets, a body may run on in its thread: it has no turn among later ones."""
    monkeypatch.setattr(coroutines, "_PATIENCE", 0.05)
    threads, may_go_on, ran = coroutines.Threads(), threading.Event(), list[int]()

    def late(me: int) -> None:
        may_go_on.wait()
        threads.switch(me, 1)

    with alarms(Late):
        threads.start(late, 2)
        left = [each for each in threading.enumerate() if each.name == "explored-0"][-1]
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Late):
            threads.resume(0)
    threads.start(ran.append, 2)
    may_go_on.set()
    left.join(5)
    assert ran == []
    threads.resume(0)
    threads.resume(1)
    assert ran == [0, 1]
    threads.abandon()


class Endless(Counter):
    """Goes in circles without a step."""

    def increment(self) -> int:
        n = super().increment()
        while n:
            pass
        return n


def test_a_call_that_goes_in_circles_does_not_outlive_the_duration() -> None:
    began = time.monotonic()
    outcome = explore(Endless, stress.Counter(), TWICE, duration=0.5)
    assert outcome.verdict is Verdict.UNKNOWN
    assert time.monotonic() - began < 30


class EndsWithin(Counter):
    """A signal comes while a generator of the explorer's ends, where an exception goes no further."""

    def increment(self) -> int:
        ended = eval(compile("(0 for _ in ())", explore.__code__.co_filename, "eval"))
        sys.unraisablehook(cast("Any", SimpleNamespace(exc_type=Late, object=ended)))
        return super().increment()


def test_it_is_seen_where_a_generator_of_ours_ends() -> None:
    with pytest.raises(Late):
        explore(EndsWithin, stress.Counter(), TWICE)


def test_time_may_be_up_while_functions_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A free-threaded build must look everywhere, which takes seconds in a process full of objects."""
    looked: list[bool] = []
    names: dict[str, Any] = {"Counter": Counter, "WAYS": ["increment_of"]}
    exec("class FoundLate(Counter):\n    def increment(self): return globals()[WAYS[0]](self)", names)
    exec(compile("def increment_of(counter): return Counter.increment(counter)", "another file", "exec"), names)

    def without_end() -> list[Any]:
        while len(looked) == 2:  # the first round has begun
            pass
        looked.append(True)
        return all_functions()

    monkeypatch.setattr(entered, "all_functions", without_end)
    outcome = explore(names["FoundLate"], stress.Counter(), TWICE, duration=0.1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "time was up between two executions" in outcome.summary
    monkeypatch.undo()
    assert explore(Counter, stress.Counter(), TWICE).verdict is Verdict.LINEARIZABLE


def test_a_profiler_is_refused_in_a_sentence() -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        with pytest.raises(ValueError, match="a profiler is on"):
            explore(Counter, None, TWICE)
    finally:
        profiler.disable()
    assert explore(Counter, None, TWICE)
