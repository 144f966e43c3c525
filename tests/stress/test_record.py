"""The recorder: it writes down what threads saw, in a true order, and disturbs them little."""

from __future__ import annotations

import gc
import re
import sys
import threading
from collections.abc import Sequence
from functools import partial, wraps
from itertools import count, pairwise
from queue import SimpleQueue
from typing import Any

import pytest

from stress import UNSEEN, WAITS, Counter, Deferred, History, Map, Raised, Spec, Stuck, Verdict, check, freeze, record
from stress.recorder import record as recorder

Plans = list[list[list[tuple[str, tuple[Any, ...]]]]]


class Locked:
    """A correct counter."""

    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n

    def value(self) -> int:
        return self.n


def same_calls(threads: int, rounds: int, calls: Sequence[str]) -> Plans:
    return [[[(op, ()) for op in calls] for _ in range(rounds)] for _ in range(threads)]


def of_thread(history: History, thread: int) -> list[Any]:
    return [each for each in history if each.thread == thread]


@pytest.mark.parametrize("clock", ["ticket", "monotonic"])
@pytest.mark.parametrize("yields", [0.0, 0.2])
def test_everything_that_was_called_is_there_in_order(clock: str, yields: float) -> None:
    history = record(Locked(), same_calls(3, 20, ["increment", "value"]), Counter(), clock=clock, yields=yields)

    assert len(history) == 3 * 20 * 2
    counted: list[Any] = [each.result for each in history if each.op == "increment"]
    assert sorted(counted) == list(range(1, 61))
    for thread in range(3):
        mine = of_thread(history, thread)
        assert [each.op for each in mine] == ["increment", "value"] * 20
        assert all(one.call <= one.returned <= other.call for one, other in pairwise(mine))
    assert check(history, Counter()).verdict is Verdict.LINEARIZABLE
    assert history.header["clock"] == clock


def test_tickets_are_unique() -> None:
    history = record(Locked(), same_calls(4, 10, ["increment"] * 5), Counter())

    ticks = [tick for each in history for tick in (each.call, each.returned)]
    assert len(set(ticks)) == len(ticks)


def test_rounds_do_not_overlap() -> None:
    history = record(Locked(), same_calls(3, 15, ["increment"] * 4), Counter())

    rounds = [
        [each for thread in range(3) for each in of_thread(history, thread)[at : at + 4]] for at in range(0, 60, 4)
    ]
    for one, other in pairwise(rounds):
        assert max(each.returned or 0 for each in one) < min(each.call for each in other)


def test_giving_way_makes_threads_meet() -> None:
    history = record(Locked(), same_calls(2, 40, ["increment"] * 4), Counter(), yields=0.2)

    assert history.overlap > 0.3


class OneAfterAnother:
    """Its operations hand over to each other in a fixed order, so it is known which of them overlap."""

    def __init__(self) -> None:
        self.inside, self.over = threading.Event(), threading.Event()

    def outer(self) -> None:
        self.inside.set()
        assert self.over.wait(60)

    def inner(self) -> None:
        assert self.inside.wait(60)
        self.over.set()

    def alone(self) -> None:
        pass


class Anything(Spec):
    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        return state, None


def test_overlap_is_the_share_of_operations_that_met_another() -> None:
    plans: Plans = [[[("outer", ())], [("alone", ())]], [[("inner", ())], []]]

    history = record(OneAfterAnother(), plans, Anything())

    assert history.overlap == pytest.approx(2 / 3)


def test_exceptions_are_answers() -> None:
    history = record({"a": 1}, [[[("pop", ("a",)), ("pop", ("a",))]]], Map())

    assert [each.result for each in history] == [1, Raised("KeyError")]


def test_answers_are_frozen() -> None:
    class Lists:
        def get(self) -> list[Any]:
            return [1, {2}, {"k": [3]}]

    (got,) = record(Lists(), [[[("get", ())]]], Anything())

    assert got.result == (1, frozenset({2}), frozenset({("k", (3,))}))


@pytest.mark.parametrize("view", [{}.items(), iter([1]), bytearray(b"x")])
def test_an_answer_that_may_still_change_is_refused(view: Any) -> None:
    with pytest.raises(TypeError, match="change"):
        freeze(view)


class Shelf:
    """Methods with parameters of all kinds; `label` is no method."""

    label = "shelf"
    insert: Any = [].insert
    pick = staticmethod(partial(max, 1))

    def put(self, item: Any) -> None: ...
    def get(self, item: Any, default: Any = None) -> None: ...
    def put_many(self, *items: Any) -> None: ...
    def wait(self, *, seconds: float = 0.0) -> None: ...
    def move(self, item: Any, *, to: int) -> None: ...
    @staticmethod
    def size(unit: str) -> None: ...
    @wraps(get)
    def handed(self, *given: Any) -> None: ...  # takes another number of arguments than what it wraps
    def __getattr__(self, name: str) -> Any:
        if name != "anything":
            raise AttributeError(name)
        return lambda *_: None


