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
import stress
from stress import Verdict, explore

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")

TWICE: Any = [[("increment",)], [("increment",)]]
CLAIM_BEFORE: Any = {"at_start": [("claim",)]}


class Numbers(stress.Counter):
    def step(self, state: Any, op: str, args: tuple[Any, ...]) -> tuple[Any, Any]:
        return (state, None) if op == "claim" else super().step(state, op, args)


class Locked:
    def __init__(self) -> None:
        self.lock, self.owner, self.n = threading.Lock(), None, 0

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n


class Gate(Locked):
    """Wrong: who has claimed it forgets the lock."""

    def claim(self) -> None:
        self.owner = threading.get_ident()

    def increment(self) -> int:
        if self.owner:
            self.n += 1
            return self.n
        return super().increment()


class Biased(Locked):
    """Wrong: its owner takes no lock."""

    def claim(self) -> None:
        self.owner = threading.current_thread()

    def increment(self) -> int:
        if self.owner is threading.current_thread():
            self.n += 1
            return self.n
        return super().increment()


class TakenOnce(Locked):
    def increment(self) -> bool:
        with self.lock:
            if self.owner:
                return False
            self.owner = threading.get_ident()
            return True


class Depth(Locked):
    """Each thread counts how often it has taken it."""

    def increment(self) -> int:
        with self.lock:
            me = threading.get_ident()
            if self.owner not in (None, me):
                return 0
            self.owner = me
            self.n += 1
            return self.n


class OfRLock(Locked):
    def __init__(self) -> None:
        self.lock = threading.RLock()

    def increment(self) -> bool:
        return self.lock.acquire(blocking=False)


class OwnRLock(Locked):
    """A reentrant lock made by hand, which knows its owner by `is`."""

    def __init__(self) -> None:
        super().__init__()
        self.free, self.depth = threading.Condition(), 0

    def acquire(self) -> None:
        me = threading.current_thread()
        with self.free:
            while self.owner is not None and self.owner is not me:
                self.free.wait()
            self.owner = me
            self.depth += 1

    def release(self) -> None:
        with self.free:
            assert self.owner is threading.current_thread()
            self.depth -= 1
            if not self.depth:
                self.owner = None
                self.free.notify()

    def increment(self) -> int:
        self.acquire()
        self.acquire()
        self.n += 1
        n = self.n
        self.release()
        self.release()
        return n


class OfLocal(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.mine = threading.local()

    def increment(self) -> int:
        super().increment()
        self.mine.n = getattr(self.mine, "n", 0) + 1
        return self.mine.n


class Worker:
    def __init__(self) -> None:
        self.lock = threading.Lock()


class Mine(threading.local):
    def __init__(self) -> None:
        self.worker = Worker()


class OfMine(Locked):
    """Each thread has a worker of its own, for longer than the object lives."""

    mine = Mine()

    def increment(self) -> int:
        with self.mine.worker.lock:
            return super().increment()


class LooksAtThreads(Locked):
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


class OfMain(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.owner = threading.current_thread()

    def claim(self) -> bool:
        return threading.current_thread() is threading.main_thread() is self.owner


class OfNativeNumbers(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.seen = set()

    def increment(self) -> int:
        with self.lock:
            self.seen.add(threading.get_native_id())
            return len(self.seen)


class OfShownTwice(Locked):
    """What the library asks who calls must be told the same."""

    def increment(self) -> str:
        super().increment()
        return repr(self)

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        return f"<{self.n >= 0}>"


class OfClocks(Locked):
    """The factory looks at a clock that it knows by its own name."""

    def __init__(self) -> None:
        super().__init__()
        self.since = time(), monotonic()

    def increment(self) -> tuple[int, bool]:
        return super().increment(), monotonic() >= self.since[1]


WRONG: Any = [
    (Gate, None, TWICE, CLAIM_BEFORE),
    (Gate, Numbers(), TWICE, CLAIM_BEFORE),
    (Biased, None, [[("claim",), ("increment",)], [("increment",)]], {}),
    (Biased, Numbers(), [[("claim",), ("increment",)], [("increment",)]], {}),
]
RIGHT: Any = [
    (made, None, TWICE, {})
    for made in (TakenOnce, Depth, OfRLock, OwnRLock, OfMine, OfNativeNumbers, LooksAtThreads, OfShownTwice, OfClocks)
] + [
    (Depth, None, [[("increment",), ("increment",)], [("increment",)]], {}),
    (OfLocal, None, [[("increment",), ("increment",)], [("increment",)]], {}),
    (OfMain, None, TWICE, {"at_start": [("claim",)], "at_end": [("claim",)]}),
    (TakenOnce, None, TWICE, {"at_start": [("increment",)]}),
]


@pytest.mark.parametrize(("made", "spec", "threads", "around"), WRONG)
def test_no_proof(made: Any, spec: Any, threads: Any, around: Any) -> None:
    assert explore(made, spec, threads, seed=1, **around).verdict is Verdict.ILLEGAL


@pytest.mark.parametrize(("made", "spec", "threads", "around"), RIGHT)
def test_no_accusation(made: Any, spec: Any, threads: Any, around: Any) -> None:
    outcome = explore(made, spec, threads, seed=1, **around)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.report()


def test_other_threads_are_who_they_are() -> None:
    seen: list[Any] = []
    over = threading.Event()
    ask, enter = threading.get_ident, threading.current_thread

    def work() -> None:
        while not over.is_set():
            seen.append((threading.get_ident() == ask(), threading.current_thread() is enter()))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert explore(OwnRLock, None, TWICE, seed=1)
    finally:
        over.set()
        thread.join()
    assert set(seen) == {(True, True)}


def test_a_thread_can_neither_be_made_nor_waited_for() -> None:
    class Starts(Locked):
        def increment(self) -> int:
            threading.Thread(target=print).start()
            return super().increment()

    class Joins(Locked):
        def claim(self) -> None:
            self.owner = threading.current_thread()

        def increment(self) -> int:
            if self.owner is not None:
                self.owner.join()
            return super().increment()

    assert "starts a thread of its own" in explore(Starts, None, TWICE, seed=1).summary
    joined = explore(Joins, None, [[("claim",)], [("increment",)]], seed=1)
    assert joined.verdict is Verdict.UNKNOWN
    assert "waits for the end of a thread that calls it" in joined.summary
