"""Histories of queues, decided at a glance: the times of puts and gets show the order of the values."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from stress import UNSEEN, Budget, Excerpt, History, Operation, Queue, Raised, Register, Verdict, check
from stress.checker.check import is_linearizable
from stress.reports.report import report_on
from stress.reports.text import enumerated, render
from stress.spec import Spec

pytestmark = pytest.mark.once  # the checker alone, which is the same everywhere

FEW_STEPS = Budget(steps=100_000)


@dataclass
class Running:
    op: str
    value: int | None
    call: int
    effective: bool = False
    answer: int | None = None


def recorded(seed: int, count: int, threads: int, puts: float, lengths: float = 0.0) -> list[Operation]:
    """A right history of so many operations on a queue. Each takes effect between its call and its return."""
    random = Random(seed)
    content = deque[int]()
    running: dict[int, Running] = {}
    done: list[Operation] = []
    begun = now = 0
    while len(done) < count:
        now += 1
        idle = [thread for thread in range(threads) if thread not in running]
        if begun < count and idle and (not running or random.random() < 0.5):
            kind = "len" if random.random() < lengths else "enqueue" if random.random() < puts else "dequeue"
            running[random.choice(idle)] = Running(kind, begun if kind == "enqueue" else None, now)
            begun += 1
            continue
        thread = random.choice(list(running))
        here = running[thread]
        if not here.effective:
            here.effective = True
            if here.value is not None:
                content.append(here.value)
            elif here.op == "len":
                here.answer = len(content)
            elif content:
                here.answer = content.popleft()
        elif random.random() < 0.4:
            args = () if here.value is None else (here.value,)
            done.append(Operation(len(done), thread, here.call, now, here.op, args, here.answer))
            del running[thread]
    return done


def history(*rows: tuple[int, int | None, str, Any]) -> list[Operation]:
    """Operations from rows of call, return, name, and the value put or got. Each is by a thread of its own."""
    return [
        Operation(
            number, number, call, returned, op, (told,) if op == "enqueue" else (), told if op != "enqueue" else None
        )
        for number, (call, returned, op, told) in enumerate(rows)
    ]


OVERLAPPING = [(10 * at, 10 * at + 119, "enqueue", 1_000 + at) for at in range(200)]
"""Twelve overlap at any time, so a search is hopeless as long as only their order is wrong."""


class TestRightOnes:
    @pytest.mark.parametrize("puts", [0.35, 0.5, 0.65], ids=["often empty", "balanced", "growing"])
    @pytest.mark.parametrize("threads", [2, 8, 16])
    def test_of_thousands_of_operations(self, threads: int, puts: float) -> None:
        operations = recorded(threads, 3_000, threads, puts)

        assert check(operations, Queue(), budget=Budget(steps=300_000)).verdict is Verdict.LINEARIZABLE

    def test_with_values_at_the_start(self) -> None:
        spec = Queue(["first", "second"])
        gets = history(*OVERLAPPING, (5_000, 5_001, "dequeue", "first"), (5_002, 5_003, "dequeue", "second"))

        assert check(gets, spec, budget=FEW_STEPS).verdict is Verdict.LINEARIZABLE

    def test_with_a_put_that_never_returned_and_was_got(self) -> None:
        rows = [*OVERLAPPING, (0, None, "enqueue", 7), (3_000, 3_001, "dequeue", 7)]

        assert check(history(*rows), Queue(), budget=FEW_STEPS).verdict is Verdict.LINEARIZABLE


class TestWrongOnes:
    def refuted_by(self, *rows: tuple[int, int | None, str, Any], spec: Spec | None = None) -> set[Any]:
        judgement = check(history(*OVERLAPPING, *rows), spec or Queue(), budget=FEW_STEPS)
        assert judgement.verdict is Verdict.ILLEGAL
        assert judgement.failure is not None
        assert judgement.failure.projected
        return set(judgement.failure.elements or ())

    def test_last_in_first_out(self) -> None:
        rows = [(5_000, 5_001, "enqueue", "a"), (5_002, 5_003, "enqueue", "b")]
        rows += [(6_000 + 2 * at, 6_001 + 2 * at, "dequeue", each) for at, each in enumerate((1_000, "b", "a"))]
        assert self.refuted_by(*rows) == {1_001, "b"}

    def test_two_that_were_got_in_the_wrong_order(self) -> None:
        first, later = 1_000, 1_150
        assert self.refuted_by((5_000, 5_001, "dequeue", later), (5_002, 5_003, "dequeue", first)) == {first, later}

    def test_the_report_is_on_these_alone(self) -> None:
        operations = history(*OVERLAPPING, (5_000, 5_001, "dequeue", 1_150), (5_002, 5_003, "dequeue", 1_000))
        recording = History(tuple(operations))

        text = render(report_on(recording, Queue(), check(recording, Queue())))

        assert "3 of 202 operations, only as far as 1000 and 1150 go\n" in text

    @pytest.mark.parametrize(
        ("elements", "told"),
        [
            ([1], "1 goes"),
            ([1, 2], "1 and 2 go"),
            ([1, 2, 3, 4], "1, 2, 3 and 4 go"),
            (range(9), "0, 1, 2 and 6 others go"),
        ],
    )
    def test_the_report_names_a_few(self, elements: Sequence[int], told: str) -> None:
        assert enumerated(elements) == told

    def test_one_that_was_lost(self) -> None:
        assert self.refuted_by((5_000, 5_001, "dequeue", 1_150)) == {1_000, 1_150}

    def test_one_from_the_start_that_was_overtaken(self) -> None:
        assert self.refuted_by((5_000, 5_001, "dequeue", 1_000), spec=Queue(["first"])) == {"first", 1_000}

    def test_found_empty_though_it_never_was(self) -> None:
        assert 1_000 in self.refuted_by((5_000, 5_001, "dequeue", None))

    def test_found_empty_while_one_value_after_the_other_was_in_it(self) -> None:
        rows: list[tuple[int, int | None, str, Any]] = [(0, 1, "enqueue", 0)]
        for at in range(1, 300):
            rows += [(10 * at, 10 * at + 1, "enqueue", at), (10 * at + 2, 10 * at + 3, "dequeue", at - 1)]
        wide = [(at, 3_500 + at, "enqueue", 1_000 + at) for at in range(3_100, 3_130)]
        operations = history(*rows, (1_000, 1_100, "dequeue", None), *wide)

        judgement = check(operations, Queue(), budget=FEW_STEPS)

        assert judgement.verdict is Verdict.ILLEGAL


def small(random: Random, looks: bool) -> list[Operation]:
    """Up to four values, each put once and perhaps got, and with `looks` up to two more operations; right or wrong."""
    rows: list[tuple[int, int | None, str, Any]] = []
    values = range(random.randrange(1, 5))
    for value in values:
        call = random.randrange(12)
        rows.append((call, call + random.randrange(8), "enqueue", value))
    for value in random.sample(values, random.randrange(len(values) + 1)):
        call = random.randrange(4, 20)
        rows.append((call, call + random.randrange(8), "dequeue", value))
    for _ in range(random.randrange(3) if looks else 0):
        call = random.randrange(20)
        kind = random.choice(["dequeue", "len"])
        rows.append((call, call + random.randrange(8), kind, None if kind == "dequeue" else random.randrange(3)))
    return history(*rows)


class TestAgainstTheSearch:
    @pytest.mark.parametrize("seed", range(4))
    def test_puts_and_gets_are_decided(self, seed: int) -> None:
        random = Random(seed)
        right = 0
        for _ in range(1_000):
            operations = small(random, looks=False)
            seen = Queue().glance(operations, ())
            legal = is_linearizable(operations, Queue())
            right += legal
            if isinstance(seen, Spec):
                assert is_linearizable(operations, seen) == legal, operations
            else:
                assert seen is not None
                assert not legal, operations
                if all(is_got_after_it_was_put(operations, value) for value in seen.elements):
                    assert not is_linearizable(seen.operations, Queue()), operations
        assert 100 < right < 900

    @pytest.mark.parametrize("seed", range(4))
    def test_with_looks_it_is_never_wrong(self, seed: int) -> None:
        random = Random(seed)
        explained = refuted = 0
        for _ in range(1_000):
            operations = small(random, looks=True)
            seen = Queue().glance(operations, ())
            legal = is_linearizable(operations, Queue())
            if isinstance(seen, Spec):
                assert legal or not is_linearizable(operations, seen), operations
                explained += is_linearizable(operations, seen)
            else:
                assert seen is not None
                assert not legal or is_linearizable(seen.operations, Queue()), operations
                refuted += not is_linearizable(seen.operations, Queue())
        assert min(explained, refuted) > 100


def is_got_after_it_was_put(operations: Sequence[Operation], value: Any) -> bool:
    """If not, the value alone refutes the history."""
    put = next(each for each in operations if each.args == (value,))
    got = [each for each in operations if each.op == "dequeue" and each.result == value]
    return all(each.returned is not None and each.returned >= put.call for each in got)


class TestLeftToTheSearch:
    @pytest.mark.parametrize(
        "rows",
        [[(0, 1, "enqueue", 7), (2, 3, "enqueue", 7)], [(0, 1, "enqueue", None), (2, 3, "dequeue", None)]],
        ids=["a value twice", "None as a value"],
    )
    def test_what_a_glance_cannot_tell(self, rows: list[tuple[int, int | None, str, Any]]) -> None:
        assert Queue().glance(history(*rows), ()) is None

    def test_a_get_that_nobody_saw_return_may_have_taken_what_is_missing(self) -> None:
        rows = [*OVERLAPPING, (4_000, None, "dequeue", UNSEEN), (5_000, 5_001, "dequeue", 1_150)]

        judgement = check(history(*rows), Queue(), budget=FEW_STEPS)

        assert judgement.verdict is not Verdict.ILLEGAL

    def test_a_get_that_raised_found_nothing(self) -> None:
        rows = [(0, 1, "enqueue", 1), (2, 5, "dequeue", Raised("Empty")), (3, 4, "dequeue", 1)]
        seen = Queue().glance(history(*rows), ())

        assert isinstance(seen, Spec)
        assert is_linearizable(history(*rows), seen)


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


class TestSuggestions:
    """For two histories of a register that take more than one turn: the search must find out which of many overlapping
    writes was the last one."""

    WRITES = [Operation(at, at, at, 1_000 + at, "write", (at,), None) for at in range(13)]
    RIGHT = [*WRITES, Operation(13, 20, 2_000, 2_001, "read", (), 0)]
    WRONG = [*RIGHT, Operation(14, 20, 2_002, 2_003, "read", (), 1)]

    @pytest.mark.parametrize(
        "suggestion",
        [None, NothingGoes(), Excerpt([0], WRITES[:3])],
        ids=["none", "a narrower object that allows nothing", "an excerpt that is right"],
    )
    def test_do_not_change_the_verdict(self, suggestion: Spec | Excerpt | None) -> None:
        for operations, verdict in ((self.RIGHT, Verdict.LINEARIZABLE), (self.WRONG, Verdict.ILLEGAL)):
            spec = Suggesting(suggestion)
            assert check(operations, spec).verdict is verdict
            assert spec.asked == 1
