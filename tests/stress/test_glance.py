"""Histories of registers and stacks, decided at a glance: the times at which unique values came and went show the
order of what happened. (`test_stress_queue` has those of queues.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from stress import UNSEEN, Budget, Operation, Queue, Raised, Register, Spec, Stack, Verdict, check
from stress.checker.check import is_linearizable

pytestmark = pytest.mark.once  # the checker alone, which is the same everywhere

FEW_STEPS = Budget(steps=100_000)

Row = tuple[int, int | None, str, tuple[Any, ...], Any]
"""The call, the return, the operation, its arguments and its answer."""


def history(rows: Sequence[Row]) -> list[Operation]:
    return [Operation(number, number, *row) for number, row in enumerate(rows)]


def ran(random: Random, until: int) -> tuple[int, int]:
    called = random.randrange(until)
    return called, called + random.randrange(8)


def of_register(random: Random, hard: bool) -> tuple[Spec, list[Operation]]:
    """Up to four values, each written once, and up to four reads. `hard` ones also have answers that nobody saw,
    and compare-and-sets that failed."""
    rows: list[Row] = []
    values = range(1, random.randrange(2, 6))
    for value in values:
        called, returned = ran(random, 14)
        if random.random() < 0.6:
            is_pending = random.random() < 0.2
            answer = UNSEEN if is_pending else None
            rows.append((called, None if is_pending else returned, "write", (value,), answer))
        else:
            result = UNSEEN if hard and random.random() < 0.3 else True
            is_pending = result is UNSEEN and random.random() < 0.5
            old = random.randrange(len(values) + 1)
            rows.append((called, None if is_pending else returned, "cas", (old, value), result))
    for _ in range(random.randrange(5)):
        if hard and random.random() < 0.2:
            rows.append((*ran(random, 20), "cas", (random.randrange(len(values) + 1), 77), False))
        else:
            rows.append((*ran(random, 20), "read", (), random.randrange(len(values) + 1)))
    return Register(0), history(rows)


def of_stack(random: Random, hard: bool) -> tuple[Spec, list[Operation]]:
    """Up to six values, each pushed once. `hard` ones also ask for lengths."""
    rows: list[Row] = []
    start = tuple(f"s{number}" for number in range(random.choice((0, 0, 1, 2))))
    values = range(random.randrange(1, 5 if random.random() < 0.9 else 7))
    for value in values:
        called, returned = ran(random, 12)
        rows.append((called, None if random.random() < 0.08 else returned, "push", (value,), None))
    for value in random.sample([*values, *start], random.randrange(len(values) + len(start) + 1)):
        called, returned = ran(random, 17)
        rows.append((called + 3, returned + 3, "pop", (), value))
    for _ in range(random.randrange(3)):
        nothing = random.choice((None, Raised("IndexError")))
        look: Any = ("len", (), random.randrange(3)) if hard and random.random() < 0.5 else ("pop", (), nothing)
        rows.append((*ran(random, 20), *look))
    return Stack(start), history(rows)


KINDS: dict[str, Callable[[Random, bool], tuple[Spec, list[Operation]]]] = {
    "register": of_register,
    "stack": of_stack,
}


class TestAgainstTheSearch:
    @pytest.mark.parametrize("kind", KINDS)
    def test_it_decides_all_that_it_says_it_decides(self, kind: str) -> None:
        random, right = Random(f"{kind}/decided"), 0
        for _ in range(3_000):
            spec, operations = KINDS[kind](random, False)
            legal = is_linearizable(operations, spec)
            seen = spec.glance(operations, spec.initial)
            if isinstance(seen, Spec):
                assert is_linearizable(operations, seen) == legal, operations
            else:
                assert seen is not None
                assert not legal, operations
                starts = [spec.restrict(spec.initial, seen.elements)]
                assert not is_linearizable(seen.operations, spec, starts), (operations, seen)
            right += legal
        assert 300 < right < 2_700

    @pytest.mark.parametrize("kind", KINDS)
    def test_it_is_never_wrong_about_the_rest(self, kind: str) -> None:
        random, explained, refuted = Random(f"{kind}/never wrong"), 0, 0
        for _ in range(3_000):
            spec, operations = KINDS[kind](random, True)
            legal = is_linearizable(operations, spec)
            seen = spec.glance(operations, spec.initial)
            if isinstance(seen, Spec):
                is_explained = is_linearizable(operations, seen)
                assert legal or not is_explained, operations
                explained += is_explained
            elif seen is not None:
                starts = [spec.restrict(spec.initial, seen.elements)]
                is_refuted = not is_linearizable(seen.operations, spec, starts)
                assert not (legal and is_refuted), operations
                refuted += is_refuted
        assert min(explained, refuted) > 300


def overlapping(op: str) -> Iterator[Row]:
    """Twelve overlap at any time, so a search is hopeless as long as only their order is wrong."""
    return ((10 * at, 10 * at + 119, op, (1_000 + at,), None) for at in range(200))


def popped(values: Iterable[int]) -> list[Row]:
    return [(3_000 + 2 * at, 3_001 + 2 * at, "pop", (), 1_000 + value) for at, value in enumerate(values)]


def written_and_read(count: int) -> list[Row]:
    """Each operation takes effect some time after its call and before its return; every other one is a read."""
    random = Random(1)
    rows: list[Row] = []
    for at in range(1, count + 1):
        times = 10 * at - random.randrange(150), 10 * at + random.randrange(150)
        rows.append((*times, "read", (), at - 1) if at % 2 == 0 else (*times, "write", (at,), None))
    return rows


class TestLargeOnes:
    WRITES = (*overlapping("write"),)
    PUSHES = (*overlapping("push"),)
    RIGHT = {
        "register": (Register(), written_and_read(1_500)),
        "stack": (Stack(), [*PUSHES[:198], *popped(at + 5 - 2 * (at % 6) for at in range(197, -1, -1))]),
    }
    WRONG = {
        "a register that shows an earlier value again": (
            Register(),
            [*WRITES, (3_000, 3_001, "read", (), 1_190), (3_002, 3_003, "read", (), 1_191)],
            {1_190, 1_191},
        ),
        "a stack that is first in first out": (
            Stack(),
            [*PUSHES, (3_000, 3_001, "pop", (), 1_000), (3_002, 3_003, "push", (1,), None)],
            {1_000, 1_012},
        ),
        "a stack that was found empty": (Stack(), [*PUSHES, (3_000, 3_001, "pop", (), None)], {1_000}),
    }

    @pytest.mark.parametrize("kind", RIGHT)
    def test_right_ones(self, kind: str) -> None:
        spec, rows = self.RIGHT[kind]

        assert check(history(rows), spec, budget=FEW_STEPS).verdict is Verdict.LINEARIZABLE

    @pytest.mark.parametrize("kind", RIGHT)
    def test_the_search_alone_does_not_come_to_an_end(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        spec, rows = self.RIGHT[kind]
        monkeypatch.setattr(type(spec), "glance", Spec.glance)

        assert check(history(rows), spec, budget=FEW_STEPS).verdict is Verdict.UNKNOWN

    @pytest.mark.parametrize("kind", WRONG)
    def test_wrong_ones(self, kind: str) -> None:
        spec, rows, values = self.WRONG[kind]

        judgement = check(history(rows), spec, budget=FEW_STEPS)

        assert judgement.verdict is Verdict.ILLEGAL
        assert judgement.failure is not None
        assert set(judgement.failure.elements or ()) == values


class TestLeftToTheSearch:
    @pytest.mark.parametrize(
        ("spec", "rows"),
        [
            (Register(0), [(0, 1, "write", (7,), None), (2, 3, "write", (7,), None)]),
            (Register(0), [(0, 1, "write", (0,), None)]),
            (Stack(), [(0, 1, "push", (7,), None), (2, 3, "push", (7,), None)]),
            (Stack(), [(0, 1, "push", (None,), None), (2, 3, "pop", (), None)]),
        ],
        ids=[
            "written twice",
            "written, and there at the start",
            "pushed twice",
            "None is pushed",
        ],
    )
    def test_what_a_glance_cannot_tell(self, spec: Spec, rows: list[Row]) -> None:
        assert spec.glance(history(rows), spec.initial) is None

    @pytest.mark.parametrize("kind", [Register, Queue, Stack])
    def test_a_subclass_that_does_otherwise(self, kind: type[Spec]) -> None:
        class Otherwise(kind):  # type: ignore[misc, valid-type]
            def step(self, state: Any, op: str, args: tuple[Any, ...]) -> Any:
                return state, None

        assert Otherwise().glance([], Otherwise().initial) is None