class TestCallersMistakes:
    """Calls that the object cannot take are refused before any thread runs. What they raise is no answer."""

    @pytest.mark.parametrize("op", ["explode", "label"])
    def test_a_missing_method(self, op: str) -> None:
        with pytest.raises(AttributeError, match=f"^Shelf has no method '{op}', which an operation names$"):
            record(Shelf(), [[[(op, ())]]], Anything())

    @pytest.mark.parametrize(
        ("call", "told"),
        [
            (("put", ()), "'put' has no arguments, but the method is Shelf.put(item)"),
            (("put", (1, 2)), "'put' has 2 arguments, but the method is Shelf.put(item)"),
            (("get", ()), "'get' has no arguments, but the method is Shelf.get(item, default=None)"),
            (("wait", (1,)), "'wait' has 1 argument, but the method is Shelf.wait(*, seconds=0.0)"),
            (("move", (1,)), "'move' has 1 argument, but the method is Shelf.move(item, *, to)"),
            (("size", ()), "'size' has no arguments, but the method is Shelf.size(unit)"),
            (("insert", (1,)), "'insert' has 1 argument, but the method is Shelf.insert(index, object, /)"),
        ],
    )
    def test_a_wrong_number_of_arguments(self, call: Any, told: str) -> None:
        with pytest.raises(ValueError, match=f"^{re.escape(f'the operation {told}')}$"):
            record(Shelf(), [[[("put", (1,)), call]]], Anything())

    @pytest.mark.parametrize(
        "call",
        [
            ("get", (1,)), ("get", (1, 2)), ("put_many", ()), ("put_many", (1, 2)), ("wait", ()), ("size", ("m",)),
            ("handed", ()), ("handed", (1, 2, 3)), ("pick", (2,)), ("anything", (1, 2, 3)),
        ],
    )  # fmt: skip
    def test_what_fits_is_called(self, call: Any) -> None:
        (called,) = record(Shelf(), [[[call]]], Anything())

        assert not isinstance(called.result, Raised)

    def test_an_error_in_a_method_is_an_answer(self) -> None:
        class Broken:
            def put(self, item: Any) -> None:
                self.put()  # type: ignore[call-arg]

        (called,) = record(Broken(), [[[("put", (1,))]]], Anything())

        assert called.result == Raised("TypeError")


