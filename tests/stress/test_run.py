"""Campaigns, `stress.run`: broken objects are refuted and explained, right ones are not accused, and where nothing can be
said an outcome says so and why. With a specification, and without one: then an answer is right if some order of the
calls on fresh objects gives it."""

from __future__ import annotations

import _thread
import itertools
import os
import queue
import random
import re
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import Mock

import pytest

import stress
from stress import Budget, Counter, Map, Outcome, Queue, Raised, Spec, SpecError, Subscriptions, Verdict, one_of, unique
from stress.processes import Tally
from stress.pursuit import _drawn
from stress.recorder.batch import Batch, Settings
from stress.recorder.campaign import run_workloads
from stress.recorder.progress_log import ProgressLog
from stress.recorder.workload import Workload
from stress.sequential import Sequential
from stress.spec import WAITS
from tests.stress.objects import (
    COUNTING,
    LOST_INCREMENTS,
    MAPPING,
    MATCHING,
    CachedMap,
    LockedCounter,
    LockedMap,
    LockedMatcher,
    LossyCounter,
    SharingMap,
    TornMatcher,
    WrongAlone,
)
from tests.stress.one_at_a_time import one_at_a_time
from tests.tries.targets import TARGETS

RIGHT, WRONG, OPEN = Verdict.LINEARIZABLE, Verdict.ILLEGAL, Verdict.UNKNOWN
ENOUGH: dict[str, Any] = {"rounds": 4_000, "duration": None, "pursuit": 0}
"""Limits for finding a fault. Two hundred rounds are usually enough, and take a second. Where five programs share two
cores, a thread that gives way waits for their turns, and the rounds take minutes. So rounds are limited, not time."""
once = pytest.mark.once  # a long process on a free-threaded build is too slow for campaigns of a second


class Lru:
    """Keeps the two that were used last."""

    def __init__(self) -> None:
        self.content: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        if key in self.content:
            value = self.content.pop(key)
            self.content[key] = value
            return value
        return None

    def put(self, key: str, value: Any) -> None:
        if key not in self.content and len(self.content) >= 2:
            self.content.pop(next(iter(self.content)))
        self.content[key] = value


class Drained:
    """Looks before it takes."""

    def __init__(self) -> None:
        self.items: deque[Any] = deque()

    def put(self, item: Any) -> None:
        self.items.append(item)

    def get(self) -> Any:
        return self.items.popleft() if self.items else None


class Typed(LockedCounter):
    """Answers True instead of 1 if a call comes between."""

    def increment(self) -> int:
        before = self.n
        found = super().increment()
        return found if found == before + 1 else found == found


class CountingAside(LossyCounter):
    """Counts in a thread of its own, which loses updates: such threads give way, too."""

    def increment(self) -> int:
        told: list[int] = []
        thread = threading.Thread(target=lambda: told.append(super(CountingAside, self).increment()))
        thread.start()
        thread.join()
        return told[0]


