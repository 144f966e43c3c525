"""Ordinary Python under every schedule: locks and similar objects, plain attributes, containers, hidden state."""

from __future__ import annotations

import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from random import Random
from threading import Condition, Lock
from typing import Any, ClassVar

import pytest

import stress
from ctrie import AtomicReference
from stress import Counter, Scenarios, Spec, Verdict, explore
from stress.explorer import outliving
from stress.explorer.outliving import Snapshot

pytestmark = pytest.mark.once  # Python that is the same everywhere

INCREMENT: list[Any] = [("increment",)]
TWICE: list[Any] = [INCREMENT, INCREMENT]
REAL_LOCK = threading.Lock


class Plain:
    """A counter that loses updates if several threads use it."""

    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        self.n += 1
        return self.n

    def value(self) -> int:
        return self.n


class UnderLock(Plain):
    make: ClassVar[Callable[[], Any]] = staticmethod(lambda: threading.Lock())

    def __init__(self) -> None:
        super().__init__()
        self.lock = self.make()

    def increment(self) -> int:
        with self.lock:
            return super().increment()

    def value(self) -> int:
        with self.lock:
            return super().value()


def of_default(make: Callable[[], Any] = Lock) -> UnderLock:
    class Here(UnderLock):
        def __init__(self) -> None:
            super().__init__()
            self.lock = make()

    return Here()


class OfAttribute(UnderLock):
    make = staticmethod(threading.RLock)


class OfClass(Plain):
    lock = threading.Lock()

    def increment(self) -> int:
        with self.lock:
            return super().increment()


GUARD = threading.RLock()


class OfModule(Plain):
    def increment(self) -> int:
        with GUARD, GUARD:
            return super().increment()


class OfCondition(Plain):
    def __init__(self) -> None:
        super().__init__()
        self.changed = Condition()

    def increment(self) -> int:
        with self.changed:
            self.changed.notify_all()
            return super().increment()


class OfSemaphore(UnderLock):
    make = staticmethod(threading.Semaphore)


class OfBoundedSemaphore(UnderLock):
    make = staticmethod(lambda: threading.BoundedSemaphore(1))


def lately() -> Any:
    import threading as late

    return late.Lock()


def lately_by_name() -> Any:
    from threading import RLock

    return RLock()


BY_NAME: dict[str, Any] = {"lock": threading.Lock}
IN_ORDER: list[Any] = [threading.Lock]
FIXED: tuple[Any, ...] = (threading.Lock,)


class OfTables(UnderLock):
    lists: ClassVar[list[Any]] = [threading.Lock]
    ready = staticmethod(partial(threading.Lock))


ELSEWHERE = [
    lately, lately_by_name, lambda: BY_NAME["lock"](), lambda: IN_ORDER[0](), lambda: FIXED[0](),
    lambda: OfTables.lists[0](), lambda: OfTables.ready(),
]  # fmt: skip


