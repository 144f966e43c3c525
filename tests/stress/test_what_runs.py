"""`stress.explore` sees what runs, however it is reached: small classes, of which the wrong ones must not be proved."""

from __future__ import annotations

import cProfile
import functools
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import stress
from stress import Verdict, explore
from stress.explorer import coroutines, stepped
from stress.explorer.entered import functions_of
from tests.stress.objects import LockedCounter, LossyCounter

pytestmark = pytest.mark.once  # a long process on a free-threaded build is too slow for campaigns of a second

TWICE: list[Any] = [[("increment",)], [("increment",)]]
PUT_AND_READ: list[Any] = [[("put", 1)], [("read",)]]
PRELUDE = """
import array, bisect, collections, contextlib, dataclasses, functools, heapq, itertools, operator, queue, sys, threading
import time, types
"""


class Pair(stress.Spec):
    """Two values that are put together, and read together."""

    initial = (0, 0)

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return ((args[0], args[0]), None) if op == "put" else (state, state)


def made(body: str) -> Any:
    """The class `Object` of a text: there is no source that could be read."""
    names: dict[str, Any] = {"__name__": "small_classes"}
    exec(PRELUDE + body, names)
    return names["Object"]


LISTED = """
class Object:
    def __init__(self): self.l = [0, 0]
    def put(self, x): self.l[0] = x; self.l[1] = x
    def read(self): return READ
"""
READS = [
    "tuple(self.l)", "(*self.l,)", "tuple(self.l[:])", "tuple(self.l.copy())", "tuple([v for v in self.l])",
    "tuple(v for v in self.l)", "tuple(v for _, v in enumerate(self.l))", "tuple(v for v, _ in zip(self.l, 'ab'))",
    "tuple(map(lambda v: v, self.l))", "tuple(list(reversed(self.l))[::-1])", "tuple(itertools.islice(self.l, 2))",
    "(self.l[0], self.l[1])", "operator.itemgetter(0, 1)(self.l)", "functools.reduce(lambda a, b: (a, b), self.l)",
    "(lambda it: (next(it), next(it)))(iter(self.l))", "tuple(filter(lambda v: True, self.l))",
]  # fmt: skip
WRONG_PAIRS = {
    "private names": """
class Object:
    def __init__(self): self.__x = self.__y = 0
    def put(self, x): self.__x = x; self.__y = x
    def read(self): return self.__x, self.__y
""",
    "attributes of the class": """
class Object:
    x = y = 0
    def put(self, v): type(self).x = v; Object.y = v
    def read(self): return self.x, self.y
""",
    "variables of the module": """
x = y = 0
class Object:
    def put(self, v):
        global x
        x = v
        setattr(sys.modules[__name__], "y", v) if __name__ in sys.modules else globals().__setitem__("y", v)
    def read(self): return x, y
""",
    "setattr and getattr": """
class Object:
    def __init__(self): self.x = self.y = 0
    def put(self, v): setattr(self, "x", v); object.__setattr__(self, "y", v)
    def read(self): return getattr(self, "x"), operator.attrgetter("y")(self)
""",
    "a view of bytes": """
class Object:
    def __init__(self): self.a = bytearray(2); self.v = memoryview(self.a)
    def put(self, v): self.v[0] = v; self.v[1] = v
    def read(self): return tuple(self.a)
""",
    "a kept method": """
class Object:
    def __init__(self): self.l = [0, 0]; self.set = self.l.__setitem__
    def put(self, v): self.set(0, v); self.set(1, v)
    def read(self): return tuple(self.l)
""",
    "items of a view": """
class Object:
    def __init__(self): self.d = {"x": 0, "y": 0}
    def put(self, v): self.d["x"] = v; self.d["y"] = v
    def read(self):
        found = []
        for _, value in self.d.items(): found.append(value)
        return tuple(found)
""",
    "a generator that two threads use": """
class Object:
    def __init__(self): self.x = self.y = 0; self.g = self.both()
    def both(self):
        while True: yield self.x, self.y
    def put(self, v): self.x = v; self.y = v
    def read(self): return next(self.g)
""",
}
RIGHT_COUNTERS = {
    "a wait in a loop": """
class Object:
    def __init__(self): self.c, self.busy, self.n = threading.Condition(), False, 0
    def increment(self):
        with self.c:
            while self.busy: self.c.wait(timeout=1)
            self.busy = True
        self.n += 1
        n = self.n
        with self.c:
            self.busy = False
            self.c.notify_all()
        return n
""",
    "a lock of the class, and a dictionary": """
class Object:
    lock, totals = threading.Lock(), {}
    def __init__(self): self.key = "k"
    def increment(self):
        with self.lock:
            self.totals[self.key] = self.totals.get(self.key, 0) + 1
            return self.totals[self.key]
""",
    "a long loop": """
class Object:
    def __init__(self): self.lock, self.l, self.n = threading.Lock(), [], 0
    def increment(self):
        with self.lock:
            self.l.clear()
            for i in range(1200): self.l.append(i)
            self.n += 1
            return self.n
""",
    "a decorator that sleeps": """
def under_lock(method):
    @functools.wraps(method)
    def inner(self):
        time.sleep(60)
        with self.lock: return method(self)
    return inner
class Object:
    def __init__(self): self.lock, self.n = threading.Lock(), 0
    @under_lock
    def increment(self):
        self.n += 1
        return self.n
""",
}