class Pooling(LossyCounter):
    """Counts in threads that it has started when it was made."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: queue.SimpleQueue[queue.SimpleQueue[int]] = queue.SimpleQueue()
        for _ in range(2):
            threading.Thread(target=self.work, daemon=True).start()

    def work(self) -> None:
        while True:
            self.wanted.get().put(super().increment())

    def increment(self) -> int:
        told: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.wanted.put(told)
        return told.get()


class LockedList:
    def __init__(self) -> None:
        self.lock, self.items = threading.Lock(), list[Any]()

    def append(self, item: Any) -> None:
        with self.lock:
            self.items.append(item)

    def pop(self) -> Any:
        with self.lock:
            return self.items.pop()


LRU, INCREMENT = [("put", one_of("a", "b", "c"), unique), ("get", one_of("a", "b", "c"))], COUNTING[:1]
BROKEN: list[tuple[Any, Spec | None, list[Any], set[str], dict[str, Any]]] = [
    (LossyCounter, Counter(), COUNTING, LOST_INCREMENTS, {}),
    (LossyCounter, Counter(), COUNTING, LOST_INCREMENTS, {"threads": 4, "processes": 2}),
    (TornMatcher, Subscriptions(), MATCHING, {"torn match", "stale read", "lost update", "impossible answer"}, {}),
    # Chance decides what a history shows. For some, the report can only say that an answer is impossible.
    (CachedMap, Map(), MAPPING, {"stale read", "lost update", "impossible answer"}, {}),
    (SharingMap, Map(), [*MAPPING, ("snapshot",)], {"snapshot changed", "wrong with one thread alone", "stale read",
     "torn read", "impossible answer"}, {}),
    (SharingMap, Map(), [("put", "a", 1), ("snapshot",)], {"snapshot changed", "wrong with one thread alone",
     "impossible answer"}, {"length": 2}),
    (CountingAside, Counter(), INCREMENT, LOST_INCREMENTS, {"rounds": 400}),
    (Pooling, Counter(), INCREMENT, LOST_INCREMENTS, {"rounds": 400}),
]  # fmt: skip
WITHOUT_SPEC = [
    (LossyCounter, COUNTING),
    (Lru, LRU),
    (Drained, [("put", unique), ("get",), ("get",)]),
    (Typed, INCREMENT),
    (SharingMap, [("put", "a", unique), ("snapshot",)]),
]


@pytest.mark.parametrize(("factory", "spec", "operations", "names", "settings"), BROKEN)
def test_a_broken_object_is_refuted_and_its_fault_named(
    factory: Any, spec: Any, operations: Any, names: set[str], settings: Any
) -> None:
    outcome = stress.run(factory, spec, operations, **{**ENOUGH, **settings}, seed=1)
    assert outcome.verdict is WRONG, outcome.summary
    report = outcome.explained()
    assert report is not None
    assert report.diagnosis is not None
    assert report.diagnosis.shape.name in names


@once
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(("factory", "operations"), WITHOUT_SPEC)
def test_a_broken_object_is_refuted_without_a_specification(factory: Any, operations: Any, processes: int) -> None:
    outcome = stress.run(factory, None, operations, processes=processes, duration=40, pursuit=0)
    assert outcome.verdict is WRONG, outcome.summary
    assert "state before it: " in outcome.report()


@pytest.mark.parametrize("clock", ["ticket", "monotonic"])
@pytest.mark.parametrize(
    ("factory", "spec", "operations"),
    [
        (LockedCounter, Counter(), COUNTING),
        (LockedMatcher, Subscriptions(), MATCHING),
        (LockedMap, Map(), [*MAPPING, ("items",), ("snapshot",)]),
        pytest.param(LockedCounter, None, COUNTING, marks=once),
        pytest.param(one_at_a_time(Lru, "get", "put"), None, LRU, marks=once),
        pytest.param(WrongAlone, None, COUNTING, marks=once),
        pytest.param(LockedList, None, [("append", unique), ("pop",)], marks=once),
    ],
)
def test_a_right_object_is_not_accused(factory: Any, spec: Any, operations: Any, clock: str) -> None:
    outcome = stress.run(factory, spec, operations, rounds=60, duration=None, threads=3, seed=5, clock=clock)
    assert outcome, outcome.report()
    assert outcome.rounds == 60
    assert outcome.overlap > 0.02
    assert re.search("linearizable; .*seed 5", outcome.summary)


@pytest.mark.parametrize("name", TARGETS)
def test_the_structures_of_this_distribution_are_right(name: str) -> None:
    """`python -m tests.tries run` does the same for longer."""
    outcome = run_workloads(TARGETS[name](), Settings(seed=11, duration=None, threads=3, rounds=30))
    assert outcome, outcome.report()
    assert outcome.overlap > 0.02


@pytest.mark.parametrize("text", ["@a.b & f=1", "@#"])
def test_what_one_thread_subscribes_another_can_name(text: str) -> None:
    """Arguments are kept for all threads; who finds them may subscribe before their maker goes on."""
    subject = TARGETS["routes"]()[0].factory()

    class Met(dict[str, Any]):
        def __setitem__(self, criteria: str, asked: Any) -> None:
            super().__setitem__(criteria, asked)
            assert subject.subscribe(criteria, 1)  # another thread's, at once
            assert subject.subscriptions() == [(criteria, 1)]

    subject._criteria = Met()
    subject.subscribe(text, 1)
    assert list(subject._criteria) == [text]
    subject.check()


# ----------------------------------------------------------------------------------------------- how else a run may end


def run(factory: Any = LockedCounter, operations: Any = COUNTING, **settings: Any) -> Outcome:
    return stress.run(factory, Counter(), operations, **{"seed": 1, "duration": None, "pursuit": 0, **settings})


class Aborting(LockedCounter):
    def increment(self) -> int:
        return os.abort() if self.n == 30 else super().increment()


class Raising(LockedCounter):
    """It once ended the command, with its own exit status."""

    def increment(self) -> int:
        raise SystemExit


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Unshown(LockedCounter):
    def increment(self) -> Any:
        return Odd()


class Hanging(LockedCounter):
    release = threading.Event()

    def value(self) -> int:
        self.release.wait()
        return self.n


class HalfHanging(Hanging):
    """Threads that only wait for the others are not accused."""

    def increment(self) -> int:
        if threading.current_thread().name == "stress-0":
            self.release.wait()
        return super().increment()


def few(counter: LossyCounter) -> None:
    assert counter.n < 100, f"{counter.n} is too many"


ENDS: list[tuple[Any, dict[str, Any], Verdict, list[str], list[str]]] = [
    (LockedCounter, {"duration": 0}, OPEN, ["no batch was recorded and judged in this time"], []),
    (LockedCounter, {"threads": 1, "rounds": 20}, OPEN, ["nothing could overlap"], []),
    (LockedCounter, {"check": few, "rounds": 4_000}, WRONG, ["an invariant is broken", "is too many"], []),
    (LockedCounter, {"check": lambda it: False, "rounds": 20}, WRONG,
     ["an invariant is broken after the batch: the check answered False"], []),
    (Hanging, {"rounds": 9, "patience": 1}, WRONG, ["nothing has moved for 1 s", "value() never returned",
     "release.wait()"], []),
    (HalfHanging, {"operations": INCREMENT, "rounds": 3, "patience": 0.5}, WRONG, ["thread 0 in increment()"],
     ["thread 1 in increment()"]),
    (Aborting, {"duration": 20, "processes": 2}, WRONG, ["SIGABRT", "increment"], []),
    (Raising, {"operations": INCREMENT, "rounds": 2}, WRONG, ["raised SystemExit"], []),
    (Unshown, {"operations": INCREMENT, "rounds": 2}, WRONG, ["<Odd, whose repr raises RuntimeError>"], []),
]  # fmt: skip


@pytest.mark.parametrize(("factory", "settings", "verdict", "told", "untold"), ENDS)
def test_an_end_is_told(factory: Any, settings: Any, verdict: Verdict, told: list[str], untold: list[str]) -> None:
    outcome = run(factory, **settings)
    Hanging.release.set()
    Hanging.release = threading.Event()
    text = "\n".join([outcome.summary, outcome.trouble, outcome.stacks, outcome.report() if verdict is WRONG else ""])
    assert outcome.verdict is verdict, text
    assert [each for each in told if each not in text] == []
    assert [each for each in untold if each in text] == []


def test_undecided_is_not_all_right() -> None:
    """A budget of no steps cannot decide two components."""
    operations = [("put", one_of("a", "b"), unique), ("get", one_of("a", "b"))]
    outcome = stress.run(LockedMap, Map(), operations, rounds=40, seed=1, budget=Budget(steps=0))
    assert outcome.verdict is OPEN
    assert outcome.undecided > 0
    assert "undecided" in outcome.summary


@pytest.mark.parametrize("processes", [1, 2])
def test_ctrl_c_leaves_what_was_done(processes: int) -> None:
    """The interrupt comes when the first batch is over."""
    interrupted: list[bool] = []

    def watch(tally: Tally, seconds: float) -> None:
        if tally.value("rounds") and not interrupted:
            interrupted.append(True)
            _thread.interrupt_main()

    settings = Settings(duration=None, rounds=10**9, seed=1, processes=processes)
    outcome = run_workloads([Workload(LockedCounter, Counter(), COUNTING)], settings, watch)
    assert (outcome.interrupted, outcome.verdict) == (True, OPEN)
    assert outcome.rounds > 0
    assert "interrupted" in outcome.summary


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_that_comes_while_an_object_is_deleted_ends_it() -> None:
    """The interpreter drops what is raised there, as it does where the threads of a batch are deleted."""
    made = itertools.count(1)

    class Pressed(LockedCounter):
        def __init__(self) -> None:
            super().__init__()
            self.is_the_third = next(made) == 3

        def __del__(self) -> None:
            if self.is_the_third:
                signal.raise_signal(signal.SIGINT)

    outcome = run(Pressed, rounds=10_000)
    assert outcome.interrupted
    assert 0 < outcome.rounds < 10_000
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_while_fewer_calls_are_sought_loses_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stress.pursuit._pursued", Mock(side_effect=KeyboardInterrupt))
    assert run(LossyCounter, duration=20, pursuit=5).verdict is WRONG


@pytest.mark.parametrize("processes", [1, 2])
def test_the_duration_is_kept_however_slow_the_object_is(processes: int) -> None:
    began = time.monotonic()
    outcome = run(Dozing, duration=1.5, threads=3, processes=processes)
    assert outcome or not outcome.rounds, outcome.report()  # a thread of a busy machine may not come to its turn
    assert time.monotonic() - began < 6  # even on a busy machine; a whole batch would take longer
    assert run(Dozing, duration=0.005, threads=3, processes=processes).operations  # however long it took to begin
    history = stress.record(Dozing(), [[INCREMENT_CALLS * 1_000]] * 2, Counter(), until=time.monotonic() + 1.5)
    assert 0 < len(history) < 2_000
    assert not any(each.pending for each in history)  # no calls that nobody made


INCREMENT_CALLS: Any = [("increment", ())]


def test_rounds_are_counted_over_all_processes() -> None:
    for rounds, processes in ((41, 2), (64, 4)):
        assert run(rounds=rounds, processes=processes).rounds == rounds
    tally = Tally(["operations", "rounds"], processes=2)
    tally.add(0, "operations", 2**40)
    tally.add(1, "operations")
    assert (tally.value("operations"), tally.value("rounds")) == (2**40 + 1, 0)


def test_the_seed_decides_what_is_called() -> None:
    def calls() -> list[Any]:
        history = run(LossyCounter, rounds=1, check=lambda it: False).history
        assert history is not None
        return sorted((each.thread, each.op) for each in history)

    assert calls() == calls()


def test_a_batch_of_fewer_rounds_is_the_beginning_of_a_whole_one() -> None:
    """Else a process that died would leave a history of other calls."""
    workloads, settings = [Workload(LockedCounter, Counter(), COUNTING)], Settings(seed=3)
    whole, begun = Batch(workloads, settings, 0).plans(), Batch(workloads, settings, 0, 5).plans()
    assert [plan[:5] for plan in whole] == begun


def test_in_one_batch_of_four_each_round_has_an_object_of_its_own() -> None:
    """What only the first calls can get wrong has one chance for each object."""
    settings = Settings(seed=1)
    made: list[LockedCounter] = []
    log = ProgressLog(2)

    class Ending(LockedCounter):
        def value(self) -> int:
            assert not batch.left_in(log).operations, "of a process that dies here, a call that none made is told"
            return super().value()

    def make(workload: Workload) -> LockedCounter:
        made.append(Ending())
        return made[-1]

    workloads = [Workload(Ending, Counter(), [("increment",)], at_end=[("value",)])]
    assert [number for number in range(8) if Batch(workloads, settings, number).is_divided] == [2, 6]
    batch = Batch(workloads, settings, 2, make=make)
    assert batch.run(lambda name, amount: None, None, log) is None
    assert len(made) == batch.rounds_made == len(batch.seen) == 32
    assert sum(each.op == "increment" for history in batch.seen for each in history) == sum(each.n for each in made)


def test_what_was_found_can_be_kept(tmp_path: Path) -> None:
    kept = run(LossyCounter, rounds=4_000).save(str(tmp_path / "lost.jsonl"))
    assert stress.check(*stress.read_history(tmp_path / "lost.jsonl")).verdict is WRONG
    assert f"python -m stress replay {tmp_path / 'lost.jsonl'}" in kept.report()
    with pytest.raises(ValueError, match="nothing was found"):
        run(rounds=5).save(str(tmp_path / "nothing.jsonl"))


class LossyReference:
    def __init__(self) -> None:
        from ctrie import AtomicReference

        self.n: Any = AtomicReference(0)

    def increment(self) -> int:
        n: int = self.n.load()
        self.n.compare_and_set(n, n + 1)
        return n + 1


def test_a_finding_is_told_in_as_few_calls_as_it_takes() -> None:
    """And step by step, if the explorer knows the object."""
    outcome = run(LossyReference, INCREMENT, duration=20, pursuit=5)
    assert outcome.verdict is WRONG
    assert outcome.smaller is not None
    assert len(outcome.smaller.history) <= 3
    assert outcome.smaller.steps is not None
    assert "The same in fewer calls: NOT linearizable" in outcome.report()
    assert "What the threads did, step by step" in outcome.report()


def test_each_program_that_is_drawn_has_a_seed_of_its_own() -> None:
    drawn = zip(range(9), _drawn([stress.Workload(LossyReference, Counter(), INCREMENT)], 1), strict=False)
    assert [seed for _, (*_, seeds) in drawn for seed in seeds] == [*range(9)]


# ---------------------------------------------------------------------------------------------------- what is refused


class Unmakeable:
    def __init__(self) -> None:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "told", "factory", "operations", "settings"),
    [
        *((ValueError, "at least 1", LockedCounter, COUNTING, {name: 0}) for name in ("threads", "rounds", "length",
           "processes")),
        (ValueError, "no clock", LockedCounter, COUNTING, {"clock": "sundial"}),
        (ValueError, "needs an end", LockedCounter, COUNTING, {"duration": None}),
        (ValueError, "a workload needs at least one operation", dict, [], {"rounds": 1}),
        (ValueError, "a role needs at least one operation", LockedCounter, [], {"roles": [[]]}),
        (ValueError, "a role needs at least one operation", LockedCounter, [], {"roles": [COUNTING, []]}),
        (ValueError, "an operation is a tuple", LockedCounter, [], {"roles": [["enqueue"]]}),
        (RuntimeError, "RuntimeError: no", Unmakeable, COUNTING, {"rounds": 10, "processes": 2}),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(error: Any, told: str, factory: Any, operations: Any, settings: Any) -> None:
    with pytest.raises(error, match=told):
        stress.run(factory, Counter(), operations, **settings)


@pytest.mark.parametrize("misfit", [("value", 1), ("value", one_of(1, 2)), ("value", unique), ("valve",)])
def test_every_operation_must_fit_the_object_before_any_is_called(misfit: Any) -> None:
    calls: list[str] = []

    class Watched(LockedCounter):
        def increment(self) -> int:
            calls.append("increment")
            return super().increment()

    operations: list[Any] = [("increment",)] * 1_000 + [misfit]  # it is seldom drawn
    told = r"'value' has 1 argument, but the method is Watched.value\(\)|Watched has no method 'valve'"
    for settings in ({"operations": operations}, {"operations": [], "roles": [INCREMENT, operations]}):
        with pytest.raises((ValueError, AttributeError), match=told):
            run(Watched, rounds=1, **settings)
    assert not calls


class TestRoles:
    PUT, TAKE = [("enqueue", unique)], [("dequeue",)]

    def test_each_thread_calls_what_its_role_may(self) -> None:
        plans = Workload(list, Queue(), [], roles=[self.PUT, self.TAKE]).plans(Random(1), 3, 2, 5)
        assert [{op for calls in plan for op, _ in calls} for plan in plans] == [{"enqueue"}, {"dequeue"}, {"enqueue"}]

    def test_there_are_as_many_threads_as_roles(self) -> None:
        callers: set[tuple[str, int]] = set()

        class Watched(LockedList):
            def enqueue(self, item: int) -> None:
                callers.add(("enqueue", threading.get_native_id()))
                self.append(item)

            def dequeue(self) -> Any:
                callers.add(("dequeue", threading.get_native_id()))
                return self.items.pop(0) if self.items else None

        stress.run(Watched, Queue(), [], roles=[self.PUT, self.PUT, self.TAKE], rounds=1, pursuit=0)
        assert sorted(op for op, _ in callers) == ["dequeue", "enqueue", "enqueue"]


# --------------------------------------------------------------------------------------------- without a specification


class Clock:
    def now(self) -> float:
        return time.perf_counter()


class Identity:
    def get(self) -> object:
        return object()


class Numbering:
    numbers = itertools.count()

    def number(self) -> int:
        return next(Numbering.numbers)


class Kept:
    """A right cache of what `make` makes."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.lock, self.kept, self.make = threading.Lock(), dict[str, object](), make

    def get(self, key: str) -> object:
        with self.lock:
            if key not in self.kept:
                self.kept[key] = self.make()
            return self.kept[key]