class Spinning(Plain):
    """A counter behind a correct spin lock."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = AtomicReference(False)

    def increment(self) -> int:
        while not self.taken.compare_and_set(False, True):
            pass
        found = super().increment()
        self.taken.compare_and_set(True, False)
        return found


class TestLocks:
    @pytest.mark.parametrize(
        "factory",
        [UnderLock, of_default, OfAttribute, OfClass, OfModule, OfCondition, OfSemaphore, OfBoundedSemaphore, Spinning],
    )
    def test_a_right_object_is_proved(self, factory: Callable[[], Any]) -> None:
        outcome = explore(factory, Counter(), TWICE)
        assert outcome, outcome.report()
        assert 2 <= outcome.executions < 20

    @pytest.mark.parametrize("make", ELSEWHERE)
    def test_that_are_made_by_other_names(self, make: Callable[[], Any]) -> None:
        class Made(UnderLock):
            def __init__(self) -> None:
                super().__init__()
                self.lock = make()

        tables = BY_NAME, IN_ORDER, FIXED, OfTables.lists, OfTables.ready
        before = repr(tables)

        outcome = explore(Made, Counter(), TWICE)
        assert outcome, outcome.report()
        assert outcome.executions == 2
        assert repr(tables) == before
        assert sys.modules["threading"] is threading

    def test_three_threads(self) -> None:
        outcome = explore(UnderLock, Counter(), [INCREMENT, INCREMENT, [("value",)]])

        assert outcome, outcome.report()

    def test_afterwards_all_is_as_it_was(self) -> None:
        before = OfClass.lock, GUARD, UnderLock.increment.__code__

        assert explore(OfClass, Counter(), TWICE)
        assert (OfClass.lock, GUARD, UnderLock.increment.__code__) == before
        assert threading.Lock is REAL_LOCK is Lock
        assert of_default.__defaults__ == (REAL_LOCK,)

    def test_an_object_that_holds_two_locks_is_a_deadlock_and_says_who_waits(self) -> None:
        class Crosswise(Plain):
            def __init__(self) -> None:
                super().__init__()
                self.a, self.b = threading.Lock(), threading.Lock()

            def increment(self) -> int:
                with self.a, self.b:
                    return super().increment()

            def decrement(self) -> int:
                with self.b, self.a:
                    self.n -= 1
                    return self.n

        outcome = explore(Crosswise, Counter(), [INCREMENT, [("decrement",)]])

        assert outcome.summary.startswith("NOT all right: a deadlock;")
        report = outcome.report()
        assert "thread 0 waits in increment() for a Lock that thread 1 holds" in report
        assert "thread 1 waits in decrement() for a Lock that thread 0 holds" in report
        again = explore(Crosswise, Counter(), [INCREMENT, [("decrement",)]], replay=outcome.token)
        assert again.verdict is Verdict.ILLEGAL

    def test_a_lock_that_is_never_released_is_a_deadlock(self) -> None:
        class Forgetful(UnderLock):
            def increment(self) -> int:
                self.lock.acquire()
                return Plain.increment(self)

        assert "a deadlock" in explore(Forgetful, Counter(), TWICE).summary

    def test_a_spin_lock_is_no_livelock_unless_its_holder_stops(self) -> None:
        assert explore(Spinning, Counter(), TWICE)
        assert "a livelock" in explore(Spinning, Counter(), TWICE, stops=True).summary


class Meeting:
    """An object with the other things that threads wait for, and with a value of each thread's own."""

    def __init__(self) -> None:
        self.event, self.barrier = threading.Event(), threading.Barrier(2)
        self.mine = threading.local()

    def wait(self) -> bool:
        return self.event.wait()

    def look(self) -> bool:
        return self.event.wait(timeout=1)

    def set(self) -> bool:
        self.event.set()
        return True

    def meet(self) -> bool:
        return self.barrier.wait() >= 0

    def remember(self, what: int) -> bool:
        self.mine.what = what
        self.event.is_set()
        return bool(self.mine.what == what) and threading.current_thread().ident == threading.get_ident()


