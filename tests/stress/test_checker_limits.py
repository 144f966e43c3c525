"""Large histories: what is quick although a search through all orders would be hopeless, and what a budget ends."""

from __future__ import annotations

import itertools
import textwrap
import time
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from stress import (
    UNSEEN,
    Budget,
    Counter,
    Excerpt,
    KeyValue,
    Map,
    Operation,
    Queue,
    Register,
    Set,
    Spec,
    Stack,
    Verdict,
    check,
    one_of,
    unique,
)
from stress.checker.segment import Segment
from stress.recorder.workload import Draw
from tests.scripts import run_script
from tests.stress.test_checker import operations_of
from tests.tries.mutants.brute_force import answer

pytestmark = pytest.mark.once  # the checker alone, which is the same everywhere

RIGHT, WRONG, OPEN = Verdict.LINEARIZABLE, Verdict.ILLEGAL, Verdict.UNKNOWN


def recorded(spec: Spec, operations: Sequence[Any], count: int, width: int, pending: float = 0.0) -> list[Operation]:
    """A right history. Operations take effect one every ten ticks, less than `width` after their call and before their
    return. Some never return, and half of these take no effect.
    """
    random, fresh = Random(f"{spec.name}, {count}, {width}"), itertools.count(1).__next__
    state, found = spec.initial, []
    for number in range(count):
        op, *given = random.choice(operations)
        args = tuple(each.draw(random, fresh) if isinstance(each, Draw) else each for each in given)
        after, result = answer(spec, state, (op, args), random)
        is_lost = random.random() < pending
        state = after if not is_lost or random.random() < 0.5 else state
        called, returned = 10 * number - random.randrange(width), 10 * number + random.randrange(width)
        told = (None, op, args, UNSEEN) if is_lost else (returned, op, args, result)
        found.append(Operation(number, number, called, *told))
    return found


VALUE = one_of(*range(100))
PUT, GET = ("enqueue", unique), ("dequeue",)


@pytest.mark.parametrize(
    ("spec", "operations", "count", "width", "pending", "steps_each"),
    [
        (Counter(), [("increment",), ("value",)], 5_000, 9, 0.0, 20),
        (Register(), [("read",), ("write", VALUE), ("cas", VALUE, VALUE)], 300, 50, 0.2, 300),
        (Register(), [("read",), ("write", unique)], 1_500, 150, 0.0, 60),
        *((Queue(), [PUT] * puts + [GET] * (6 - puts), 3_000, 10 * threads, 0.0, 60)
          for threads in (2, 8, 16) for puts in (2, 3, 4)),
    ],
)  # fmt: skip
def test_a_right_history_takes_few_steps(
    spec: Spec, operations: list[Any], count: int, width: int, pending: float, steps_each: int
) -> None:
    judgement = check(recorded(spec, operations, count, width, pending), spec)
    assert judgement.verdict is RIGHT
    assert judgement.steps < steps_each * count


Row = tuple[Any, ...]


def overlapping(op: str) -> list[Row]:
    """Twelve overlap at any time, so a search is hopeless as long as only their order is wrong."""
    return [(10 * at, 10 * at + 119, op, (1_000 + at,), None) for at in range(200)]


def after(op: str, *answers: Any, at: int = 9_000) -> list[Row]:
    """One after another."""
    return [(at + 2 * number, at + 2 * number + 1, op, (), each) for number, each in enumerate(answers)]


