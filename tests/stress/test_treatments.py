"""What the user says of a module or a class counts, and the verdict repeats it."""

# mypy: ignore-errors

from __future__ import annotations

import contextlib
import json
import linecache
import urllib.parse
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

import ctrie
import stress
from stress import Counter, Verdict, explore
from tests.stress.objects import LockedCounter

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")

TWICE: Any = [[("increment",)], [("increment",)]]
PUT_AND_TEXT: Any = [[("put",)], [("text",)]]


class Statistics:
    """Wrong: it has no lock."""

    calls = 0

    def count(self) -> int:
        self.calls += 1
        return self.calls


class Counts(LockedCounter):
    def __init__(self) -> None:
        super().__init__()
        self.statistics = Statistics()

    def increment(self) -> int:
        super().increment()
        return self.statistics.count()


class Writes:
    """Each change of its values is one step, and to write them takes several."""

    def __init__(self) -> None:
        self.values = {"a": 0}

    def put(self) -> None:
        self.values["b"] = 1

    def text(self) -> str:
        return "".join(json.JSONEncoder().iterencode(self.values))  # generators, and no C


class Casts(LockedCounter):
    """Right: what only passes on is no step."""

    def increment(self) -> bool:
        super().increment()
        return cast("int", self.n) > 0


class Quotes(LockedCounter):
    """Right: the library keeps what it has quoted, and so reads and writes what all threads share."""

    def increment(self) -> int:
        urllib.parse.quote("a b", safe="-")
        return super().increment()


KEPT: dict[str, int] = {}


class Keeps(Quotes):
    """Wrong: what its own module keeps is asked for, and put there in a second step."""

    def increment(self) -> int:
        super().increment()
        if "n" in KEPT:
            return 2
        KEPT["n"] = len(KEPT) + 1
        return 1


class ByLine:
    """Wrong: it reads a file by a module that is taken as a whole, and writes it in a second step."""

    path: ClassVar[Path]

    def __init__(self) -> None:
        self.path.write_text("0")

    def increment(self) -> int:
        linecache.clearcache()
        n = int(linecache.getline(str(self.path), 1)) + 1
        self.path.write_text(str(n))
        return n


HERE = f"{__name__}.Statistics"
RIGHT, WRONG, OPEN = Verdict.LINEARIZABLE, Verdict.ILLEGAL, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("made", "spec", "threads", "said", "verdict", "told"),
    [
        (Counts, None, TWICE, None, WRONG, ""),
        (Counts, None, TWICE, (HERE, "leave out"), RIGHT, f"with {HERE} left out"),
        (Counts, None, TWICE, (HERE, "one step"), RIGHT, f"with {HERE} as one step"),
        (Writes, None, PUT_AND_TEXT, None, WRONG, ""),  # the library is explored
        (Writes, None, PUT_AND_TEXT, ("json", "one step"), OPEN, "which another thread disturbs"),
        (Writes, None, PUT_AND_TEXT, ("json", "explore"), WRONG, "with json explored"),
        (Casts, None, TWICE, None, RIGHT, ""),
        (Quotes, Counter(), TWICE, None, RIGHT, ""),
        (Keeps, None, TWICE, None, WRONG, ""),
        (ByLine, Counter(), TWICE, None, WRONG, ""),
    ],
)
def test_what_is_said_of_it(
    made: Any, spec: Any, threads: Any, said: Any, verdict: Any, told: str, tmp_path: Path
) -> None:
    ByLine.path = tmp_path / "number"
    settings = {"invariant": lambda _: True} if said and said[1] == "leave out" else {}
    with contextlib.ExitStack() as stack:
        if said:
            stress.treat(*said)
            stack.callback(stress.treat, said[0], None)
        outcome = explore(made, spec, threads, seed=1, **settings)
    assert outcome.verdict is verdict, outcome.summary
    assert told in outcome.summary
    assert said or "with " not in outcome.schedules
    assert made is not Quotes or outcome.executions < 50  # caches of the library are filled beforehand
    assert not KEPT  # those of the program are not


@pytest.mark.parametrize(
    ("name", "way", "told"),
    [
        ("no.such.module", "explore", "there is no module or class no.such.module"),
        (f"{__name__}.Nothing", "explore", "there is no module or class"),
        ("json", "atomically", "not 'atomically'"),
        ("_json", "explore", "not Python code"),
    ],
)
def test_what_cannot_be_said(name: str, way: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        stress.treat(name, way)
