"""Loops that read the same again and again, with nothing in their variables that shows how far they are: they end by
themselves, and are no wait for another thread. Each reads a number four times while another thread changes it.
"""

# mypy: ignore-errors

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

import ctrie
from stress import Verdict, explore

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")
once = pytest.mark.once  # the explorer's own rules, which are the same everywhere
TWICE_TWO = [None] * 4


class Number:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n = 0
        self.seen: Any = None

    def change(self) -> None:
        self.n = 1

    def read(self) -> None:
        self.seen = tuple(self.four())


class ByFor(Number):
    def four(self) -> Any:
        found = []
        for _ in TWICE_TWO:
            found.append(self.n)  # noqa: PERF401
        return found


class ByComprehension(Number):
    def four(self) -> Any:
        return [self.n for _ in TWICE_TWO]


class ByGenerator(Number):
    def four(self) -> Any:
        return (self.n for _ in TWICE_TWO)


class ByEndlessGenerator(Number):
    def again(self) -> Any:
        while True:
            yield self.n

    def four(self) -> Any:
        again = self.again()
        return [next(again) for _ in TWICE_TWO]


class ByMap(Number):
    def one(self, _: None) -> int:
        return self.n

    def four(self) -> Any:
        return map(self.one, TWICE_TWO)


class ByRepeat(Number):
    def four(self) -> Any:
        found = []
        for _ in itertools.repeat(None, 4):
            found.append(self.n)  # noqa: PERF401
        return found


class ByListThatGrows(Number):
    def four(self) -> Any:
        found = []
        while len(found) < 4:
            found.append(self.n)
        return found


class ByDictThatGrows(Number):
    def four(self) -> Any:
        found = {}
        while len(found) < 4:
            found[len(found)] = self.n
        return found.values()


class ByObjectThatGrows(Number):
    def four(self) -> Any:
        class Found:
            numbers = ()

        found = Found()
        while len(found.numbers) < 4:
            found.numbers += (self.n,)
        return found.numbers


class ByClosure(Number):
    def four(self) -> Any:
        found = []

        def once() -> None:
            found.append(self.n)

        while len(found) < 4:
            once()
        return found


class ByIterator(Number):
    def four(self) -> Any:
        found, each = [], iter(TWICE_TWO)
        while True:
            try:
                next(each)
            except StopIteration:
                return found
            found.append(self.n)


class UnderLock(Number):
    def four(self) -> Any:
        with self.lock:
            return [self.n for _ in TWICE_TWO]


@pytest.mark.parametrize("ones", [pytest.param(0, marks=once), 2])
@pytest.mark.parametrize(
    "made",
    [
        ByFor, ByComprehension, ByGenerator, ByEndlessGenerator, ByMap, ByRepeat, ByListThatGrows, ByDictThatGrows,
        ByObjectThatGrows, ByClosure, ByIterator, UnderLock,
    ],
)  # fmt: skip
def test_all_that_can_be_read_is_found(made: Any, ones: int) -> None:
    wanted = (0,) * (4 - ones) + (1,) * ones
    outcome = explore(made, None, [[("change",)], [("read",)]], invariant=lambda number: number.seen != wanted)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary


class Until(Number):
    """Reads four times in each round, until another thread says that it is done."""

    def __init__(self) -> None:
        super().__init__()
        self.done = False

    def change(self) -> None:
        self.n = 1
        self.done = True

    def read(self) -> None:
        seen = None
        while not self.done:
            seen = tuple(self.four())
        self.seen = seen


class UntilByGenerator(Until):
    four = ByGenerator.four


class UntilByMap(Until):
    one, four = ByMap.one, ByMap.four


class UntilByFor(Until):
    four = ByFor.four


@pytest.mark.parametrize(
    ("made", "ones"),
    [
        pytest.param(UntilByGenerator, 0, marks=once),
        pytest.param(UntilByGenerator, 1, marks=once),
        (UntilByMap, 0),
        pytest.param(UntilByFor, 0, marks=once),
    ],
)
def test_what_is_read_in_a_round_is_found_or_the_verdict_is_unknown(made: Any, ones: int) -> None:
    wanted = (0,) * (4 - ones) + (1,) * ones
    outcome = explore(made, None, [[("change",)], [("read",)]], invariant=lambda number: number.seen != wanted)
    assert outcome.verdict is not Verdict.LINEARIZABLE, outcome.summary
    if outcome.verdict is Verdict.ILLEGAL:
        assert "livelock" not in outcome.summary


class SumUntil(Until):
    def read(self) -> None:
        total = None
        while not self.done:
            total = sum(self.n for _ in TWICE_TWO)
        self.seen = total


@once
@pytest.mark.parametrize("total", [0, 1])
def test_a_sum_of_a_round_is_found_and_is_no_livelock(total: int) -> None:
    outcome = explore(SumUntil, None, [[("change",)], [("read",)]], invariant=lambda number: number.seen != total)
    assert outcome.verdict is Verdict.ILLEGAL
    assert "livelock" not in outcome.summary


class WaitsUnderLock:
    """Right: it waits with a lock for what another thread sets without it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.flag = False

    def wait(self) -> None:
        with self.lock:
            while not self.flag:
                pass

    def set(self) -> None:
        self.flag = True


class CountsUnderLock(WaitsUnderLock):
    def wait(self) -> None:
        turns = 0
        with self.lock:
            while not self.flag:
                turns += 1


class NeedsTheLock(WaitsUnderLock):
    """Wrong: the other thread needs the lock, too."""

    def set(self) -> None:
        with self.lock:
            self.flag = True


@once
@pytest.mark.parametrize(
    ("made", "verdict"),
    [(WaitsUnderLock, Verdict.LINEARIZABLE), (CountsUnderLock, Verdict.UNKNOWN), (NeedsTheLock, Verdict.ILLEGAL)],
)
def test_a_wait_under_a_lock_is_no_livelock_if_others_can_end_it(made: Any, verdict: Verdict) -> None:
    outcome = explore(made, None, [[("wait",)], [("set",)]])
    assert outcome.verdict is verdict, outcome.summary
    assert ("livelock" in outcome.summary) is (verdict is Verdict.ILLEGAL)


class Aside:
    turns = 0


class CountsAside(Until):
    """Counts its turns where no other thread can see it."""

    def read(self) -> None:
        aside = Aside()
        while not self.done:
            aside.turns += 1
        self.seen = aside.turns


@once
def test_turns_that_are_counted_aside_are_no_mere_wait() -> None:
    outcome = explore(CountsAside, None, [[("change",)], [("read",)]], invariant=lambda number: number.seen != 7)
    assert outcome.verdict is not Verdict.LINEARIZABLE, outcome.summary
    assert "livelock" not in outcome.summary