class Lucky(LockedCounter):
    """Its answers are right three times out of four."""

    def increment(self) -> int:
        return super().increment() + random.SystemRandom().choice([0, 0, 0, random.SystemRandom().getrandbits(64)])


@once
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(("factory", "op"), [(Clock, "now"), (Identity, "get"), (Numbering, "number")])
def test_other_answers_to_the_same_calls_are_no_verdict(factory: Any, op: str, processes: int) -> None:
    with pytest.raises(SpecError, match=rf"{op}\(\) answers .* the first time and .* the second"):
        stress.run(factory, None, [(op,)], processes=processes, duration=60, seed=1)


@once
@pytest.mark.parametrize("make", [object, random.SystemRandom().random, lambda: id(object()), list, random.random])
def test_nor_are_they_a_fault_of_a_schedule(make: Any) -> None:
    """Equal answers are none, and random numbers of the library are put back."""
    threads: Any = [[("get", "k")], [("get", "k")]]
    if make in (list, random.random):
        assert stress.explore(lambda: Kept(make), None, threads).verdict is RIGHT
        return
    with pytest.raises(SpecError, match=r"get\('k'\) answers .* the first time and .* the second"):
        stress.explore(lambda: Kept(make), None, threads)


@once
def test_answers_that_are_right_by_chance_are_refused() -> None:
    with pytest.raises(ValueError, match="Lucky does not do the same each time"):
        stress.explore(Lucky, Counter(), [INCREMENT, INCREMENT])


