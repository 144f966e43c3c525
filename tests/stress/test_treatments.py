"""What the user says of a module or a class counts, and the verdict repeats it."""

# mypy: ignore-errors

from __future__ import annotations

import contextlib
import json
import linecache
import threading
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

import ctrie
import stress
from stress import Counter, Verdict, explore

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")

TWICE: Any = [[("increment",)], [("increment",)]]


@contextlib.contextmanager
def said(name: str, way: str) -> Iterator[None]:
    stress.treat(name, way)
    try:
        yield
    finally:
        stress.treat(name, None)


class Statistics:
    """Wrong: it has no lock."""

    def __init__(self) -> None:
        self.calls = 0

    def count(self) -> int:
        self.calls += 1
        return self.calls


class Counts:
    def __init__(self) -> None:
        self.lock, self.n, self.statistics = threading.Lock(), 0, Statistics()

    def increment(self) -> tuple[int, int]:
        with self.lock:
            self.n += 1
        return self.statistics.count()


class Writes:
    """Each change of its values is one step, and to write them takes several."""

    def __init__(self) -> None:
        self.values = {"a": 0}

    def put(self) -> None:
        self.values["b"] = 1

    def text(self) -> str:
        return "".join(json.JSONEncoder().iterencode(self.values))  # generators, and no C


class Casts:
    def __init__(self) -> None:
        self.lock, self.values = threading.Lock(), {"n": 0}

    def increment(self) -> int:
        with self.lock:
            self.values["n"] += 1
        return cast("dict[str, int]", self.values)["n"] > 0


HERE = f"{__name__}.Statistics"


def test_a_class_is_explored_if_nothing_is_said() -> None:
    outcome = explore(Counts, None, TWICE, seed=1)
    assert outcome.verdict is Verdict.ILLEGAL
    assert "with " not in outcome.schedules


def test_a_class_that_is_left_out_makes_no_steps() -> None:
    with said(HERE, "leave out"):
        outcome = explore(Counts, None, TWICE, invariant=lambda _: True, seed=1)
    assert outcome.verdict is Verdict.LINEARIZABLE
    assert f"with {HERE} left out" in outcome.summary


def test_a_call_of_a_class_is_one_step() -> None:
    with said(HERE, "one step"):
        outcome = explore(Counts, None, TWICE, seed=1)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()
    assert f"with {HERE} as one step" in outcome.summary


def test_a_module_of_the_library_is_explored_unless_it_is_said_to_be_one_step() -> None:
    threads: Any = [[("put",)], [("text",)]]
    assert explore(Writes, None, threads, seed=1).verdict is Verdict.ILLEGAL
    with said("json", "one step"):
        outcome = explore(Writes, None, threads, seed=1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert "which another thread disturbs" in outcome.summary
    with said("json", "explore"):
        outcome = explore(Writes, None, threads, seed=1)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary
    assert "with json explored" in outcome.summary


class Quotes:
    """Right: the library keeps what it has quoted, and so reads and writes what all threads share."""

    def __init__(self) -> None:
        self.lock, self.n = threading.Lock(), 0

    def increment(self) -> int:
        urllib.parse.quote("a b", safe="-")
        with self.lock:
            self.n += 1
            return self.n


KEPT: dict[str, int] = {}


class Keeps(Quotes):
    """Wrong: what its own module keeps is asked for, and put there in a second step."""

    def increment(self) -> int:
        super().increment()
        if "n" not in KEPT:
            KEPT["n"] = len(KEPT) + 1
            return 1
        return 2


def test_caches_of_the_library_are_filled_beforehand_and_those_of_the_program_are_not() -> None:
    outcome = explore(Quotes, Counter(), TWICE, seed=1)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()
    assert outcome.executions < 50, outcome.summary
    assert explore(Keeps, None, TWICE, seed=1).verdict is Verdict.ILLEGAL
    assert not KEPT


class ByLine:
    """Wrong: it reads a file by a module that is taken as a whole, and writes it in a second step."""

    path: ClassVar[str] = ""

    def __init__(self) -> None:
        self._write(0)

    def _write(self, n: int) -> None:
        with open(self.path, "w", encoding="ascii") as file:
            file.write(str(n))

    def increment(self) -> int:
        linecache.clearcache()
        n = int(linecache.getline(self.path, 1)) + 1
        self._write(n)
        return n


def test_what_a_module_that_is_taken_as_a_whole_reads_outside_is_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ByLine, "path", str(tmp_path / "number"))
    outcome = explore(ByLine, Counter(), TWICE, seed=1)
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary


def test_what_only_passes_on_is_no_step() -> None:
    outcome = explore(Casts, None, TWICE, seed=1)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


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