class TestDeferred:
    class Snapshots:
        """`honest` snapshots are copies, `shared` ones are the list itself, and `broken` ones cannot be read."""

        def __init__(self) -> None:
            self.items: list[int] = []

        def append(self, item: int) -> None:
            self.items.append(item)

        def honest(self) -> Deferred:
            taken = list(self.items)
            return Deferred(lambda: taken)

        def shared(self) -> Deferred:
            return Deferred(lambda: self.items)

        def broken(self) -> Deferred:
            return Deferred(lambda: 1 // 0)

    def snapshots(self, op: str) -> Any:
        rounds: Any = [[("append", (1,)), (op, ())], [("append", (2,))]]
        return record(self.Snapshots(), [rounds], Anything()).operations[1].result

    def test_it_is_read_when_the_round_is_over(self) -> None:
        assert self.snapshots("honest") == (1,)

    def test_one_that_changes_later_answers_what_no_specification_allows(self) -> None:
        changed = self.snapshots("shared")

        assert changed == Raised("SnapshotChanged")
        assert changed.message == "first [1], later [1, 2]"

    def test_one_that_cannot_be_read_answers_the_exception(self) -> None:
        assert self.snapshots("broken") == Raised("ZeroDivisionError")

    @pytest.mark.parametrize("op", ["shared", "broken"])
    def test_the_exception_is_itself_to_a_specification_that_reads_answers(self, op: str) -> None:
        """Such a run once ended by the specification's TypeError, and nobody knew what had been raised."""

        class Reads(Anything):
            def normalise(self, op: str, result: Any) -> Any:
                return super().normalise(op, result if op == "append" else frozenset(map(freeze, result)))

        rounds: Any = [[("append", (1,)), (op, ())], [("append", (2,))]]
        raised = record(self.Snapshots(), [rounds], Reads()).operations[1].result
        assert raised == Raised("SnapshotChanged" if op == "shared" else "ZeroDivisionError")

    def test_one_of_a_round_that_did_not_end_was_not_seen(self) -> None:
        never = threading.Event()

        class Trap(TestDeferred.Snapshots):
            def wait(self) -> None:
                never.wait()

        with pytest.raises(Stuck) as stuck:
            record(Trap(), [[[("honest", ())]], [[("wait", ())]]], Anything(), patience=1)
        never.set()
        assert {each.op: each.result for each in stuck.value.history} == {"honest": UNSEEN, "wait": UNSEEN}

    def test_one_of_a_round_that_takes_long_is_not_read_before_its_end(self) -> None:
        """Where nothing moves, the specification is asked meanwhile whether all may wait. On a busy machine under
        ThreadSanitizer, a campaign once ended by that question: the snapshot was said to have changed."""
        asked, answers = threading.Event(), []

        class Slow(TestDeferred.Snapshots):
            def wait(self) -> None:
                asked.wait()

        class Asked(Anything):
            def normalise(self, op: str, result: Any) -> Any:
                answers.append(result)
                asked.set()
                return super().normalise(op, result)

        record(Slow(), [[[("append", (1,)), ("honest", ())]], [[("wait", ())]]], Asked())
        assert set(answers) == {None, (1,)}


class TestStuck:
    def test_an_operation_that_never_returns_is_reported_with_what_happened_before(self) -> None:
        class Trap(Locked):
            def __init__(self) -> None:
                super().__init__()
                self.never = threading.Event()

            def wait(self) -> None:
                self.never.wait()

        trap = Trap()
        plans: Plans = [[[("increment", ()), ("wait", ())]], [[("increment", ())]]]

        with pytest.raises(Stuck, match=r"nothing has moved for 1 s: thread 0 in wait\(\) never returned") as raised:
            record(trap, plans, Counter(), patience=1)

        trap.never.set()  # let its thread end
        assert len(raised.value.history) == 3
        assert [each.op for each in raised.value.history if each.pending] == ["wait"]
        assert all(each.result is UNSEEN for each in raised.value.history if each.pending)

    def test_whoever_waits_in_the_first_call_of_a_round_is_seen_to_wait(self) -> None:
        class Waits(Spec):
            initial = 0

            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return WAITS if op == "wait" else (state, None)

        class Trap:
            def __init__(self) -> None:
                self.never = threading.Event()

            def go(self) -> None:
                pass

            def wait(self) -> None:
                self.never.wait()

        trap, rounds = Trap(), [[("go", ())], [("wait", ())]]

        with pytest.raises(Stuck):  # at once: the patience is longer than this test may take
            record(trap, [rounds, rounds], Waits(), patience=10_000)

        trap.never.set()


class Handed:
    """One thread waits for what another one puts."""

    def __init__(self) -> None:
        self.items: SimpleQueue[int] = SimpleQueue()

    def put(self, item: int) -> None:
        self.items.put(item)

    def get(self) -> int:
        return self.items.get()


class Handing(Spec):
    initial: Any = ()

    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
        if op == "put":
            return (*state, args[0]), None
        return (state[1:], state[0]) if state else WAITS


def late(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The system lets thread 0 run again only when the other thread has been found to wait."""
    asked, original = threading.Event(), getattr(recorder._Recording, where)
    begun, all_sleep = threading.Event(), recorder._all_sleep

    def after_the_other(batch: Any, number: int, *more: Any) -> Any:
        if number == 0 and not begun.is_set():
            begun.set()
            assert asked.wait(60)
        return original(batch, number, *more)

    def ask(threads: Any) -> bool:
        try:
            return all_sleep(threads)
        finally:
            if begun.is_set():
                asked.set()

    monkeypatch.setattr(recorder._Recording, where, after_the_other)
    monkeypatch.setattr(recorder, "_all_sleep", ask)


def test_a_thread_that_has_not_begun_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    late(monkeypatch, "meet")

    history = record(Handed(), [[[("put", (1,))]], [[("get", ())]]], Handing(), patience=600)

    assert {each.describe() for each in history} == {"put(1) -> None", "get() -> 1"}


def test_no_thread_makes_a_call_after_the_batch_was_given_up() -> None:
    made: list[int] = []

    class Noted:
        def note(self) -> None:
            made.append(1)

    batch = recorder._Recording([[[("note", ())]], [[("note", ())]]], count().__next__, [Noted()], None, None)
    batch.barrier.wait = lambda: 0  # type: ignore[method-assign, assignment]
    batch.barrier.abort()
    batch.work(0, None)

    assert not made


def test_the_interpreter_is_left_as_it_was() -> None:
    interval, collecting = sys.getswitchinterval(), gc.isenabled()
    seen: list[tuple[float, bool]] = []

    class Spy:
        def look(self) -> None:
            seen.append((sys.getswitchinterval(), gc.isenabled()))

    record(Spy(), [[[("look", ())]]], Anything())
    record(Spy(), [[[("look", ())]]], Anything(), collect=True)

    assert [enabled for _, enabled in seen] == [False, collecting]
    assert all(during < interval for during, _ in seen)
    assert (sys.getswitchinterval(), gc.isenabled()) == (interval, collecting)