@pytest.mark.parametrize("read", READS)
def test_a_read_item_by_item_may_be_torn(read: str) -> None:
    wrong = made(LISTED.replace("READ", read))
    one_step = "tuple(self.l)", "(*self.l,)", "tuple(self.l[:])", "tuple(self.l.copy())"
    outcome = explore(wrong, Pair(), PUT_AND_READ)

    assert outcome.verdict is Verdict.ILLEGAL, (read, read in one_step, outcome.summary)


@pytest.mark.parametrize("name", WRONG_PAIRS)
def test_a_wrong_pair_is_found(name: str) -> None:
    outcome = explore(made(WRONG_PAIRS[name]), Pair(), PUT_AND_READ)

    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary


@pytest.mark.parametrize("name", RIGHT_COUNTERS)
def test_a_right_counter_is_proved(name: str) -> None:
    outcome = explore(made(RIGHT_COUNTERS[name]), stress.Counter(), TWICE)

    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


def test_what_polls_under_a_lock_is_no_livelock() -> None:
    class Flag:
        def __init__(self) -> None:
            self.lock, self.ready = threading.Lock(), False

        def wait(self) -> str:
            while True:
                with self.lock:
                    if self.ready:
                        return "ok"

        def set(self) -> None:
            with self.lock:
                self.ready = True

    class Waits(stress.Spec):
        initial = False

        def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
            if op == "set":
                return True, None
            return (state, "ok") if state else stress.WAITS

    assert explore(Flag, Waits(), [[("wait",)], [("set",)]])


def test_a_profiler_is_refused_in_a_sentence() -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        with pytest.raises(ValueError, match="a profiler is on"):
            explore(LockedCounter, None, TWICE)
    finally:
        profiler.disable()
    assert explore(LockedCounter, None, TWICE)


def test_a_thread_of_its_own_is_refused_in_a_sentence() -> None:
    class Worker(threading.Thread):
        def run(self) -> None:
            pass

    class Starts:
        def __init__(self) -> None:
            self.n = 0

        def increment(self) -> int:
            worker = Worker()
            worker.start()
            worker.join()
            self.n += 1
            return self.n

    outcome = explore(Starts, stress.Counter(), TWICE)

    assert outcome.verdict is Verdict.UNKNOWN
    assert "starts a thread of its own" in outcome.summary


class TestWithoutASpecification:
    def test_some_order_of_the_calls_must_give_the_answers(self) -> None:
        assert explore(LossyCounter, None, TWICE).verdict is Verdict.ILLEGAL
        assert explore(LockedCounter, None, TWICE)

    def test_an_invariant_alone_and_threads_that_are_functions(self) -> None:
        def both(counter: Any) -> bool:
            return bool(counter.n == 2)

        wrong: list[Any] = [LossyCounter.increment, lambda counter: counter.increment()]

        assert explore(LossyCounter, None, wrong, invariant=both).verdict is Verdict.ILLEGAL
        assert explore(LockedCounter, None, [LockedCounter.increment, LockedCounter.increment], invariant=both)

    def test_references_made_by_a_call_at_the_start_have_names(self) -> None:
        from ctrie import AtomicReference

        class Cells:
            def __init__(self) -> None:
                self.cells: Any = None

            def make(self) -> None:
                self.cells = (AtomicReference(False), AtomicReference(False))

            def set(self, which: int, to: bool) -> None:
                self.cells[which].compare_and_set(not to, to)

            def both(self) -> tuple[bool, bool]:
                while True:
                    first = self.cells[0].load(), self.cells[1].load()
                    if first == (self.cells[0].load(), self.cells[1].load()):
                        return first

        class Two(stress.Spec):
            initial = (False, False)

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                if op == "set":
                    return tuple(args[1] if at == args[0] else each for at, each in enumerate(state)), None
                return state, None if op == "make" else state

        writes = [(0, True), (0, False), (1, True), (1, False), (0, True), (0, False), (1, True)]
        threads: list[Any] = [[("both",)], [("set", *each) for each in writes]]

        assert explore(Cells, Two(), threads, at_start=[("make",)]).verdict is Verdict.ILLEGAL


class Late(BaseException):
    """What a test runner raises when a test takes too long."""


class TooLong(Exception):
    """The same, of a kind that could be an answer of the object."""


