"""Published faults (`published`): the explorer finds each without a specification, and accuses none of those mended."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ctrie
from stress import Verdict, explore
from tests.stress.published import CASES

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin"),
]


REFUSED = {
    "CPython 92452, a module's variable": "CONFIGURATION outlives an execution, and calls change it without a lock"
}
"""Right ones that are not judged, with the sentence that says so."""
MANY = {"notify of the wrong thread": 2}
"""Those with too many schedules, and the preemptions up to which they are explored."""


PAGE = Path(__file__).parents[2] / "docs/stress/other-objects.md"
ROWS = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
TOLD = {row[0]: row[-1] for row in ROWS[1:]}
"""What the report on a fault says, according to the page."""


def without_numbers(report: str) -> str:
    """A report in which threads have no numbers: the explorer decides which of them comes first."""
    return re.sub(r"hread \d", "hread", report)


@pytest.mark.parametrize("name", CASES)
def test_a_published_fault_is_found(name: str) -> None:
    wrong, _, threads = CASES[name]
    outcome = explore(wrong, None, threads, seed=1, duration=60)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.report()
    assert name not in TOLD or without_numbers(TOLD[name]) in without_numbers(outcome.report())


def test_the_page_tells_of_ten() -> None:
    assert len(TOLD) == 10
    assert TOLD.keys() <= CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_the_same_code_mended_is_right(name: str) -> None:
    _, right, threads = CASES[name]
    outcome = explore(right, None, threads, preemptions=MANY.get(name))
    if name in REFUSED:
        assert outcome.verdict is Verdict.UNKNOWN
        assert REFUSED[name] in outcome.report()
    else:
        assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()


def difference(one: int, other: int) -> int:
    return one - other


CALLED_BACK: dict[str, Callable[[Any], Any]] = {
    "sort": lambda it: it.items.sort(key=lambda each: -each),
    "sort by a method": lambda it: it.items.sort(key=it.key),
    "sort by comparison": lambda it: it.items.sort(key=functools.cmp_to_key(difference)),
    "min": lambda it: min(it.values, key=lambda each: it.values[each]),
    "map": lambda it: sum(map(lambda each: each, it.values.values())),
    "two in one map": lambda it: sum(map(lambda one, other: one * other, it.items, it.values.values())),
    "zip": lambda it: sum(one for one, _ in zip(it.values.values(), it.items, strict=False)),
    "chain": lambda it: sum(map(lambda each: each, itertools.chain(it.values.values(), [1]))),
    "reduce": lambda it: functools.reduce(lambda one, other: one + other, it.values.values()),
    "extend": lambda it: [].extend(map(lambda each: each, it.values)),
    "join": lambda it: ",".join(map(lambda each: each, it.values)),
    "count": lambda it: collections.Counter(map(lambda each: each, it.values)),
    "remove": lambda it: it.things.remove(Thing(2)),
    "insort": lambda it: bisect.insort(it.things, Thing(1)),
    "push": lambda it: heapq.heappush(it.things, Thing(0)),
}
"""What C does with a container, and calls Python meanwhile: another thread may change the container then."""


@functools.total_ordering
class Thing:
    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing) and self.number == other.number

    def __lt__(self, other: Thing) -> bool:
        return self.number < other.number

    __hash__ = None  # type: ignore[assignment]


class CalledBack:
    work: Callable[[Any], Any]

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.items, self.values, self.things = [2, 1], {"a": 1, "b": 2}, [Thing(1), Thing(2)]

    def key(self, each: int) -> int:
        return abs(each) + len(self.values)

    def call(self) -> Any:
        return type(self).work(self)

    def change(self) -> Any:
        self.values["c"] = 3
        del self.things[:1]
        return tuple(self.items)

    def end(self) -> Any:
        return tuple(self.items), [each.number for each in self.things]


class CalledBackUnderLock(CalledBack):
    def call(self) -> Any:
        with self.lock:
            return super().call()

    def change(self) -> Any:
        with self.lock:
            return super().change()


@pytest.mark.parametrize("name", CALLED_BACK)
def test_what_calls_back_is_not_one_step(name: str) -> None:
    kind = type("Wrong", (CalledBack,), {"work": staticmethod(CALLED_BACK[name])})
    outcome = explore(kind, None, [[("call",)], [("change",)]], at_end=[("end",)])
    assert outcome.verdict is Verdict.ILLEGAL, outcome.report()
    kind = type("Right", (CalledBackUnderLock,), {"work": staticmethod(CALLED_BACK[name])})
    outcome = explore(kind, None, [[("call",)], [("change",)]], at_end=[("end",)])
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()


def test_an_answer_that_a_method_filled_is_right() -> None:
    outcome = explore(Filled, None, [[("get",)], [("get",)]])
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()


class Filled:
    def __init__(self) -> None:
        self.lock, self.values = threading.Lock(), [1, 2]

    def get(self) -> Any:
        with self.lock:
            self.values.append(3)
            found: Any = collections.Counter(self.values)
            found.update(a=1)
            return found
