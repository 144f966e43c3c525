"""The clock of an explored object: it stands still but for sleeps and waits, shows the same time to all calls of an
execution, and a thread that goes round and round until it is late is late in the end.
"""

# mypy: ignore-errors

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from typing import Any

import pytest

import ctrie
import stress
from stress import Verdict, explore

pytestmark = pytest.mark.skipif(ctrie.twin != "compiled", reason="the same as with the compiled twin")
once = pytest.mark.once  # the explorer's own rules, which are the same everywhere


class Taking:
    """Takes an item until it is late, and then throws away what has come since: wrong."""

    def __init__(self) -> None:
        self.items = deque()

    def put(self, item: int) -> None:
        self.items.append(item)

    def take(self) -> Any:
        until = time.monotonic() + 0.05
        while not self.items:
            if time.monotonic() > until:
                self.items.clear()
                return None
        return self.items.popleft()

    def left(self) -> int:
        return len(self.items)


class TakingInNanoseconds(Taking):
    def take(self) -> Any:
        until = time.perf_counter_ns() + 50_000_000
        while not self.items:
            if time.perf_counter_ns() > until:
                self.items.clear()
                return None
        return self.items.popleft()


class TakingRight(Taking):
    def take(self) -> Any:
        until = time.monotonic() + 0.05
        while time.monotonic() < until:
            try:
                return self.items.popleft()
            except IndexError:
                continue
        return None


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (Taking, Verdict.ILLEGAL),
        pytest.param(TakingInNanoseconds, Verdict.ILLEGAL, marks=once),
        pytest.param(TakingRight, Verdict.LINEARIZABLE, marks=once),
    ],
)
def test_a_loop_that_looks_at_the_clock_is_late_in_some_schedule(made: Any, verdict: Verdict) -> None:
    outcome = explore(made, None, [[("take",)], [("put", 1)]], at_end=[("left",)])
    assert outcome.verdict is verdict, outcome.summary


class Stealing:
    """Takes a lock by force when it is late: wrong."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.n = 0

    def increment(self) -> int:
        began = time.time()
        while not self.lock.acquire(blocking=False):
            if time.time() - began > 5:
                break
        self.n += 1
        n = self.n
        if self.lock.locked():
            self.lock.release()
        return n


@once
def test_what_a_late_thread_does_to_others_is_found() -> None:
    outcome = explore(Stealing, None, [[("increment",)], [("increment",)]])
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary


class Bucket:
    """Right: a token comes back in time, and a call waits for it by trying again."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.has_token, self.at = True, time.monotonic()

    def take(self) -> bool:
        while True:
            with self.lock:
                now = time.monotonic()
                if now - self.at > 0.1:
                    self.has_token, self.at = True, now
                if self.has_token:
                    self.has_token = False
                    return True


class Delayed(Bucket):
    """Right: it does nothing for a while."""

    def take(self) -> bool:
        until = time.perf_counter() + 1
        while time.perf_counter() < until:
            pass
        return super().take()


@once
@pytest.mark.parametrize("made", [Bucket, Delayed])
def test_a_wait_for_time_is_no_livelock(made: Any) -> None:
    outcome = explore(made, None, [[("take",)], [("take",)]], at_end=[("take",)])
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


class Stamping:
    """Right: it only notes when it looked last, in a variable of its own."""

    def __init__(self) -> None:
        self.done = False

    def set(self) -> None:
        self.done = True

    def wait(self) -> None:
        while not self.done:
            now = time.monotonic()  # noqa: F841


@once
def test_a_loop_that_goes_on_however_late_it_is_is_named() -> None:
    outcome = explore(Stamping, None, [[("wait",)], [("set",)]])
    assert outcome.verdict is Verdict.UNKNOWN
    assert "looks at the clock again and again" in outcome.summary


class Cache:
    """Right: what is put is there for a while."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.entries = {}

    def put(self, key: str, value: int) -> None:
        with self.lock:
            self.entries[key] = value, time.monotonic() + 0.05

    def get(self, key: str) -> Any:
        with self.lock:
            value, until = self.entries.get(key, (None, 0))
            if time.monotonic() < until:
                return value
            self.entries.pop(key, None)
            return None

    def pause(self) -> None:
        time.sleep(0.1)


PUT = ("put", "a", 1)
GET = ("get", "a")
PAUSE = ("pause",)


@pytest.mark.parametrize(
    ("before", "threads", "after"),
    [
        ((PUT, PAUSE), [[GET], [GET]], ()),
        pytest.param((), [[PUT], [("put", "a", 2)]], (GET,), marks=once),
        pytest.param((), [[PUT], [("put", "a", 2)]], (PAUSE, GET), marks=once),
        pytest.param((), [[PUT, PAUSE], [("put", "a", 2)]], (GET,), marks=once),
        pytest.param((), [[PUT], [PAUSE, GET]], (), marks=once),
    ],
)
def test_all_calls_of_an_execution_see_one_clock(before: Any, threads: Any, after: Any) -> None:
    outcome = explore(Cache, None, threads, at_start=before, at_end=after)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary
    assert "by a clock that stands still but for sleeps and waits" in outcome.summary


class CacheWithoutLock(Cache):
    def get(self, key: str) -> Any:
        if key not in self.entries:
            return None
        value, until = self.entries[key]
        if time.monotonic() < until:
            return value
        del self.entries[key]
        return None


@once
def test_what_is_wrong_with_what_is_over_is_found() -> None:
    outcome = explore(CacheWithoutLock, None, [[GET], [GET]], at_start=[PUT, PAUSE])
    assert outcome.verdict is Verdict.ILLEGAL, outcome.summary


class Polled:
    """Whoever reads sleeps until there is something, and others look at the clock."""

    def __init__(self) -> None:
        self.value, self.since = 0, time.monotonic()

    def put(self, value: int) -> None:
        self.since = time.monotonic()
        self.value = value

    def read(self) -> int:
        while self.value == 0:
            time.sleep(0.01)
        return self.value


class WhatIsPut(stress.Spec):
    initial = 0

    def step(self, state: int, op: str, args: tuple[Any, ...]) -> Any:
        if op == "put":
            return args[0], None
        return stress.WAITS if state == 0 else (state, state)


@pytest.mark.parametrize("readers", [1, 2])
def test_who_sleeps_and_looks_again_waits_though_others_look_at_the_clock(readers: int) -> None:
    outcome = explore(Polled, WhatIsPut(), [[("put", 1)], *[[("read",)]] * readers])
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary


class Forgetting:
    """Right: each call leaves garbage that only the collector finds, and that counts when it is found."""

    def __init__(self) -> None:
        self.n, self.found = 0, [0]
        self.lock = threading.Lock()

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            waste = Waste()
            waste.me, waste.found = waste, self.found
            return self.n


class Waste:
    def __del__(self) -> None:
        self.found[0] += 1


@once
def test_garbage_is_not_collected_in_the_middle_of_an_execution() -> None:
    before = gc.get_threshold()
    gc.set_threshold(60, 1, 1)
    try:
        outcome = explore(Forgetting, None, [[("increment",)] * 2, [("increment",)] * 2])
    finally:
        gc.set_threshold(*before)
    assert outcome.verdict is Verdict.LINEARIZABLE, outcome.summary
    assert gc.isenabled()
