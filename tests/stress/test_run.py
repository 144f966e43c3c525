"""Campaigns on structures as users write them: broken ones are refuted and explained, right ones are not accused."""

from __future__ import annotations

import _thread
import itertools
import queue
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import stress
from stress import Budget, Counter, Deferred, Map, Outcome, Queue, Subscriptions, Verdict, one_of, unique
from stress.processes import Tally
from stress.recorder.batch import Batch
from stress.recorder.campaign import Settings, run_workloads
from stress.recorder.workload import Workload
from tests.tries.targets import TARGETS, MapUnderTest, SubscriptionsUnderTest, TopicsUnderTest

SEEDS = [1, 2]


class LossyCounter:
    """Reads, adds and writes back in separate steps."""

    def __init__(self) -> None:
        self.n = 0

    def increment(self) -> int:
        n = self.n
        self.n = n + 1
        return n + 1

    def value(self) -> int:
        return self.n


class LockedCounter(LossyCounter):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def increment(self) -> int:
        with self.lock:
            return super().increment()


class TornMatcher:
    """A matcher on two dicts under a lock, but `match` reads them without the lock, one after the other."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.literal: dict[str, frozenset[Any]] = {}
        self.wildcard: dict[str, frozenset[Any]] = {}

    def table(self, filter: str) -> dict[str, frozenset[Any]]:
        return self.wildcard if "*" in filter else self.literal

    def subscribe(self, filter: str, subscriber: Any) -> bool:
        with self.lock:
            there = self.table(filter).get(filter, frozenset())
            self.table(filter)[filter] = there | {subscriber}
            return subscriber not in there

    def unsubscribe(self, filter: str, subscriber: Any) -> bool:
        with self.lock:
            there = self.table(filter).get(filter, frozenset())
            self.table(filter)[filter] = there - {subscriber}
            return subscriber in there

    def match(self, topic: str) -> frozenset[Any]:
        exact = self.literal.get(topic, frozenset())
        return exact | self.wildcard.get("*." + topic.partition(".")[2], frozenset())


class LockedMatcher(TornMatcher):
    def match(self, topic: str) -> frozenset[Any]:
        with self.lock:
            return super().match(topic)


class CachedMap:
    """A dict under a lock, with a cache of what was read. Writers clear a key's entry after they have left the lock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.content: dict[Any, Any] = {}
        self.cache: dict[Any, Any] = {}

    def put(self, key: Any, value: Any) -> None:
        with self.lock:
            self.content[key] = value
        self.cache.pop(key, None)

    def pop(self, key: Any, default: Any) -> Any:
        with self.lock:
            found = self.content.pop(key, default)
        self.cache.pop(key, None)
        return found

    def get(self, key: Any) -> Any:
        found = self.cache.get(key, self)  # the map itself stands for "not cached"
        if found is self:
            found = self.content.get(key)
            self.cache[key] = found
        return found