class Interrupted(LockedCounter):
    """A counter whose first call is interrupted in the middle of a step."""

    def increment(self) -> int:
        if not interrupted:
            interrupted.append(True)
            signal.raise_signal(signal.SIGALRM)
        return super().increment()


class InterruptedWithin(LockedCounter):
    """The same within a block that is left with a step, so that others go on before the interruption is seen."""

    def __init__(self) -> None:
        super().__init__()
        self.other = threading.Lock()

    def increment(self) -> int:
        with self.other:
            if not interrupted and self.n:
                interrupted.append(True)
                signal.raise_signal(signal.SIGALRM)
            return super().increment()


class InterruptedAndDeaf(LockedCounter):
    """The same, and catches what the handler raises."""

    def increment(self) -> int:
        try:
            if not interrupted:
                interrupted.append(True)
                signal.raise_signal(signal.SIGALRM)
        except BaseException:  # noqa: BLE001 - as careless code does
            return 7
        return super().increment()


interrupted: list[bool] = []


class Alarm:
    def ring(self, *_: object) -> None:
        raise TooLong

    __call__ = ring


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


class TestInterruption:
    """Ctrl-C, or a signal by which a test runner ends a test, may come in the middle of a step."""

    def test_leaves_nothing_behind(self) -> None:
        with alarms(Late):
            for _ in range(3):
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                with pytest.raises(Late):
                    explore(LockedCounter, stress.Counter(), [[("increment",)] * 4] * 4)
                assert explore(LockedCounter, stress.Counter(), [[("increment",)]] * 2).verdict is Verdict.LINEARIZABLE

    @pytest.mark.parametrize("raised", [Late, TooLong, KeyboardInterrupt])
    @pytest.mark.parametrize("factory", [Interrupted, InterruptedWithin, InterruptedAndDeaf])
    def test_a_handler_is_no_part_of_the_object(self, factory: Any, raised: type[BaseException]) -> None:
        with alarms(raised), pytest.raises(raised):
            explore(factory, stress.Counter(), [[("increment",)]] * 3)

    @pytest.mark.parametrize("kind", ["method", "object", "partial"])
    def test_a_handler_may_be_any_callable(self, kind: str) -> None:
        handler: Any = {"method": Alarm().ring, "object": Alarm(), "partial": functools.partial(Alarm().ring)}[kind]
        with alarms(Late):
            signal.signal(signal.SIGALRM, handler)
            with pytest.raises(TooLong):
                explore(InterruptedAndDeaf, stress.Counter(), [[("increment",)]] * 3)
            assert signal.getsignal(signal.SIGALRM) == handler

    def test_is_not_lost_in_the_specification(self) -> None:
        """Where an exception of its steps has a meaning."""

        class Interrupting(stress.Counter):
            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                if not interrupted:
                    interrupted.append(True)
                    signal.raise_signal(signal.SIGALRM)
                return super().step(state, op, args)

        with alarms(TooLong), pytest.raises(TooLong):
            explore(LockedCounter, Interrupting(), [[("increment",)]] * 2)

    def test_a_handler_that_raises_nothing_changes_nothing(self) -> None:
        def quiet(*_: object) -> None:
            heard.append(len(heard))

        heard: list[int] = []
        with alarms(Late):
            signal.signal(signal.SIGALRM, quiet)
            outcome = explore(Interrupted, stress.Counter(), [[("increment",)]] * 2)
        assert heard
        assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary

    def test_is_seen_wherever_it_comes(self) -> None:
        drawn = random.Random(20)
        with alarms(Late):
            for _ in range(20):
                signal.setitimer(signal.ITIMER_REAL, drawn.uniform(0.03, 0.2))
                with pytest.raises(Late):
                    explore(LockedCounter, stress.Counter(), [[("increment",)] * 4] * 4)

    def test_leaves_no_thread_of_the_system_in_the_middle(self, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_time_may_be_up_while_functions_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A free-threaded build must look everywhere, which takes seconds in a process full of objects."""
    looked: list[bool] = []

    def without_end(codes: Any, roots: Any = ()) -> list[Any]:
        while len(looked) >= BEFORE_THE_FIRST_ROUND:
            pass
        looked.append(True)
        return functions_of(codes, roots)

    monkeypatch.setattr(stepped, "functions_of", without_end)
    outcome = explore(made(FOUND_LATE), stress.Counter(), TWICE, duration=0.1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "time was up between two executions" in outcome.summary
    monkeypatch.undo()
    assert explore(LockedCounter, stress.Counter(), TWICE).verdict is Verdict.LINEARIZABLE


BEFORE_THE_FIRST_ROUND = 1
FOUND_LATE = """
class Object:
    def __init__(self):
        self.lock, self.n = threading.Lock(), 0

    def increment(self):
        return globals()[WAYS[0]](self)

def _add(self):
    with self.lock:
        self.n += 1
        return self.n

WAYS = ["_add"]
"""