class Dozing(LockedCounter):
    """Sleeps a little without waiting for others."""

    def increment(self) -> int:
        time.sleep(0.01)
        return super().increment()


class Slower(LockedCounter):
    """Sleeps for long if it is called first, which looks as if it waited for the other call."""

    def open(self) -> bool:
        if is_first := self.increment() == 1:
            time.sleep(0.8)
        return is_first


class Spinning(Drained):
    """A taker goes round and round until something is there."""

    def take(self) -> Any:
        while True:
            try:
                return self.items.popleft()
            except IndexError:
                continue


class Reentering(LockedCounter):
    """Takes its lock twice, and waits for itself."""

    def increment(self) -> int:
        with self.lock:
            return super().increment()


@once
class TestWaiting:
    def test_calls_may_wait(self) -> None:
        outcome = stress.run(queue.Queue, None, [("put", unique), ("get",)], duration=2, patience=5, seed=1)
        assert outcome.verdict is not WRONG
        spec = Sequential(queue.Queue)
        assert spec.step((), "get", ()) is WAITS
        assert spec.step((("put", (1,)),), "get", ())[1] == 1
        assert Sequential(Spinning).step((), "take", ()) is WAITS
        worn = Sequential(queue.Queue)
        worn._waiting = 10_000
        with pytest.raises(SpecError, match=r"get\(\) waits for other threads so often"):
            worn.step((), "get", ())

    @pytest.mark.slow("each call is made again and again, and sleeps")
    def test_a_call_that_sleeps_does_not_wait_for_others(self) -> None:
        outcome = stress.run(Dozing, None, INCREMENT, threads=2, length=2, rounds=2, duration=60, seed=1)
        assert outcome.verdict is RIGHT, outcome.summary
        with pytest.raises(SpecError, match=r"open\(\) returns only after 0.5 s or more if one thread calls it alone"):
            stress.run(Slower, None, [], roles=[[("open",)], INCREMENT], threads=2, length=1, duration=60, seed=1)

    def test_a_thread_without_a_processor_does_not_wait(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A busy machine is one where a millisecond is long."""
        monkeypatch.setattr(stress.sequential, "PATIENCE", (0.001, 0.5))
        outcome = stress.run(LockedCounter, None, COUNTING, threads=3, rounds=40, duration=60, seed=1)
        assert outcome.verdict is RIGHT, outcome.summary

    def test_of_a_call_that_never_returns_nothing_is_known(self) -> None:
        outcome = stress.explore(Reentering, None, [INCREMENT, INCREMENT])
        assert outcome.verdict is OPEN
        assert "increment() never returned in any schedule" in outcome.summary

    def test_a_call_may_return_while_it_is_looked_at(self) -> None:
        """Between two looks at the note which the other thread makes of it; and the thread ends after the first."""

        class Returning:
            calls, is_given_up = ((("value", ()),)), False
            notes = iter([None, time.monotonic(), None, None])
            since = property(lambda self: next(self.notes))

        class Ending:
            native_id, alive = None, iter([True, False])

            def is_alive(self) -> bool:
                return next(self.alive)

            def join(self, seconds: float) -> None:
                pass

        watch, thread = Returning(), Ending()
        Sequential(Lru)._attend(thread, watch)  # type: ignore[arg-type]
        assert not watch.is_given_up


def test_answers_are_those_of_the_object() -> None:
    spec, calls = Sequential(LockedList), (("append", (7,)), ("pop", ()))
    assert spec.step(calls[:1], "pop", ()) == (calls, 7)
    assert spec.step(calls, "pop", ())[1] == Raised(IndexError)
    assert spec.describe(calls) == "append(7); pop()"
    with pytest.raises(RuntimeError, match="no"):
        stress.run(Unmakeable, None, COUNTING, rounds=1)
