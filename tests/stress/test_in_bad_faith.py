"""Classes in bad faith (`in_bad_faith`): `stress.explore` proves no wrong one, and accuses no right one."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

import ctrie
from stress import Counter, Verdict, explore
from tests.stress.in_bad_faith import CASES, PLACE, TWICE

pytestmark = [
    pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin"),
    pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning"),  # of classes that keep one
    # An archive of an execution that was cut short cannot be closed.
    pytest.mark.filterwarnings("ignore:Exception ignored in.*[zZ]ip:pytest.PytestUnraisableExceptionWarning"),
]

REFUSED = {
    "OfLoop": "an event loop of asyncio runs in the object",
    "OfContext": "threads share a context",
    "OfOutlivingCount": "a count outlives an execution",
    "OfOutlivingGenerator": "a generator outlives an execution",
    "OfEndInList": "a list with a Guard is let go of, and lives on here",
    "OfTakenInTurns": "the factory gives an object again that it has given before",
}


# One in four on other interpreters, for their bytecode.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.once] * (n % 4 > 0)) for n, name in enumerate(CASES)]
)
def test_what_is_said_is_true(name: str) -> None:
    right, factory, spec, threads = CASES[name]
    outcome = explore(factory, spec, threads, seed=1, duration=60)
    if name in REFUSED:
        assert outcome.verdict is Verdict.UNKNOWN
        assert REFUSED[name] in outcome.summary
    else:
        assert outcome.verdict is (Verdict.LINEARIZABLE if right else Verdict.ILLEGAL), outcome.summary


def test_a_method_is_looked_up_when_it_is_called() -> None:
    _, factory, spec, _ = CASES["OfSelfReplacing"]
    assert explore(factory, spec, [[("take",), ("take",)]]).verdict is Verdict.LINEARIZABLE


@pytest.mark.freethreaded
def test_a_function_that_only_an_object_of_c_knows_has_steps() -> None:
    numpy = pytest.importorskip("numpy")

    class OfPut:
        def __init__(self) -> None:
            self.lock, self.n = threading.Lock(), numpy.zeros(1, int)

        def increment(self) -> int:
            with self.lock:
                n = int(self.n[0]) + 1
                numpy.put(self.n, 0, n)
                return n

    assert explore(OfPut, Counter(), TWICE).verdict is Verdict.LINEARIZABLE


class OfWaitingRead:
    """A right counter: a token in a pipe is its lock."""

    def __init__(self) -> None:
        self.source, self.end = os.pipe()
        os.write(self.end, b"1")
        self.n = 0

    def increment(self) -> int:
        os.read(self.source, 1)
        self.n += 1
        n = self.n
        os.write(self.end, b"1")
        return n


class OfPolledFolder:
    """A right counter: a folder is its lock."""

    def __init__(self) -> None:
        self.path = os.path.join(PLACE, "lock")
        if os.path.exists(self.path):
            os.rmdir(self.path)
        self.n = 0

    def increment(self) -> int:
        while True:
            try:
                os.mkdir(self.path)
                break
            except FileExistsError:
                continue
        self.n += 1
        n = self.n
        os.rmdir(self.path)
        return n


@pytest.mark.parametrize(
    ("right", "why"), [(OfWaitingRead, "waits in the operating system"), (OfPolledFolder, "goes round and round")]
)
def test_who_waits_for_something_outside_is_neither_accused_nor_waited_for(right: Any, why: str) -> None:
    outcome = explore(right, Counter(), [[("increment",)], [("increment",)]], preemptions=1)
    assert outcome.verdict is Verdict.UNKNOWN
    assert why in outcome.summary


def test_code_of_other_threads_is_neither_explored_nor_disturbed() -> None:
    over, errors = threading.Event(), []

    def work_on() -> None:
        try:
            while not over.is_set():
                names: dict[str, Any] = {}
                exec("def work(items):\n    return sum(each for each in items)\n", names)
                names["work"]([1])
        except BaseException as error:  # noqa: BLE001 - the explorer ends code by exceptions of its own
            errors.append(error)

    thread = threading.Thread(target=work_on)
    thread.start()
    try:
        _, factory, spec, threads = CASES["OfRLock"]
        outcomes = [explore(factory, spec, threads) for _ in range(5)]
    finally:
        over.set()
        thread.join()
    assert not errors
    assert all(outcomes), [each.summary for each in outcomes]
