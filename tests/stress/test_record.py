"""The recorder: it writes down what threads saw, in a true order, and disturbs them little."""

from __future__ import annotations

import gc
import re
import sys
import threading
from functools import partial, wraps
from itertools import count, pairwise
from queue import SimpleQueue
from typing import Any

import pytest

from stress import UNSEEN, Counter, Deferred, Map, Raised, Spec, Stuck, Verdict, check, freeze, record
from stress.recorder import record as recorder
from stress.recorder.progress_log import ProgressLog
from tests.stress.objects import LockedCounter
from tests.stress.test_around import BlockingSpec


class Anything(Spec):
    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        return state, None


def one_each(*calls: Any) -> Any:
    """Plans of one round: the calls of each thread."""
    return [[list(each)] for each in calls]


@pytest.mark.parametrize(("clock", "yields"), [("ticket", 0.0), ("ticket", 0.2), ("monotonic", 0.2)])
def test_all_that_was_called_is_there_in_a_true_order(clock: str, yields: float) -> None:
    plans: Any = [[[("increment", ()), ("value", ())] for _ in range(40)]] * 3
    history = record(LockedCounter(), plans, Counter(), clock=clock, yields=yields)
    assert (len(history), history.header["clock"]) == (240, clock)
    assert sorted(each.result for each in history if each.op == "increment") == list(range(1, 121))  # type: ignore[type-var]
    threads = [[each for each in history if each.thread == thread] for thread in range(3)]
    for mine in threads:
        assert [each.op for each in mine] == ["increment", "value"] * 40
        assert all(one.call <= (one.returned or 0) <= other.call for one, other in pairwise(mine))
    rounds = [[each for mine in threads for each in mine[at : at + 2]] for at in range(0, 80, 2)]
    for one, other in pairwise(rounds):  # rounds do not overlap
        assert max(each.returned or 0 for each in one) < min(each.call for each in other)
    assert check(history, Counter()).verdict is Verdict.LINEARIZABLE
    assert clock != "ticket" or len({tick for each in history for tick in (each.call, each.returned)}) == 480
    assert not yields or history.overlap > 0.3  # who gives way is met


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


def test_overlap_is_the_share_of_operations_that_met_another() -> None:
    plans: Any = [[[("outer", ())], [("alone", ())]], [[("inner", ())], []]]
    assert record(OneAfterAnother(), plans, Anything()).overlap == pytest.approx(2 / 3)


class Shelf:
    """Methods with parameters of all kinds; `label` is no method."""

    label = "shelf"
    insert: Any = [].insert
    pick = staticmethod(partial(max, 1))

    def put(self, item: Any) -> None: ...
    def broken(self, item: Any) -> None:
        self.put()  # type: ignore[call-arg]

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


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("explode", ()), "Shelf has no method 'explode', which an operation names"),
        (("label", ()), "Shelf has no method 'label', which an operation names"),
        (("put", ()), "the operation 'put' has no arguments, but the method is Shelf.put(item)"),
        (("put", (1, 2)), "the operation 'put' has 2 arguments, but the method is Shelf.put(item)"),
        (("get", ()), "the operation 'get' has no arguments, but the method is Shelf.get(item, default=None)"),
        (("wait", (1,)), "the operation 'wait' has 1 argument, but the method is Shelf.wait(*, seconds=0.0)"),
        (("move", (1,)), "the operation 'move' has 1 argument, but the method is Shelf.move(item, *, to)"),
        (("size", ()), "the operation 'size' has no arguments, but the method is Shelf.size(unit)"),
        (("insert", (1,)), "the operation 'insert' has 1 argument, but the method is Shelf.insert(index, object, /)"),
    ],
)
def test_a_call_that_the_object_cannot_take_is_refused_before_any_thread_runs(call: Any, told: str) -> None:
    """What it raises is no answer."""
    with pytest.raises((AttributeError, ValueError), match=f"^{re.escape(told)}$"):
        record(Shelf(), one_each([("put", (1,)), call]), Anything())


@pytest.mark.parametrize(
    "call",
    [
        ("get", (1,)), ("get", (1, 2)), ("put_many", ()), ("put_many", (1, 2)), ("wait", ()), ("size", ("m",)),
        ("handed", ()), ("handed", (1, 2, 3)), ("pick", (2,)), ("anything", (1, 2, 3)), ("broken", (1,)),
    ],
)  # fmt: skip
def test_what_fits_is_called_and_an_error_in_a_method_is_an_answer(call: Any) -> None:
    (called,) = record(Shelf(), one_each([call]), Anything())
    assert called.result == Raised("TypeError") if call[0] == "broken" else not isinstance(called.result, Raised)


def test_exceptions_are_answers() -> None:
    history = record({"a": 1}, one_each([("pop", ("a",)), ("pop", ("a",))]), Map())
    assert [each.result for each in history] == [1, Raised("KeyError")]