class LockedMap:
    """A dict under a lock, with snapshots that are copies."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.content: dict[Any, Any] = {}

    def put(self, key: Any, value: Any) -> None:
        with self.lock:
            self.content[key] = value

    def get(self, key: Any) -> Any:
        with self.lock:
            return self.content.get(key)

    def pop(self, key: Any, default: Any) -> Any:
        with self.lock:
            return self.content.pop(key, default)

    def items(self) -> list[tuple[Any, Any]]:
        with self.lock:
            return list(self.content.items())

    def snapshot(self) -> Deferred:
        with self.lock:
            taken = dict(self.content)
        return Deferred(lambda: list(taken.items()))


class SharingMap(LockedMap):
    """Its snapshot is the dict itself."""

    def snapshot(self) -> Deferred:
        return Deferred(lambda: list(self.content.items()))


class TornStore(LockedMap):
    """When asked for a filter, it reads one topic after the other."""

    def matching(self, filter: str) -> list[tuple[Any, Any]]:
        found = [(topic, self.get(topic)) for topic in ("a.b", "a.c") if filter == "a.*"]
        return [(topic, value) for topic, value in found if value is not None]


COUNTING = [("increment",), ("value",)]
LOST_INCREMENTS = {
    "lost update": "increment() -> ",
    "stale read": "was right once but no longer when it was called",
    "impossible answer": " -> ",
}
"""The names that a report may give to lost increments of a counter, and what it says with each name. Chance decides
which answer shows the loss, and whether other losses in the same window hide what that answer lacks."""
FILTER, WHO = one_of("a.b", "*.b"), one_of("x", "y")
MATCHING = [("subscribe", FILTER, WHO), ("unsubscribe", FILTER, WHO), ("match", "a.b")]
MAPPING = [("put", one_of("a", "b"), unique), ("get", one_of("a", "b")), ("pop", one_of("a", "b"), None)]


ENOUGH: dict[str, Any] = {"rounds": 4_000, "duration": None, "pursuit": 0}
"""Limits for finding a fault. Two hundred rounds are usually enough, and take a second. Where five programs share two
cores, a thread that gives way waits for their turns, and the rounds take minutes. So rounds are limited, not time."""


def found(outcome: Outcome) -> tuple[str, str]:
    """The name of the fault and the sentence about it."""
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary
    report = outcome.explained()
    assert report is not None
    assert report.diagnosis is not None
    return report.diagnosis.shape.name, report.diagnosis.shape.sentence


def sentence_about(fault: str, seed: int, make: Callable[[], Any], spec: stress.Spec, operations: list[Any]) -> str:
    """Run until a report gives the fault this name. Nine of ten runs do. The others say something else that is true:
    for instance, that another call cannot be right if the wrong call's answer is taken as given.
    """
    for number in range(10):
        name, sentence = found(stress.run(make, spec, operations, **ENOUGH, seed=seed + 100 * number))
        if name == fault:
            return sentence
    raise AssertionError(f"ten times wrong, and never a {fault}")


class TestBroken:
    """Each fault is found in seconds."""

    @pytest.mark.parametrize("seed", SEEDS)
    def test_a_counter_that_loses_updates(self, seed: int) -> None:
        self.tells_of_a_lost_increment(stress.run(LossyCounter, Counter(), COUNTING, **ENOUGH, seed=seed))

    def test_a_counter_that_loses_updates_of_more_threads_in_several_processes(self) -> None:
        outcome = stress.run(LossyCounter, Counter(), COUNTING, **ENOUGH, threads=4, processes=2, seed=1)

        self.tells_of_a_lost_increment(outcome)

    def tells_of_a_lost_increment(self, outcome: stress.Outcome) -> None:
        name, sentence = found(outcome)

        assert name in LOST_INCREMENTS
        assert LOST_INCREMENTS[name] in sentence

    @pytest.mark.parametrize("seed", SEEDS)
    def test_a_matcher_that_reads_its_tables_at_two_moments(self, seed: int) -> None:
        sentence = sentence_about("torn match", seed, TornMatcher, Subscriptions(), MATCHING)

        assert "match('a.b') -> " in sentence
        assert "subscribe(" in sentence

    @pytest.mark.parametrize("seed", SEEDS)
    def test_a_cache_that_is_emptied_too_late(self, seed: int) -> None:
        name, _ = found(stress.run(CachedMap, Map(), MAPPING, **ENOUGH, seed=seed))

        # Chance decides what a history shows. For some, the report can only say that an answer is impossible.
        assert name in {"stale read", "resurrected key", "lost update", "impossible answer"}

    def test_a_snapshot_that_goes_on_changing(self) -> None:
        sentence = sentence_about("snapshot changed", 1, SharingMap, Map(), [*MAPPING, ("snapshot",)])

        assert "was read twice" in sentence or "shows what became true only after it had returned" in sentence


@pytest.mark.parametrize(
    ("factory", "spec", "operations"),
    [
        (LockedCounter, Counter(), COUNTING),
        (LockedMatcher, Subscriptions(), MATCHING),
        (LockedMap, Map(), [*MAPPING, ("items",), ("snapshot",)]),
    ],
    ids=["counter", "matcher", "map"],
)
@pytest.mark.parametrize("clock", ["ticket", "monotonic"])
def test_the_right_ones_are_not_accused(
    factory: Callable[[], Any], spec: stress.Spec, operations: list[Any], clock: str
) -> None:
    outcome = stress.run(factory, spec, operations, rounds=60, duration=None, threads=3, seed=5, clock=clock)

    assert outcome, outcome.report()
    assert outcome.rounds == 60
    assert outcome.overlap > 0.02
    assert "linearizable; " in outcome.summary
    assert "seed 5" in outcome.summary


class CountingAside(LossyCounter):
    """Counts in a thread of its own, which loses updates."""

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
        self.wanted: queue.SimpleQueue[list[int] | None] = queue.SimpleQueue()
        self.done = threading.Condition()
        for _ in range(2):
            threading.Thread(target=self.work, args=(self.wanted,), daemon=True).start()

    def work(self, wanted: queue.SimpleQueue[list[int] | None]) -> None:
        while (told := wanted.get()) is not None:
            told.append(LossyCounter.increment(self))
            with self.done:
                self.done.notify_all()

    def increment(self) -> int:
        told: list[int] = []
        self.wanted.put(told)
        with self.done:
            self.done.wait_for(lambda: told)
        return told[0]


class TestWhatHappensSeldom:
    def test_in_one_batch_of_four_each_round_has_an_object_of_its_own(self) -> None:
        """What only the first calls can get wrong has one chance for each object."""
        settings = Settings(seed=1)
        batches = [Batch([Workload(LockedCounter, Counter(), COUNTING)], settings, number) for number in range(8)]
        divided = [number for number, batch in enumerate(batches) if batch.is_divided]
        assert divided == [2, 6]

        made: list[LockedCounter] = []

        def make(workload: Workload) -> LockedCounter:
            made.append(LockedCounter())
            return made[-1]

        batch = Batch([Workload(LockedCounter, Counter(), COUNTING)], settings, 2, make=make)
        assert batch.run(lambda name, amount: None, None, None) is None
        assert batch.history is not None
        assert len(made) == batch.rounds_made == len(batch.parts(batch.history)) == 32
        increments = sum(each.op == "increment" for each in batch.history)
        assert increments == sum(each.n for each in made)

    @pytest.mark.parametrize("make", [CountingAside, Pooling])
    def test_threads_of_the_object_s_own_give_way_too(self, make: Any) -> None:
        outcome = stress.run(make, Counter(), [("increment",)], rounds=400, duration=60, seed=1, pursuit=0)
        assert outcome.verdict is Verdict.ILLEGAL


class TestOutcome:
    def test_a_batch_of_fewer_rounds_is_the_beginning_of_a_whole_one(self) -> None:
        workloads, settings = [Workload(LockedCounter, Counter(), COUNTING)], Settings(seed=3)
        whole, begun = Batch(workloads, settings, 0).plans(), Batch(workloads, settings, 0, 5).plans()

        assert [plan[:5] for plan in whole] == begun  # else a process that died would leave a history of other calls

    def test_the_seed_decides_what_is_called(self) -> None:
        def calls(seed: int) -> list[Any]:
            outcome = stress.run(LossyCounter, Counter(), COUNTING[:1], rounds=1, seed=seed, check=refuse)
            assert outcome.history is not None
            return sorted((each.thread, each.op) for each in outcome.history)

        def refuse(counter: LossyCounter) -> None:
            raise AssertionError

        assert calls(1) == calls(1)

    def test_rounds_are_counted_over_all_processes(self) -> None:
        outcome = stress.run(LockedCounter, Counter(), COUNTING, rounds=41, duration=None, processes=2, seed=1)

        assert outcome.rounds == 41

    def test_nothing_recorded_is_not_all_right(self) -> None:
        outcome = stress.run(LockedCounter, Counter(), COUNTING, duration=0, seed=1)

        assert outcome.verdict is Verdict.UNKNOWN

    def test_undecided_is_not_all_right(self) -> None:
        """A budget of no steps cannot decide two components."""
        operations = [("put", one_of("a", "b"), unique), ("get", one_of("a", "b"))]

        outcome = stress.run(LockedMap, Map(), operations, rounds=40, seed=1, budget=Budget(steps=0))

        assert outcome.verdict is Verdict.UNKNOWN
        assert outcome.undecided > 0
        assert "undecided" in outcome.summary

    def test_a_broken_invariant_ends_it(self) -> None:
        def check(counter: LockedCounter) -> None:
            assert counter.n < 100, f"{counter.n} is too many"

        outcome = stress.run(LockedCounter, Counter(), COUNTING, check=check, **ENOUGH, seed=1)

        assert outcome.verdict is Verdict.ILLEGAL
        assert "an invariant is broken" in outcome.summary
        assert "is too many" in outcome.summary

    def test_a_hang_ends_it(self) -> None:
        release = threading.Event()

        class Hanging(LockedCounter):
            def value(self) -> int:
                release.wait()
                return self.n

        outcome = stress.run(Hanging, Counter(), COUNTING, **ENOUGH, seed=1, patience=1)
        release.set()

        assert outcome.verdict is Verdict.ILLEGAL
        assert "nothing has moved for 1 s" in outcome.summary
        assert "value() never returned" in outcome.summary

    @pytest.mark.parametrize("processes", [1, 2])
    def test_ctrl_c_leaves_what_was_done(self, processes: int) -> None:
        """The interrupt comes when the first batch is over."""
        settings = Settings(duration=None, rounds=10**9, seed=1, processes=processes)
        interrupted: list[bool] = []

        def watch(tally: Tally, seconds: float) -> None:
            if tally.value("rounds") and not interrupted:
                interrupted.append(True)
                _thread.interrupt_main()

        outcome = run_workloads([Workload(LockedCounter, Counter(), COUNTING)], settings, watch)

        assert outcome.interrupted
        assert outcome.verdict is Verdict.UNKNOWN
        assert outcome.rounds > 0
        assert "interrupted" in outcome.summary

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_ctrl_c_that_comes_while_an_object_is_deleted_ends_it(self) -> None:
        """The interpreter drops what is raised there, as it does where the threads of a batch are deleted."""
        made = itertools.count(1)

        class Pressed(LockedCounter):
            def __init__(self) -> None:
                super().__init__()
                self.is_the_third = next(made) == 3

            def __del__(self) -> None:
                if self.is_the_third:
                    signal.raise_signal(signal.SIGINT)

        outcome = stress.run(Pressed, Counter(), COUNTING, duration=None, rounds=10_000, seed=1)

        assert outcome.interrupted
        assert 0 < outcome.rounds < 10_000
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_what_was_found_can_be_kept(self, tmp_path: Path) -> None:
        outcome = stress.run(LossyCounter, Counter(), COUNTING, **ENOUGH, seed=1)

        kept = outcome.save(str(tmp_path / "lost.jsonl"))

        history, spec = stress.read_history(tmp_path / "lost.jsonl")
        assert stress.check(history, spec).verdict is Verdict.ILLEGAL
        assert f"python -m stress replay {tmp_path / 'lost.jsonl'}" in kept.report()

    def test_there_is_nothing_to_keep_if_nothing_was_found(self, tmp_path: Path) -> None:
        outcome = stress.run(LockedCounter, Counter(), COUNTING, rounds=5, seed=1)

        with pytest.raises(ValueError, match="nothing was found"):
            outcome.save(str(tmp_path / "nothing.jsonl"))


@pytest.mark.parametrize(
    "wrong", [{"threads": 0}, {"rounds": 0}, {"length": 0}, {"processes": 0}, {"clock": "sundial"}, {"duration": None}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"at least 1|no clock|needs an end"):
        stress.run(LockedCounter, Counter(), COUNTING, **wrong)


def test_a_workload_needs_operations() -> None:
    with pytest.raises(ValueError, match="at least one operation"):
        stress.run(LockedCounter, Counter(), [], rounds=1)


def test_every_operation_must_fit_the_object_before_any_is_called() -> None:
    calls: list[str] = []

    class Watched(LockedCounter):
        def increment(self) -> int:
            calls.append("increment")
            return super().increment()

    for misfit in [("value", 1), ("value", one_of(1, 2)), ("value", unique)]:
        operations: list[Any] = [("increment",)] * 1_000 + [misfit]  # it is seldom drawn
        with pytest.raises(ValueError, match=r"'value' has 1 argument, but the method is Watched.value\(\)"):
            stress.run(Watched, Counter(), operations, rounds=1)
        with pytest.raises(ValueError, match="'value' has 1 argument"):
            stress.run(Watched, Counter(), [], roles=[[("increment",)], operations], rounds=1)
    with pytest.raises(AttributeError, match="Watched has no method 'valve'"):
        stress.run(Watched, Counter(), [*operations[:-1], ("valve",)], rounds=1)
    assert not calls


class Mailbox:
    """A queue that many threads may put into; it is right as long as only one thread takes."""

    def __init__(self) -> None:
        self.letters: list[int] = []

    def enqueue(self, letter: int) -> None:
        self.letters.append(letter)

    def dequeue(self) -> int | None:
        if not self.letters:
            return None
        first = self.letters[0]
        del self.letters[0]
        return first


PUT, TAKE = [("enqueue", unique)], [("dequeue",)]


class TestRoles:
    def test_each_thread_calls_what_its_role_may(self) -> None:
        workload = Workload(Mailbox, Queue(), [], roles=[PUT, TAKE])

        plans = workload.plans(Random(1), 3, 2, 5)

        assert [{op for calls in plan for op, _ in calls} for plan in plans] == [{"enqueue"}, {"dequeue"}, {"enqueue"}]

    def test_there_are_as_many_threads_as_roles(self) -> None:
        callers: set[tuple[str, threading.Thread]] = set()

        class Watched(Mailbox):
            def enqueue(self, letter: int) -> None:
                callers.add(("enqueue", threading.current_thread()))
                super().enqueue(letter)

            def dequeue(self) -> int | None:
                callers.add(("dequeue", threading.current_thread()))
                return super().dequeue()

        run_workloads([Workload(Watched, Queue(), [], roles=[PUT, PUT, TAKE])], Settings(threads=3, rounds=1))
        assert sorted(op for op, _ in callers) == ["dequeue", "enqueue", "enqueue"]

        callers.clear()
        stress.run(Watched, Queue(), [], roles=[PUT, PUT, TAKE], rounds=1, pursuit=0)
        assert sorted(op for op, _ in callers) == ["dequeue", "enqueue", "enqueue"]

    @pytest.mark.parametrize("spec", [None, Map()])
    def test_no_operation_at_all_is_refused(self, spec: Map | None) -> None:
        with pytest.raises(ValueError, match="a workload needs at least one operation"):
            stress.run(dict, spec, [])

    @pytest.mark.parametrize("roles", [[[]], [PUT, []], [["enqueue"]]])
    def test_those_that_make_no_sense_are_refused(self, roles: Any) -> None:
        with pytest.raises(ValueError, match=r"a role needs at least one operation|an operation is a tuple"):
            Workload(Mailbox, Queue(), [], roles=roles)


def test_a_failure_in_another_process_is_reported() -> None:
    class Unmakeable:
        def __init__(self) -> None:
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="RuntimeError: no"):
        stress.run(Unmakeable, Counter(), COUNTING, rounds=10, processes=2)


class TestCounters:
    def test_nothing_is_lost_between_processes(self) -> None:
        outcome = stress.run(LockedCounter, Counter(), COUNTING, rounds=64, duration=None, processes=4, seed=1)

        assert outcome.rounds == 64

    def test_those_of_two_processes_are_added_up(self) -> None:
        tally = Tally(["operations", "rounds"], processes=2)
        tally.add(0, "operations", 2**40)
        tally.add(1, "operations")
        assert tally.value("operations") == 2**40 + 1
        assert tally.value("rounds") == 0


def run_target(workloads: list[Workload], **settings: Any) -> Outcome:
    return run_workloads(workloads, Settings(seed=11, duration=None, **settings))


class TestOurOwn:
    """The structures of this distribution; `python -m stress run` does the same for longer."""

    @pytest.mark.parametrize("name", TARGETS)
    @pytest.mark.parametrize("threads", [2, 4])
    def test_they_are_linearizable(self, name: str, threads: int) -> None:
        outcome = run_target(TARGETS[name](), threads=threads, rounds=60)

        assert outcome, outcome.report()
        assert outcome.overlap > 0.02

    def test_adapters_pass_on_what_they_do_not_change(self) -> None:
        assert MapUnderTest({"a": 1}).get("a") == 1
        assert SubscriptionsUnderTest(TornMatcher()).match("a.b") == frozenset()
        assert TopicsUnderTest(TornStore()).get("a.b") is None

    @pytest.mark.parametrize("text", ["@a.b & f=1", "@#"])
    def test_what_one_thread_subscribes_another_can_name(self, text: str) -> None:
        """Arguments are kept for all threads; who finds them may subscribe before their maker goes on."""
        (workload, *_) = TARGETS["routes"]()
        subject = workload.factory()

        class Met(dict[str, Any]):
            def __setitem__(self, criteria: str, asked: Any) -> None:
                super().__setitem__(criteria, asked)
                assert subject.subscribe(criteria, 1)  # another thread's, at once
                assert subject.subscriptions() == [(criteria, 1)]

        subject._criteria = Met()
        subject.subscribe(text, 1)
        assert list(subject._criteria) == [text]
        subject.check()
