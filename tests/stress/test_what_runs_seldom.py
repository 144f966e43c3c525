"""Code that C calls back, in few schedules of many: all of its instructions have steps there, too."""

from __future__ import annotations

from types import MethodType
from typing import Any

import pytest

from stress import Verdict, explore

OF: list[Any] = [None]


def counts() -> None:
    """Loses what another thread counts meanwhile."""
    n = OF[0].n
    OF[0].n = n + 1


class Quiet:
    def __lt__(self, _: object) -> bool:
        return False

    def __neg__(self) -> int:
        return 0

    def __eq__(self, _: object) -> bool:
        return False

    def __hash__(self) -> int:
        return 1


class Loud:
    def __lt__(self, _: object) -> bool:
        counts()
        return False

    def __neg__(self) -> int:
        counts()
        return 0

    def __eq__(self, _: object) -> bool:
        counts()
        return False

    def __hash__(self) -> int:
        counts()
        return 1


def quiet_key(_self: object, _: object) -> int:
    return 0


def loud_key(_self: object, _: object) -> int:
    counts()
    return 0


ITEMS: list[Any] = [Quiet(), Loud()]
KEYS: list[Any] = [quiet_key, loud_key]
NAMES = ["quiet_key", "loud_key"]

WAYS: dict[str, Any] = {
    "an item that is compared": lambda hit: max(ITEMS[hit], ITEMS[hit]),
    "items of a list": lambda hit: max([ITEMS[hit], ITEMS[hit]]),
    "an operator with one operand": lambda hit: -ITEMS[hit],
    "what is looked for": lambda hit: ITEMS[hit] in [1],
    "what is hashed": lambda hit: {ITEMS[hit]},
    "a key of a table": lambda hit: sorted([1], key=MethodType(KEYS[hit], None)),
    "a key that nobody names": lambda hit: sorted([1], key=MethodType(globals()[NAMES[hit]], None)),
    "a function that is mapped": lambda hit: list(map(globals()[NAMES[hit]], [1], [1])),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_c_calls_back_in_few_schedules_has_steps(way: str) -> None:
    use = WAYS[way]

    class Seldom:
        """Of the threads, each counts where it finds the other one at a certain place: few schedules have both."""

        def __init__(self) -> None:
            self.x, self.y, self.hits, self.n = [0, 0], [0, 0], [0, 0], 0
            OF[0] = self

        def run(self, me: int, wanted: tuple[int, ...]) -> None:
            other = 1 - me
            found = []
            for value in (1, 2):
                self.x[me] = value
                found.append(self.x[other])
                self.y[me] = value
                found.append(self.y[other])
            self.hits[me] = hit = int(tuple(found) == wanted)
            use(hit)

    threads: Any = [[("run", 0, (0, 0, 1, 1))], [("run", 1, (1, 2, 2, 2))]]
    outcome = explore(Seldom, None, threads, invariant=lambda made: made.n == sum(made.hits))
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary
