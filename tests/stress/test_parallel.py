"""A large history judged by several processes: the answer equals that of one process."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from stress import UNSEEN, Budget, Map, Operation, Spec, SpecError, Verdict, check
from stress.checker import check as checking
from stress.checker.parallel import can_fork, deal

pytestmark = [pytest.mark.once, pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here")]


@pytest.fixture(autouse=True)
def _every_history_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "_LARGE", 0)


def on_keys(random: Random, count: int, width: int, faults: int) -> list[Operation]:
    """Calls on a map's keys that overlap by about `width`; some of the answers are wrong."""
    held: dict[int, int] = {}
    rows: list[tuple[Any, ...]] = []
    for at in range(1, count + 1):
        key = random.randrange(9)
        times = 10 * at - random.randrange(10 * width), 10 * at + random.randrange(10 * width)
        if random.random() < 0.6:
            held[key] = random.randrange(4)
            rows.append((*times, "put", (key, held[key]), UNSEEN))
        else:
            rows.append((*times, "get", (key,), held.get(key)))
    for at in random.sample(range(count), faults):
        if rows[at][2] == "get":
            rows[at] = (*rows[at][:4], random.randrange(4))
    return [Operation(at, at, *row) for at, row in enumerate(rows)]


class TestTheSameAnswer:
    @pytest.mark.parametrize("width", [3, 60], ids=["narrow", "wide"])
    def test_verdict_and_explanation(self, width: int) -> None:
        random, verdicts = Random(width), set()
        for number in range(12):
            operations = on_keys(random, 200, width, number % 3 * 4)
            alone, together = check(operations, Map()), check(operations, Map(), processes=2 + number % 2)

            assert together.verdict is alone.verdict
            assert together.failure == alone.failure
            assert together.components == alone.components
            verdicts.add(alone.verdict)
            if alone:
                assert together.steps == alone.steps
        assert verdicts == {Verdict.LINEARIZABLE, Verdict.ILLEGAL}

    def test_steps_are_counted_together(self) -> None:
        operations = on_keys(Random(5), 3_000, 200, 0)
        assert check(operations, Map(), processes=2).steps > 2_000

        judgement = check(operations, Map(), budget=Budget(steps=2_000), processes=2)

        assert judgement.verdict is Verdict.UNKNOWN
        assert judgement.spent == "2,000 steps"

    def test_what_the_specification_raises(self) -> None:
        class Fails(Map):
            def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Any) -> Iterable[Any]:
                raise SpecError("it fails")

        with pytest.raises(SpecError, match="it fails"):
            check(on_keys(Random(1), 50, 3, 0), Fails(), processes=2)

    def test_where_a_process_dies(self) -> None:
        here = os.getpid()

        class Deadly(Map):
            def successors(self, state: Any, op: str, args: tuple[Any, ...], result: Any) -> Iterable[Any]:
                if os.getpid() != here:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().successors(state, op, args, result)

        assert check(on_keys(Random(1), 50, 3, 0), Deadly(), processes=2).verdict is Verdict.LINEARIZABLE
        assert not multiprocessing.active_children()

    def test_a_process_that_may_have_none_does_it_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]

        assert check(on_keys(Random(1), 50, 3, 0), Map(), processes=2).verdict is Verdict.LINEARIZABLE


def test_parts_are_dealt_out_evenly() -> None:
    assert deal([5, 9, 1, 4, 3], 2) == [[1, 4], [0, 3, 2]]


def test_a_history_with_one_component_is_judged_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Whole(Map):
        footprint = Spec.footprint

    monkeypatch.setattr("stress.checker.parallel.judge", None)

    assert check(on_keys(Random(1), 50, 3, 0), Whole(), processes=2).verdict is Verdict.LINEARIZABLE
