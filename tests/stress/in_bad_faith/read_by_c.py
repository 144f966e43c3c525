"""What functions in C read beyond what they are given: items of items, attributes, generators, and what they call."""

# mypy: ignore-errors

from __future__ import annotations

import itertools
import json
import pickle
import threading
from collections import namedtuple
from copy import deepcopy
from functools import partial, reduce
from operator import attrgetter
from typing import Any

from tests.stress.in_bad_faith.cases import CASES

MOVES: Any = [[("move",)], [("total",)]]
SETS: Any = [[("set", 2)], [("total",)]]


def moves(made: Any) -> Any:
    """An item is in none of two parts, or in both, while it is moved: the class is wrong."""
    CASES[made.__name__] = False, made, None, MOVES
    return made


def sets(made: Any) -> Any:
    """One change, and one read by one function in C: the class is right."""
    CASES[made.__name__] = True, made, None, SETS
    return made


class Moves:
    def __init__(self) -> None:
        self.free, self.busy = [1], []
        self.parts = [self.free, self.busy]

    def move(self) -> None:
        self.busy.append(self.free.pop())


class Sets:
    def __init__(self) -> None:
        self.parts = [[0], [0]]

    def set(self, n: int) -> None:
        self.parts[1][0] = n


@moves
class OfAnyPart(Moves):
    def total(self) -> bool:
        return any(self.parts)


@moves
class OfLengths(Moves):
    def total(self) -> list[int]:
        free, busy = map(len, self.parts)
        return [free, busy]


@moves
class OfChainedLoop(Moves):
    def total(self) -> list[int]:
        found = []
        for each in itertools.chain.from_iterable(self.parts):
            found.append(each)  # noqa: PERF402
        return found


@moves
class OfItemInParts(Moves):
    def total(self) -> bool:
        return [1] in self.parts


@moves
class OfCountOfEmpty(Moves):
    def total(self) -> int:
        return self.parts.count([])


@moves
class OfNamedParts(Moves):
    def __init__(self) -> None:
        super().__init__()
        self.parts = namedtuple("Parts", "free busy")(self.free, self.busy)  # noqa: PYI024

    def total(self) -> bool:
        return self.parts == ([], [])


@moves
class OfUnion:
    def __init__(self) -> None:
        self.free, self.busy = {1}, set()
        self.parts = {"free": self.free, "busy": self.busy}

    def move(self) -> None:
        self.busy.add(self.free.pop())

    def total(self) -> set[int]:
        return set().union(*self.parts.values())


@sets
class OfAnyRow(Sets):
    def total(self) -> bool:
        return any(map(any, self.parts))


@sets
class OfRows(Sets):
    def total(self) -> list[list[int]]:
        return list(map(list, self.parts))


@sets
class OfRowIn(Sets):
    def total(self) -> bool:
        return [2] in self.parts


@sets
class OfDictOfRows(Sets):
    def __init__(self) -> None:
        self.parts = [["a", 0], [0, 0]]

    def total(self) -> dict[Any, Any]:
        return dict(self.parts)


class Job:
    def __init__(self, n: int) -> None:
        self.n = n


class Jobs:
    def __init__(self) -> None:
        self.one, self.other = Job(1), Job(0)
        self.jobs = [self.one, self.other]

    def move(self) -> None:
        self.one.n -= 1
        self.other.n += 1

    def set(self, n: int) -> None:
        self.one.n = n


@moves
class OfSumOfAttributes(Jobs):
    def total(self) -> int:
        return sum(map(attrgetter("n"), self.jobs))


@moves
class OfDottedNames(Jobs):
    def total(self) -> tuple[int, int]:
        return attrgetter("one.n", "other.n")(self)


@moves
class OfFields(Jobs):
    def total(self) -> str:
        return "{.n} {.n}".format(*self.jobs)


@sets
class OfReducedPath(Jobs):
    def total(self) -> int:
        return reduce(getattr, ("one", "n"), self)


@sets
class OfPartialGetter(Jobs):
    def total(self) -> list[Job]:
        return [each.n for each in map(partial(getattr, self), ("one", "other"))]


@moves
class OfDeepCopy(Jobs):
    def total(self) -> int:
        one, other = deepcopy(self.jobs)
        return one.n + other.n


class Asked:
    def __init__(self, job: Job) -> None:
        self.job = job


@moves
class OfJsonThatCallsBack(Moves):
    def __init__(self) -> None:
        super().__init__()
        self.parts = [self.free, Asked(Job(1)), self.busy]

    def total(self) -> str:
        return json.dumps(self.parts, default=lambda each: each.job.n)


@moves
class OfPickleThatCallsBack(Moves):
    def __init__(self) -> None:
        super().__init__()
        self.parts = [self.free, Pickled(), self.busy]

    def total(self) -> Any:
        free, _, busy = pickle.loads(pickle.dumps(self.parts))
        return free, busy


class Pickled:
    def __getstate__(self) -> dict[str, int]:
        return {"n": 1}


def numbers() -> Any:
    n = 0
    while True:
        n += 1
        yield n


class OfGenerator:
    """Two threads in one generator: "generator already executing"."""

    def __init__(self) -> None:
        self.gate, self.numbers = threading.Lock(), numbers()

    def move(self) -> Any:
        with self.gate:
            pass
        return self.total()


@moves
class OfSliceOfGenerator(OfGenerator):
    def total(self) -> list[int]:
        return list(itertools.islice(self.numbers, 2))


@moves
class OfZippedGenerator(OfGenerator):
    def total(self) -> list[int]:
        return [n for _, n in zip("ab", self.numbers, strict=False)]


@moves
class OfManyBuckets:
    def __init__(self) -> None:
        self.buckets = [[] for _ in range(300)]
        self.buckets[0].append(1)

    def move(self) -> None:
        self.buckets[299].append(self.buckets[0].pop())

    def total(self) -> int:
        return sum(map(len, self.buckets))