PUTS, PUSHES, WRITES = map(overlapping, ("enqueue", "push", "write"))
FEW_PUTS, FEW_PUSHES = ([(*row, (args[0] % 3,), None) for *row, args, _ in rows] for rows in (PUTS, PUSHES))
ONE_AFTER_THE_OTHER = [
    row
    for at in range(1, 300)
    for row in ((10 * at, 10 * at + 1, "enqueue", (at,), None), (10 * at + 2, 10 * at + 3, "dequeue", (), at - 1))
]
"""As soon as the first value is in the queue, it is never empty."""
LARGE: dict[str, tuple[Spec, list[Row], Verdict, set[Any] | None]] = {
    "a queue with values at the start": (Queue(["first", "second"]), PUTS + after("dequeue", "first", "second"),
    RIGHT, None),
    "a queue with a put that never returned": (Queue(), [*PUTS, (0, None, "enqueue", (7,), 0), *after("dequeue", 7)],
    RIGHT, None),
    "a queue, last in first out": (
        Queue(), [*PUTS, (5_000, 5_001, "enqueue", ("a",), None), (5_002, 5_003, "enqueue", ("b",), None),
                  *after("dequeue", 1_000, "b", "a")], WRONG, {1_001, "b"},
    ),
    "a queue in the wrong order": (Queue(), PUTS + after("dequeue", 1_150, 1_000), WRONG, {1_000, 1_150}),
    "a queue that lost values": (Queue(), PUTS + after("dequeue", 1_150), WRONG, {1_000, 1_150}),
    "a queue that may have lost values to a get that nobody saw": (
        Queue(), [*PUTS, (4_000, None, "dequeue", (), None), *after("dequeue", 1_150)], OPEN, None,
    ),
    "a queue whose first value was overtaken": (Queue(["first"]), PUTS + after("dequeue", 1_000), WRONG, {"first",
    1_000}),
    "a queue that was found empty": (Queue(), PUTS + after("dequeue", None), WRONG, {1_000}),
    "a queue that was found empty, with one value after the other in it": (
        Queue(),
        [(0, 1, "enqueue", (0,), None), *ONE_AFTER_THE_OTHER, (1_000, 1_100, "dequeue", (), None),
         *((at, 3_500 + at, "enqueue", (1_000 + at,), None) for at in range(3_100, 3_130))], WRONG, None,
    ),
    **{f"a {spec.name} of few values that was found empty": (spec, puts + after(get, None), WRONG, {1})
       for spec, puts, get in ((Queue(), FEW_PUTS, "dequeue"), (Stack(), FEW_PUSHES, "pop"))},
    "a queue that gave a value twice": (Queue(), PUTS + after("dequeue", 1_000, 1_000), WRONG, None),
    "a queue that gave what nobody put": (Queue(), PUTS + after("dequeue", 1_000, 777), WRONG, None),
    **{f"a {spec.name} that gave {told}, where another value came twice": (
        spec, [*puts, (8_000, 8_001, puts[0][2], (1_000,), None), *rows], WRONG, {777})
       for spec, puts, get in ((Queue(), PUTS, "dequeue"), (Stack(), PUSHES, "pop"))
       for told, rows in (
           ("what nobody put", [*after(get, 777), (9_100, None, get, (), None)]),
           ("a value before it was put", [*after(get, 777), (9_500, 9_501, puts[0][2], (777,), None)]),
           ("a value twice", [(7_000, 7_001, puts[0][2], (777,), None), *after(get, 777, 777)]))},
    "a stack": (
        Stack(), PUSHES[:198] + after("pop", *(1_000 + at + 5 - 2 * (at % 6) for at in range(197, -1, -1))), RIGHT, None,
    ),
    "a stack, first in first out": (
        Stack(), [*PUSHES, *after("pop", 1_000, at=3_000), (3_002, 3_003, "push", (1,), None)], WRONG, {1_000, 1_012},
    ),
    "a stack that was found empty": (Stack(), PUSHES + after("pop", None), WRONG, {1_000}),
    "a register that shows an earlier value again": (Register(), WRITES + after("read", 1_190, 1_191), WRONG, {1_190,
    1_191}),
    "a register that shows what nobody wrote": (Register(), [*WRITES, (901, 907, "read", (), 7_777)], WRONG, None),
    "a register that shows what was written later": (Register(), [*WRITES, (901, 907, "read", (), 1_150)], WRONG, None),
    "many additions that were seen or not": (
        Set(),
        [*((at, None if at % 2 else at + 3, "add", (at,), None) for at in range(200)),
         (1_000, 1_001, "read", (), frozenset(at for at in range(200) if at % 4 != 3))], RIGHT, None,
    ),
    "thirty writes that may have happened or not": (
        Register(), [*((at, None, "write", (at % 5,), 0) for at in range(30)), *after("read", 3, 1, 4, 77)], WRONG, None,
    ),
    "texts that grow without end": (
        KeyValue(), [*((at, None, "append", ("k", f"{at} "), 0) for at in range(14)),
                     (100, 101, "get", ("k",), "nobody wrote this")], OPEN, None,
    ),
    "one of 5,040 orders fits what is read two cuts later": (
        KeyValue(), [*((at, 100 + at, "append", ("k", f"{at:x}"), None) for at in range(7)),
                     (200, 201, "put", ("other", 1), None), (300, 301, "get", ("k",), "6543210")], RIGHT, None,
    ),
    "a hard part does not hide a refuted one": (
        Map(), [*((at, 1_000 + at, "put", ("hard", at), None) for at in range(14)), (3_000, 3_001, "get", ("hard",), 99),
                (2_000, 2_001, "put", ("easy", 1), None), (2_002, 2_003, "get", ("easy",), 2)], WRONG, None,
    ),
    "nor does it if a read joins them": (
        Map(), [*((at, 3_000 + at, "put", ("hard", at), None) for at in range(14)), (1, 3_500, "len", (), 2),
                (2_000, 2_001, "put", ("easy", 1), None), (2_002, 2_003, "get", ("easy",), 2)], WRONG, None,
    ),
}  # fmt: skip
STEPS = 100_000


@pytest.mark.parametrize("name", LARGE)
def test_a_large_history(name: str) -> None:
    spec, rows, verdict, elements = LARGE[name]
    judgement = check(operations_of(*rows), spec, budget=Budget(steps=STEPS))
    assert judgement.verdict is verdict
    if elements is not None:
        assert judgement.failure is not None
        assert set(judgement.failure.elements or ()) == elements
        assert judgement.failure.projected