class Incomparable:
    """Raises if it is compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise ZeroDivisionError


class Yes(Spec):
    initial = 0

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return state, True


class TestWhatElseThreadsWaitFor:
    def test_an_event(self) -> None:
        assert explore(Meeting, Yes(), [[("wait",)], [("wait",)], [("set",)]])

    def test_a_timeout_may_be_over_at_any_time(self) -> None:
        assert explore(Meeting, Yes(), [[("look",)], [("set",)]]).verdict is Verdict.ILLEGAL
        assert not explore(Meeting, Yes(), [[("look",)], [("remember", 1)]])

    def test_a_barrier(self) -> None:
        assert explore(Meeting, Yes(), [[("meet",)], [("meet",)]])
        assert "a deadlock" in explore(Meeting, Yes(), [[("meet",)], [("set",)]]).summary

    def test_what_is_local_to_a_thread(self) -> None:
        assert explore(Meeting, Yes(), [[("remember", 1)], [("remember", 2)]])


class TestPlainState:
    def test_an_attribute_is_read_and_written_in_two_steps(self) -> None:
        outcome = explore(Plain, Counter(), TWICE)

        assert outcome.verdict is Verdict.ILLEGAL
        report = outcome.report()
        assert "n: read" in report
        assert "n: write" in report

    def test_what_pytest_keeps_is_not_put_back(
        self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A module of tests can name pytest's session, and with it all tests. It goes on while an object is explored."""
        monkeypatch.setattr(sys.modules[__name__], "SESSION", [request.session], raising=False)
        before = Snapshot()
        monkeypatch.setattr(request.session, "changed_meanwhile", True, raising=False)

        before.put_back()

        assert hasattr(request.session, "changed_meanwhile")

    def test_of_modules_is_copied_without_a_comparison(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kept = [Incomparable(), {"a": Incomparable()}]
        monkeypatch.setattr(sys.modules[__name__], "KEPT", kept, raising=False)
        before = Snapshot()
        first, *_ = kept
        kept.append(Incomparable())
        before.put_back()
        assert len(kept) == 2
        assert kept[0] is first

    def test_of_too_large_modules_is_not_known_to_be_put_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(outliving, "_MOST", 10)
        outcome = explore(UnderLock, Counter(), TWICE)
        assert outcome.verdict is Verdict.UNKNOWN
        assert "hold more objects than can be put back" in outcome.summary

    def test_also_between_references(self) -> None:
        class Mixed(Plain):
            def __init__(self) -> None:
                super().__init__()
                self.a, self.b = AtomicReference(0), AtomicReference(0)

            def _add(self, mine: Any) -> int:
                mine.load()
                n = self.n
                mine.load()
                self.n = n + 1
                return n + 1

            def increment(self) -> int:
                return self._add(self.a)

            def add(self) -> int:
                return self._add(self.b)

        assert explore(Mixed, Counter(), [INCREMENT, [("add",)]]).verdict is Verdict.ILLEGAL

    @pytest.mark.parametrize("make", [list, deque])
    def test_a_container_is_looked_at_and_changed_in_two_steps(self, make: Any) -> None:
        class Stack:
            def __init__(self) -> None:
                self.items = make()

            def put(self, item: int) -> None:
                self.items.append(item)

            def get(self) -> Any:
                if self.items:
                    return self.items.pop()
                return None

        outcome = explore(Stack, Impatient(), [[("put", 1), ("get",)], [("get",)]])

        assert outcome.verdict is Verdict.ILLEGAL
        assert "raised IndexError" in outcome.report()

    def test_a_dictionary(self) -> None:
        class Names:
            def __init__(self) -> None:
                self.known: dict[int, int] = {}

            def add(self, name: int) -> bool:
                if name in self.known:
                    return False
                self.known[name] = 1
                return True

        class OfOneStep(Names):
            def add(self, name: int) -> bool:
                mark = object()
                return self.known.setdefault(name, mark) is mark  # type: ignore[arg-type]

        threads: list[Any] = [[("add", 1)], [("add", 1)]]

        assert explore(Names, stress.Set(), threads).verdict is Verdict.ILLEGAL
        assert explore(OfOneStep, stress.Set(), threads)

    def test_what_never_changes_is_no_step(self) -> None:
        class Total:
            def __init__(self) -> None:
                self.n = AtomicReference(0)

            def increment(self) -> int:
                while True:
                    n = self.n.load()
                    if self.n.compare_and_set(n, n + 1):
                        return int(n) + 1

        assert explore(Total, Counter(), TWICE).executions == 4

    def test_code_without_a_source_is_explored(self) -> None:
        names: dict[str, Any] = {"threading": threading}
        exec(
            "class Hidden:\n"
            "    def __init__(self): self.lock, self.n = threading.Lock(), 0\n"
            "    def increment(self):\n"
            "        with self.lock:\n"
            "            self.n += 1\n"
            "            return self.n\n"
            "class Wrong(Hidden):\n"
            "    def increment(self):\n"
            "        self.n += 1\n"
            "        return self.n\n",
            names,
        )

        assert explore(names["Hidden"], Counter(), TWICE)
        assert explore(names["Wrong"], Counter(), TWICE).verdict is Verdict.ILLEGAL

    def test_what_runs_without_steps_is_named_and_nothing_is_proved(self) -> None:
        class Compiled(UnderLock):
            def increment(self) -> int:
                with self.lock:
                    exec(compile("self.n += 1", "<made in the call>", "exec"))
                    return self.n

        outcome = explore(Compiled, Counter(), TWICE)

        assert outcome.verdict is Verdict.UNKNOWN
        assert "<module> ran without steps (<made in the call>:1" in outcome.summary


WARM: set[str] = set()


class OfClassState:
    warm: ClassVar[set[str]] = set()

    def __init__(self) -> None:
        self.n = AtomicReference(0)

    def increment(self) -> int:
        if "x" not in self.warm:
            self.warm.add("x")
            n = self.n.load()
            self.n.compare_and_set(n, n + 1)
            return int(n) + 1
        while True:
            n = self.n.load()
            if self.n.compare_and_set(n, n + 1):
                return int(n) + 1


class OfModuleState(OfClassState):
    def increment(self) -> int:
        if "x" not in WARM:
            WARM.add("x")
        return super().increment()


class TestDrift:
    @pytest.mark.parametrize("wrong", [OfClassState, OfModuleState])
    def test_state_that_survives_an_execution_is_put_back(self, wrong: type) -> None:
        assert explore(wrong, Counter(), TWICE).verdict is Verdict.ILLEGAL
        assert not OfClassState.warm
        assert not WARM

    def test_a_first_schedule_that_is_another_one_in_the_end_is_reported(self) -> None:
        made = iter(range(1_000_000))

        class Ageing:
            def __init__(self) -> None:
                self.n = AtomicReference(0)

            def increment(self) -> int:
                for _ in range(1 + (next(made) > 8)):
                    self.n.load()
                while True:
                    n = self.n.load()
                    if self.n.compare_and_set(n, n + 1):
                        return int(n) + 1

        with pytest.raises(ValueError, match="does not do the same each time"):
            explore(Ageing, Counter(), TWICE)

    @pytest.mark.parametrize("which", [{}, {"preemptions": 1}, {"samples": 400}, {"stops": True}])
    def test_an_object_that_draws_what_it_does_is_reported(self, which: dict[str, Any]) -> None:
        random = Random(1)
        drawn = iter([random.random() < 0.5 for _ in range(100_000)])

        class Moody:
            def __init__(self) -> None:
                self.n, self.extra = AtomicReference(0), next(drawn)

            def increment(self) -> int:
                while True:
                    n = self.n.load()
                    if self.extra:
                        self.n.load()
                    if self.n.compare_and_set(n, n + 1):
                        return int(n) + 1

        with pytest.raises(ValueError, match="does not do the same each time"):
            explore(Moody, Counter(), TWICE, **which)

    @pytest.mark.parametrize("which", [{"preemptions": 2}, {"stops": True}])
    def test_an_object_that_did_otherwise_once_is_reported(self, which: dict[str, Any]) -> None:
        made = iter(range(1_000_000))

        class Once:
            def __init__(self) -> None:
                self.odd, self.even, self.is_odd = AtomicReference(0), AtomicReference(0), next(made) == 5

            def increment(self) -> int:
                here = self.odd if self.is_odd else self.even
                while True:
                    n = here.load()
                    if here.compare_and_set(n, n + 1):
                        return int(n) + 1

        with pytest.raises(ValueError, match="begins as an earlier one"):
            explore(Once, Counter(), TWICE, **which)


class TestTime:
    def test_a_call_that_goes_in_circles_without_a_step_does_not_outlive_the_duration(self) -> None:
        class Endless(UnderLock):
            def increment(self) -> int:
                with self.lock:
                    self.n += 1
                while True:
                    pass

        began = time.monotonic()
        outcome = explore(Endless, Counter(), TWICE, duration=0.5)

        assert outcome.verdict is Verdict.UNKNOWN
        assert time.monotonic() - began < 30
        assert "a loop goes round and round" in explore(Endless, Counter(), TWICE, duration=60).summary


class Blocking:
    """The standard library's queue, with two places."""

    def __init__(self) -> None:
        self.queue: queue.Queue[Any] = queue.Queue(2)

    def put(self, item: Any) -> None:
        self.queue.put(item)

    def get(self) -> Any:
        return self.queue.get()


class BlockingTogether(Blocking):
    """The same queue, but two threads are certain to be in their first calls at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.barrier, self.here = threading.Barrier(2), threading.local()

    def meet(self) -> None:
        if not hasattr(self.here, "met"):
            self.here.met = True
            self.barrier.wait()

    def put(self, item: Any) -> None:
        self.meet()
        super().put(item)

    def get(self) -> Any:
        self.meet()
        return super().get()


class BlockingSpec(Spec):
    initial: ClassVar[Any] = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "put":
            return ((*state, *args), None) if len(state) < 2 else stress.WAITS
        return (state[1:], state[0]) if state else stress.WAITS


class Impatient(BlockingSpec):
    """The same specification, but `get` does not wait."""

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        return (state, None) if op == "get" and not state else super().step(state, op, args)


class TestWaiting:
    @pytest.mark.parametrize(
        "threads",
        [
            [[("get",)], [("get",)]],
            [[("put", 1), ("put", 2), ("put", 3)], [("get",)]],
            [[("put", 1), ("put", 2), ("put", 3)]],
            [[("put", 1), ("get",)], [("get",), ("put", 2)]],
        ],
    )
    def test_who_waits_as_the_specification_says_is_right(self, threads: Any) -> None:
        outcome = explore(Blocking, BlockingSpec(), threads)

        assert outcome, outcome.report()

    def test_who_waits_where_it_should_not_is_in_a_deadlock(self) -> None:
        outcome = explore(Blocking, Impatient(), [[("get",)], [("put", 1)]])

        assert "a deadlock" not in outcome.summary
        assert "a deadlock" in explore(Blocking, Impatient(), [[("get",)], [("get",)]]).summary

    def test_a_wake_up_that_is_lost_is_a_deadlock(self) -> None:
        class Lossy:
            def __init__(self) -> None:
                self.items: deque[Any] = deque()
                self.changed = threading.Condition()

            def put(self, item: Any) -> None:
                with self.changed:
                    if not self.items:
                        self.changed.notify()
                    self.items.append(item)

            def get(self) -> Any:
                with self.changed:
                    while not self.items:
                        self.changed.wait()
                    return self.items.popleft()

        producers: list[Any] = [[("put", 1), ("put", 2)], [("get",)], [("get",)]]
        outcome = explore(Lossy, BlockingSpec(), producers, preemptions=2)

        assert "a deadlock" in outcome.summary
        assert "waits in get() for a notify" in outcome.report()


class TestWaitingOfRealThreads:
    @pytest.mark.parametrize("gets", [1, 3])
    def test_who_waits_as_the_specification_says_is_right(self, gets: int) -> None:
        operations = [("put", stress.unique), *[("get",)] * gets]
        outcome = stress.run(BlockingTogether, BlockingSpec(), operations, rounds=5, duration=None, patience=60, seed=1)

        assert outcome, outcome.report()
        assert outcome.rounds == 5

    def test_who_waits_where_it_should_not_hangs(self) -> None:
        outcome = stress.run(Blocking, Impatient(), [("get",)], duration=5, patience=0.5, seed=1)

        assert "nothing has moved" in outcome.summary

    def test_the_calls_of_a_round_can_all_return(self) -> None:
        workload = stress.Workload(Blocking, BlockingSpec(), [("put", stress.unique), ("get",)])
        plans = workload.plans(Random(1), threads=3, rounds=10, length=4)

        for at in range(10):
            calls = [op for plan in plans for op, _ in plan[at]]
            assert len(calls) == 12
            assert -2 <= calls.count("put") - calls.count("get") <= 2


class TestGeneratedScenarios:
    def test_a_fault_is_found_from_the_operations_alone(self) -> None:
        outcome = explore(Plain, Counter(), [("increment",), ("value",)], seed=1)

        assert outcome.verdict is Verdict.ILLEGAL
        assert "scenario" in outcome.summary
        assert "To see it again: python -m stress replay o1." in outcome.report()

    def test_a_right_object_passes(self) -> None:
        outcome = explore(
            UnderLock, Counter(), Scenarios([("increment",), ("value",)], scenarios=20, executions=100), seed=1
        )

        assert outcome, outcome.report()
        assert "20 scenarios of 2 threads" in outcome.summary

    def test_what_is_found_can_be_had_again_by_what_the_report_says(self) -> None:
        outcome = explore(lambda: Plain(), Counter(), Scenarios([("increment",)], before=3, after=3), seed=3)
        said = outcome.report().split("To see it again: stress.explore(..., ")[1].strip().removesuffix(")")
        named: dict[str, Any] = {}
        exec(f"def call(*threads, **named): return threads, named\nfound = call({said})", named)
        (threads,), options = named["found"]

        assert explore(Plain, Counter(), threads, **options).verdict is Verdict.ILLEGAL

    def test_threads_may_have_roles_and_calls_may_wait(self) -> None:
        scenarios = Scenarios((), roles=[[("put", stress.unique)], [("get",)]], calls=3, scenarios=15, executions=60)
        outcome = explore(Blocking, BlockingSpec(), scenarios, seed=1)

        assert outcome, outcome.report()

    def test_the_seed_decides(self) -> None:
        reports = {explore(Plain, Counter(), [("increment",), ("value",)], seed=5).token for _ in range(2)}

        assert len(reports) == 1

    @pytest.mark.parametrize("wrong", [{"threads": 0}, {"calls": 0}, {"before": -1}, {"scenarios": 0}])
    def test_what_makes_no_sense_is_refused(self, wrong: dict[str, int]) -> None:
        with pytest.raises(ValueError, match="must be at least"):
            Scenarios([("increment",)], **wrong)  # type: ignore[arg-type]


def test_the_queues_of_the_standard_library_follow() -> None:
    class Others:
        def __init__(self) -> None:
            self.lifo: Any = queue.LifoQueue()
            self.first: Any = queue.PriorityQueue()
            self.simple: Any = SimpleQueue()

        def exchange(self, item: int) -> bool:
            for each in (self.lifo, self.first, self.simple):
                each.put(item)
                each.get()
            return True

    assert explore(Others, Yes(), [[("exchange", 1)], [("exchange", 2)]], preemptions=1)
