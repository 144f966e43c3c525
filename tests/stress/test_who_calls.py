"""A thread is one object, with one number, wherever the explored object asks who calls: in the factory, at the start, in
the threads, in calls that are made one after another, and at the end."""

# mypy: ignore-errors

from __future__ import annotations

import reprlib
import threading
from time import monotonic, time
from typing import Any

import pytest

import ctrie
from stress import Verdict, explore
from tests.stress.objects import CounterWithMore, LockedCounter

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")

TWICE: Any = [[("increment",)], [("increment",)]]
ONE_TWICE: Any = [[("increment",), ("increment",)], [("increment",)]]


class Gate(LockedCounter):
    """Wrong: once it is claimed, it forgets the lock. A caller's number is never 0, nor is it in the beginning."""

    owner = None

    def claim(self) -> None:
        self.owner = threading.get_ident()

    def is_free(self) -> bool:
        return bool(self.owner)

    def increment(self) -> int:
        return super(LockedCounter, self).increment() if self.is_free() else super().increment()


class Biased(Gate):
    """Wrong: its owner takes no lock."""

    def claim(self) -> None:
        self.owner = threading.current_thread()

    def is_free(self) -> bool:
        return self.owner is threading.current_thread()


class Depth(Gate):
    """Only the thread that came first may count."""

    def increment(self) -> int:
        with self.lock:
            me = threading.get_ident()
            if self.owner not in (None, me):
                return 0
            self.owner = me
            self.n += 1
            return self.n


class OfRLock(LockedCounter):
    def __init__(self) -> None:
        self.lock = threading.RLock()

    def increment(self) -> bool:
        return self.lock.acquire(blocking=False)


class OwnRLock(Gate):
    """A reentrant lock made by hand, which knows its owner by `is`."""

    def __init__(self) -> None:
        super().__init__()
        self.free, self.depth = threading.Condition(), 0

    def __enter__(self) -> None:
        me = threading.current_thread()
        with self.free:
            self.free.wait_for(lambda: self.owner in (None, me))
            self.owner = me
            self.depth += 1

    def __exit__(self, *_: object) -> None:
        with self.free:
            assert self.owner is threading.current_thread()
            self.depth -= 1
            if not self.depth:
                self.owner = None
                self.free.notify()

    def increment(self) -> int:
        with self, self:
            self.n += 1
            return self.n


class LooksAtThreads(LockedCounter):
    def increment(self) -> int:
        super().increment()
        thread = threading.current_thread()
        assert isinstance(thread, threading.Thread)
        assert thread in threading.enumerate()
        assert len(threading.enumerate()) == threading.active_count() == 3
        assert thread.is_alive()
        assert (thread.ident, thread.native_id) == (threading.get_ident(), threading.get_native_id())
        assert thread is not threading.main_thread()
        thread.mine = getattr(thread, "mine", 0) + 1
        return thread.mine


class OfMain(LockedCounter):
    def __init__(self) -> None:
        super().__init__()
        self.owner = threading.current_thread()

    def claim(self) -> bool:
        return threading.current_thread() is threading.main_thread() is self.owner


class OfShownTwice(LockedCounter):
    """What the library asks who calls must be told the same."""

    def increment(self) -> str:
        super().increment()
        return repr(self)

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        return f"<{self.n >= 0}>"


class OfClocks(LockedCounter):
    """The factory looks at a clock that it knows by its own name."""

    def __init__(self) -> None:
        super().__init__()
        self.since = time(), monotonic()

    def increment(self) -> tuple[int, bool]:
        return super().increment(), monotonic() >= self.since[1]


class Joins(Gate):
    claim = Biased.claim

    def increment(self) -> int:
        if self.owner is not None:
            self.owner.join()
        return LockedCounter.increment(self)


RIGHT, WRONG, OPEN = Verdict.LINEARIZABLE, Verdict.ILLEGAL, Verdict.UNKNOWN
CLAIM: Any = [("claim",)]
CASES: list[Any] = [
    *((Gate, spec, TWICE, {"at_start": CLAIM}, WRONG, "") for spec in (None, CounterWithMore())),
    *((Biased, spec, [[("claim",), ("increment",)], [("increment",)]], {}, WRONG, "") for spec in (None, CounterWithMore())),
    *((made, None, TWICE, {}, RIGHT, "")
      for made in (Depth, OfRLock, OwnRLock, LooksAtThreads, OfShownTwice, OfClocks)),
    (Depth, None, ONE_TWICE, {}, RIGHT, ""),
    (Depth, None, TWICE, {"at_start": [("increment",)]}, RIGHT, ""),
    (OfMain, None, TWICE, {"at_start": CLAIM, "at_end": CLAIM}, RIGHT, ""),
    (Joins, None, [CLAIM, [("increment",)]], {}, OPEN, "waits for the end of a thread that calls it"),
]  # fmt: skip


@pytest.mark.parametrize(("made", "spec", "threads", "around", "verdict", "told"), CASES)
def test_who_calls_is_the_same_everywhere(
    made: Any, spec: Any, threads: Any, around: Any, verdict: Any, told: str
) -> None:
    outcome = explore(made, spec, threads, seed=1, **around)
    assert outcome.verdict is verdict, outcome.report()
    assert told in outcome.summary


def test_other_threads_are_who_they_are() -> None:
    seen, over = set(), threading.Event()
    ask, enter = threading.get_ident, threading.current_thread

    def work() -> None:
        while not over.is_set():
            seen.add((threading.get_ident() == ask(), threading.current_thread() is enter()))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert explore(OwnRLock, None, TWICE, seed=1)
    finally:
        over.set()
        thread.join()
    assert seen == {(True, True)}
