"""A loop that counts, sums or walks through its own items is no wait, however long it is: it is no step, and all threads
are judged as if it were not there."""

# mypy: ignore-errors

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest

import ctrie
from stress import Counter, Verdict, explore

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")

LOOPS = {
    "for": "for each in range(turns): total += each",
    "sum": "total = sum(each * each for each in range(turns))",
    "while": "at = 0\n        while at < turns: at += 1",
    "text": "for each in 'x' * turns: total = (total * 31 + ord(each)) % 65521",
    "items": "for each in list(range(turns)): total += each",
    "its own items": "items, at = list(range(turns)), 0\n        while at < len(items): total += items[at]; at += 1",
    "fills": "items, at = [], 0\n        while at < turns: items.append(at); at += 1",
    "generator": "for each in (each + 1 for each in range(turns)): total += each",
    "zip": "for one, other in zip(range(turns), range(turns)): total += one",
    "attribute": "part = Part()\n        while part.at < turns: part.at += 1",
}


class Part:
    def __init__(self) -> None:
        self.at = 0


def made(loop: str, turns: int, last: str) -> type:
    names: dict[str, Any] = {"threading": threading, "Part": Part, "turns": turns}
    exec(
        f"""
class Object:
    def __init__(self): self.lock, self.n = threading.Lock(), 0
    def increment(self):
        total = 0
        {LOOPS[loop]}
        {last}
""",
        names,
    )
    return names["Object"]


LOCKED = "with self.lock: self.n += 1; return self.n"
UNLOCKED = "self.n += 1; return self.n"


@pytest.mark.parametrize("turns", [160, pytest.param(700, marks=pytest.mark.once)])
@pytest.mark.parametrize("loop", LOOPS)
def test_is_no_wait(loop: str, turns: int) -> None:
    outcome = explore(made(loop, turns, LOCKED), Counter(), [[("increment",)], [("increment",)]], seed=1, duration=60)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary
    assert explore(made(loop, turns, UNLOCKED), Counter(), [[("increment",)], [("increment",)]], seed=1).verdict is (
        Verdict.ILLEGAL
    )


def test_three_threads_count_no_more_than_one() -> None:
    outcome = explore(made("sum", 110, LOCKED), Counter(), [[("increment",)]] * 3, seed=1)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


class Handed:
    """Each call waits for something that it has made itself, and given away."""

    def __init__(self) -> None:
        self.waiting = []

    def ask(self) -> int:
        box = []
        self.waiting.append(box)
        while not box:
            pass
        return box[0]

    def answer(self) -> None:
        while not self.waiting:
            pass
        self.waiting.pop().append(7)


def test_who_waits_for_what_it_has_made_itself_lets_others_run() -> None:
    outcome = explore(Handed, None, [[("ask",)], [("answer",)]], invariant=lambda _: True, seed=1, duration=60)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


NUMBERS = itertools.count()


class NewEachTime:
    """What it does is never the same: the exploration would begin again for ever."""

    def increment(self) -> None:
        setattr(self, f"of{next(NUMBERS)}", 1)


def test_an_exploration_does_not_begin_again_for_ever() -> None:
    outcome = explore(NewEachTime, None, [[("increment",)], [("increment",)]], seed=1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "has begun again 200 times" in outcome.summary