@pytest.mark.parametrize("name", ["a stack", "a register that shows an earlier value again"])
def test_without_a_glance_the_search_does_not_come_to_an_end(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, rows, _, _ = LARGE[name]
    monkeypatch.setattr(type(spec), "glance", Spec.glance)
    assert check(operations_of(*rows), spec, budget=Budget(steps=STEPS)).verdict is OPEN


def test_a_failure_ends_with_the_return_that_shows_it() -> None:
    failure = check(operations_of((9_001, 9_007, "read", (), 7_777), *WRITES), Register()).failure
    assert failure is not None
    assert max(failure.operations, key=lambda each: each.returned or 0).id == 0
    assert all(each.call < 9_007 for each in failure.operations)


def test_what_was_tried_is_remembered_by_what_runs_at_once_however_long_the_history() -> None:
    """One read lasts from the first call to the last; the other calls overlap only their neighbours."""
    short = [(10 * at, 10 * at + 12, "write", (at,), None) for at in range(1_000)]
    segment = Segment(operations_of((-1, 20_000, "read", (), 7), *short), Register())
    assert max(segment.slots).bit_length() == len(segment.operations).bit_length() + 3


class Suggesting(Register):
    """Makes the suggestion that it was given, and counts how often it was asked."""

    def __init__(self, suggestion: Spec | Excerpt | None) -> None:
        super().__init__()
        self.suggestion, self.asked = suggestion, 0

    def glance(self, operations: Sequence[Operation], start: Any) -> Spec | Excerpt | None:
        self.asked += 1
        return self.suggestion


class NothingGoes(Register):
    def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Any) -> tuple[()]:
        return ()


HARD_WRITES = [(at, 1_000 + at, "write", (at,), None) for at in range(13)]
"""The search must find out which of them was the last one, so it takes more than one turn."""


@pytest.mark.parametrize(
    "suggestion",
    [None, NothingGoes(), Excerpt([0], operations_of(*HARD_WRITES[:3]))],
    ids=["none", "a narrower object that allows nothing", "an excerpt that is right"],
)
def test_a_suggestion_does_not_change_the_verdict(suggestion: Spec | Excerpt | None) -> None:
    for reads, verdict in ((after("read", 0), RIGHT), (after("read", 0, 1), WRONG)):
        spec = Suggesting(suggestion)
        assert check(operations_of(*HARD_WRITES, *reads), spec).verdict is verdict
        assert spec.asked == 1


HARD = operations_of(
    *((at, 1_000 + at, "enqueue", (at,), None) for at in range(14)),
    (1_500, 1_501, "enqueue", (98,), None), *after("dequeue", 13, 0, 98), (9_100, 9_101, "enqueue", (13,), None),
)  # fmt: skip
"""Fourteen values, enqueued in an order that nobody saw. One that came later is dequeued before most of them. One of
them comes twice, so the checker cannot tell the order at a glance."""


@pytest.mark.parametrize(
    ("budget", "spent"),
    [
        (Budget(steps=10_000), "10,000 steps"),
        (Budget(steps=20_000), "20,000 steps"),
        (Budget(seconds=0), "0 seconds"),
        (Budget(seconds=0.05), "0.05 seconds"),
    ],
)
def test_a_budget_ends_in_unknown_and_is_told(budget: Budget, spent: str) -> None:
    judgement = check(HARD, Queue(), budget=budget)
    assert (judgement.verdict, judgement.spent, bool(judgement)) == (OPEN, spent, False)
    assert judgement.steps < budget.steps + 1_000  # the last turn is no longer than what is left
    assert Budget().megabytes <= 400
    assert check([], Queue()).spent == ""
    reads = operations_of(*((at, 9 - at, "value", (), -1) for at in range(3)))  # a walk of reads alone costs, too
    assert check(reads, Counter(), starts=range(30_000), budget=Budget(steps=10_000)).verdict is OPEN


def test_too_little_memory_ends_in_unknown() -> None:
    """Only memory that the check adds counts, not what its process had before, and not the parent's memory."""
    script = """
        from stress import Budget, Operation, Queue, check
        from stress.checker.check import megabytes_in_use

        puts = [Operation(at, at, at, 1_000 + at, "enqueue", (at % 9,), None) for at in range(22)]
        gets = [Operation(22 + at, 22, 2_000 + at, 2_000 + at, "dequeue", (), 0) for at in range(3)]
        before = megabytes_in_use()
        judgement = check([*puts, *gets], Queue(), budget=Budget(megabytes=50))
        print(judgement.verdict.name, judgement.spent, judgement.steps < 300_000, megabytes_in_use() - before < 100)
    """
    beginner = f"""
        import subprocess, sys
        ballast = bytes(range(256)) * (300 * 2**12)
        subprocess.run([sys.executable, "-c", {textwrap.dedent(script)!r}], check=True)
    """
    assert run_script(textwrap.dedent(beginner)) == (0, "UNKNOWN 50 MB True True\n", "")


def test_the_clock_is_read_during_a_turn_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock advances by a second at each reading."""
    readings = itertools.count()
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: float(next(readings)))
        judgement = check(HARD, Queue(), budget=Budget(steps=200_000, seconds=100))
    assert judgement.verdict is OPEN
    assert judgement.steps < 50_000
