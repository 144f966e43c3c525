"""`stress.run` without a specification: an answer is right if some order of the calls on fresh objects gives it."""

from __future__ import annotations

import itertools
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import stress
from stress import Outcome, Raised, SpecError, Verdict, explore, one_of, unique
from stress.sequential import Sequential
from stress.spec import WAITS
from tests.stress.one_at_a_time import one_at_a_time
from tests.stress.test_what_runs_say import Bumped, Locked, Shared, WrongAlone

pytestmark = pytest.mark.once  # a long process on a free-threaded build is too slow for campaigns of a second


def run(factory: Any, operations: Any, **settings: Any) -> Outcome:
    return stress.run(factory, None, operations, **{"duration": 1.0, "seed": 1, "pursuit": 0, **settings})


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


LockedLru = one_at_a_time(Lru, "get", "put")


class Drained:
    """Looks before it takes."""

    def __init__(self) -> None:
        self.items: deque[Any] = deque()

    def put(self, item: Any) -> None:
        self.items.append(item)

    def get(self) -> Any:
        if self.items:
            return self.items.popleft()
        return None


class Typed(Locked):
    """Answers True instead of 1 if a call comes between."""

    def increment(self) -> int:
        before = self.n
        found = super().increment()
        return found if found == before + 1 else found == found


LRU = [("put", one_of("a", "b", "c"), unique), ("get", one_of("a", "b", "c"))]
WRONG: dict[str, tuple[Any, list[Any]]] = {
    "counter": (Bumped, [("bump",), ("value",)]),
    "lru": (Lru, LRU),
    "check then act": (Drained, [("put", unique), ("get",), ("get",)]),
    "types": (Typed, [("increment",)]),
}
RIGHT: dict[str, tuple[Any, list[Any]]] = {
    "counter": (Locked, [("increment",), ("value",)]),
    "lru": (LockedLru, LRU),
    "what one thread sees alone": (WrongAlone, [("increment",), ("value",)]),
    "exceptions": (lambda: LockedList(), [("append", unique), ("pop",)]),
}


class LockedList:
    def __init__(self) -> None:
        self.lock, self.items = threading.Lock(), list[Any]()

    def append(self, item: Any) -> None:
        with self.lock:
            self.items.append(item)

    def pop(self) -> Any:
        with self.lock:
            return self.items.pop()


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refuted(name: str, processes: int) -> None:
    factory, operations = WRONG[name]
    outcome = run(factory, operations, processes=processes, duration=40, seed=None)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary
    assert "state before it: " in outcome.report()


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_are_not_accused(name: str) -> None:
    factory, operations = RIGHT[name]
    for threads in (2, 3):
        outcome = run(factory, operations, seed=None, threads=threads, rounds=400, duration=60)
        assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


def test_calls_may_wait() -> None:
    outcome = run(queue.Queue, [("put", unique), ("get",)], duration=4, patience=5)
    assert outcome.verdict is not Verdict.ILLEGAL
    spec = Sequential(queue.Queue)
    assert spec.step((), "get", ()) is WAITS
    assert spec.step((("put", (1,)),), "get", ())[1] == 1


def test_a_fault_in_fewer_calls() -> None:
    outcome = run(Bumped, [("bump",), ("value",)], duration=20, pursuit=5)
    assert outcome.smaller is not None
    assert len(outcome.smaller.history) <= 4


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


class Counted(stress.Spec):
    initial = 0

    def step(self, state: int, op: str, args: tuple[Any, ...]) -> Any:
        return state + 1, state + 1


class Lucky:
    """Its answers are right three times out of four."""

    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n + (random.SystemRandom().random() < 0.25)


@dataclass(frozen=True)
class Listed:
    items: tuple[int, ...]