class Snapshots:
    """`honest` snapshots are copies, `shared` ones are the list itself, and `broken` ones cannot be read."""

    def __init__(self) -> None:
        self.items: list[int] = []
        self.go_on = threading.Event()

    def append(self, item: int) -> None:
        self.items.append(item)

    def wait(self) -> None:
        self.go_on.wait()

    def honest(self) -> Deferred:
        taken = list(self.items)
        return Deferred(lambda: taken)

    def shared(self) -> Deferred:
        return Deferred(lambda: self.items)

    def broken(self) -> Deferred:
        return Deferred(lambda: 1 // 0)


class Reads(Anything):
    """A specification that reads answers. Its runs once ended by its TypeError if there was an exception to read."""

    def normalise(self, op: str, result: Any) -> Any:
        return super().normalise(op, result if op == "append" else frozenset(map(freeze, result)))


@pytest.mark.parametrize(
    ("op", "spec", "answer"),
    [
        ("honest", Anything(), (1,)),
        *(("shared", spec, Raised("SnapshotChanged")) for spec in (Anything(), Reads())),
        *(("broken", spec, Raised("ZeroDivisionError")) for spec in (Anything(), Reads())),
    ],
)
def test_a_snapshot_is_read_when_its_round_is_over_and_later(op: str, spec: Spec, answer: Any) -> None:
    rounds: Any = [[("append", (1,)), (op, ())], [("append", (2,))]]
    found: Any = record(Snapshots(), [rounds], spec).operations[1].result
    assert found == answer
    assert op != "shared" or found.message == "first [1], later [1, 2]"


def test_a_snapshot_of_a_round_that_did_not_end_was_not_seen() -> None:
    object_ = Snapshots()
    with pytest.raises(Stuck, match=r"nothing has moved for 1 s: thread 1 in wait\(\) never returned") as stuck:
        record(object_, one_each([("append", (1,)), ("honest", ())], [("wait", ())]), Anything(), patience=1)
    object_.go_on.set()  # let its thread end
    found = {each.op: (each.result, each.pending) for each in stuck.value.history}
    assert found == {"append": (None, False), "honest": (UNSEEN, False), "wait": (UNSEEN, True)}


def test_a_snapshot_of_a_round_that_takes_long_is_not_read_before_its_end() -> None:
    """Where nothing moves, the specification is asked meanwhile whether all may wait. On a busy machine under
    ThreadSanitizer, a campaign once ended by that question: the snapshot was said to have changed."""
    object_, answers = Snapshots(), []

    class Asked(Anything):
        def normalise(self, op: str, result: Any) -> Any:
            answers.append(result)
            object_.go_on.set()
            return super().normalise(op, result)

    record(object_, one_each([("append", (1,)), ("honest", ())], [("wait", ())]), Asked())
    assert set(answers) == {None, (1,)}


class Handed(SimpleQueue[Any]):
    def look(self) -> None: ...


def test_whoever_waits_in_the_first_call_of_a_round_is_seen_to_wait() -> None:
    handed = Handed()
    rounds: Any = [[("put", (1,)), ("get", ())], [("get", ())]]
    with pytest.raises(Stuck):  # at once: the patience is longer than this test may take
        record(handed, [rounds, rounds], BlockingSpec(), patience=10_000)
    handed.put(1)
    handed.put(2)


def test_a_thread_that_has_not_begun_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system lets thread 0 run again only when the other thread has been found to wait."""
    asked, begun = threading.Event(), threading.Event()
    meet, all_sleep = recorder._Recording.meet, recorder._all_sleep

    def after_the_other(batch: Any, number: int, *more: Any) -> Any:
        if number == 0 and not begun.is_set():
            begun.set()
            assert asked.wait(60)
        return meet(batch, number, *more)

    def ask(threads: Any) -> bool:
        sleep = all_sleep(threads)
        if begun.is_set():
            asked.set()
        return sleep

    monkeypatch.setattr(recorder._Recording, "meet", after_the_other)
    monkeypatch.setattr(recorder, "_all_sleep", ask)
    history = record(Handed(), one_each([("put", (1,))], [("get", ())]), BlockingSpec(), patience=600)
    assert {each.describe() for each in history} == {"put(1) -> None", "get() -> 1"}


def test_calls_are_prepared_without_yields() -> None:
    """Else a run of short rounds takes twice as long."""
    seen: list[Any] = []

    class Watched:
        @property
        def look(self) -> Any:
            seen.append(sys.gettrace() if threading.current_thread().name == "stress-0" else None)
            return int

    record(Watched(), one_each([("look", ())]), Anything(), yields=0.5)
    assert seen == [None] * len(seen) != []


def test_no_thread_makes_a_call_after_the_batch_was_given_up() -> None:
    made: list[int] = []
    batch = recorder._Recording(one_each([("append", (1,))], [("append", (1,))]), count().__next__, [made], None, None)
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

    record(Spy(), one_each([("look", ())]), Anything())
    record(Spy(), one_each([("look", ())]), Anything(), collect=True)
    assert [enabled for _, enabled in seen] == [False, collecting]
    assert all(during < interval for during, _ in seen)
    assert (sys.getswitchinterval(), gc.isenabled()) == (interval, collecting)


@pytest.mark.parametrize("garbage", [-1, 20, 2**62])
def test_a_count_or_phase_of_garbage_that_a_dying_process_wrote(garbage: int) -> None:
    log, plan = ProgressLog(1), [[[("get", (at,)) for at in range(20)]]]
    log.begin(3)
    for at in (0, 7):
        log.returned[0] = at
        assert [each.describe() for each in log.running(plan)] == [f"get({at}) never returned"]
    log.returned[0], log._state[0] = garbage, 77
    assert (log.running(plan), log.phase) == ((), "doing what it did not note")