class TestWhatCannotBeJudged:
    @pytest.mark.parametrize("processes", [1, 2])
    @pytest.mark.parametrize(("factory", "op"), [(Clock, "now"), (Identity, "get"), (Numbering, "number")])
    def test_other_answers_to_the_same_calls(self, factory: Any, op: str, processes: int) -> None:
        with pytest.raises(SpecError, match=rf"{op}\(\) answers .* the first time and .* the second"):
            run(factory, [(op,)], processes=processes)

    @pytest.mark.parametrize("make", [object, random.SystemRandom().random, lambda: id(object())])
    def test_other_answers_are_no_fault_of_a_schedule(self, make: Callable[[], object]) -> None:
        with pytest.raises(SpecError, match=r"get\('k'\) answers .* the first time and .* the second"):
            explore(lambda: Kept(make), None, [[("get", "k")], [("get", "k")]])

    def test_answers_that_are_right_by_chance(self) -> None:
        with pytest.raises(ValueError, match="Lucky does not do the same each time"):
            explore(Lucky, Counted(), [[("increment",)], [("increment",)]])

    @pytest.mark.parametrize("make", [list, lambda: Listed((1,)), random.random])  # which is put back
    def test_equal_answers_are_none(self, make: Callable[[], object]) -> None:
        outcome = explore(lambda: Kept(make), None, [[("get", "k")], [("get", "k")]])
        assert outcome.verdict is Verdict.LINEARIZABLE

    def test_what_outlives_an_object(self) -> None:
        Shared.items.clear()
        with pytest.raises(ValueError, match=r"outlives objects|the first time and"):
            run(Shared, [("put", unique), ("all",)], duration=20)

    def test_with_a_reset_it_can(self) -> None:
        outcome = run(Shared, [("put", unique), ("all",)], reset=Shared.items.clear)
        assert outcome.verdict is not Verdict.ILLEGAL

    def test_one_that_waits_too_often(self) -> None:
        spec = Sequential(queue.Queue)
        spec._waiting = 10_000
        with pytest.raises(SpecError, match=r"get\(\) waits for other threads so often"):
            spec.step((), "get", ())

    def test_a_factory_that_fails(self) -> None:
        def fails() -> Any:
            raise KeyError("here")

        with pytest.raises(KeyError):
            run(fails, [("get",)])


def test_answers_are_those_of_the_object() -> None:
    spec = Sequential(lambda: LockedList())
    calls = (("append", (7,)), ("pop", ()))
    assert spec.step(calls[:1], *calls[1]) == (calls, 7)
    assert spec.step(calls, "pop", ())[1] == Raised(IndexError)
    assert spec.describe(calls) == "append(7); pop()"


class Slow(Locked):
    """Takes some time to be made, and sleeps a little without waiting for others."""

    def __init__(self) -> None:
        time.sleep(0.2)
        super().__init__()

    def increment(self) -> int:
        time.sleep(0.01)
        return super().increment()


class Slower(Locked):
    """Sleeps for long if it is called first, which looks as if it waited for the other call."""

    def open(self) -> bool:
        with self.lock:
            self.n += 1
            is_first = self.n == 1
        if is_first:
            time.sleep(0.8)
        return is_first


def test_a_call_that_sleeps_does_not_wait_for_others() -> None:
    outcome = run(Slow, [("increment",)], threads=2, length=2, rounds=2, duration=60)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary
    with pytest.raises(SpecError, match=r"open\(\) returns only after 0.5 s or more if one thread calls it alone"):
        run(Slower, [], roles=[[("open",)], [("increment",)]], threads=2, length=1, duration=60)


def test_a_thread_without_a_processor_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine is one where a millisecond is long."""
    monkeypatch.setattr(stress.sequential, "PATIENCE", (0.001, 0.5))
    outcome = run(Locked, [("increment",), ("value",)], threads=3, rounds=40, duration=60)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


class Spinning:
    """A taker goes round and round until something is there."""

    def __init__(self) -> None:
        self.items: deque[Any] = deque()

    def put(self, item: Any) -> None:
        self.items.append(item)

    def take(self) -> Any:
        while True:
            try:
                return self.items.popleft()
            except IndexError:
                continue


def test_who_goes_round_and_round_waits() -> None:
    assert Sequential(Spinning).step((), "take", ()) is WAITS


class Reentering(Locked):
    """Takes its lock twice, and waits for itself."""

    def increment(self) -> int:
        with self.lock:
            return super().increment()


def test_of_a_call_that_never_returns_nothing_is_known() -> None:
    outcome = stress.explore(Reentering, None, [[("increment",)], [("increment",)]])
    assert outcome.verdict is Verdict.UNKNOWN
    assert "increment() never returned in any schedule" in outcome.summary


class Returning:
    """A call that begins, and returns between two looks at the note which the other thread makes of it."""

    calls, is_given_up = ((("value", ()),)), False

    def __init__(self) -> None:
        self.notes = iter([None, time.monotonic(), None, None])

    @property
    def since(self) -> float | None:
        return next(self.notes)


class Ending:
    """A thread that is alive at the first look only."""

    native_id = None

    def __init__(self) -> None:
        self.alive = iter([True, False])

    def is_alive(self) -> bool:
        return next(self.alive)

    def join(self, seconds: float) -> None:
        pass


def test_a_call_may_return_while_it_is_looked_at() -> None:
    watch: Any = Returning()
    thread: Any = Ending()

    Sequential(Lru)._attend(thread, watch)

    assert not watch.is_given_up
