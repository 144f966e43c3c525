"""Threads for tests: started together, joined within a time limit, with their exceptions raised in the test."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

LIMIT = 180.0  # seconds; a thread that takes longer hangs. Threads that wait for a busy disk were seen to take 60
SWITCH_INTERVAL = 1e-5  # seconds; makes interpreters with a GIL switch threads far more often than usual


class Hung(AssertionError):
    """Threads did not end within the time limit."""


class Worker(threading.Thread):
    """Waits at `barrier`, calls `function` once, and keeps what it returned or raised."""

    def __init__(self, function: Callable[[], Any], barrier: threading.Barrier) -> None:
        super().__init__(daemon=True)  # a hung one must not keep the interpreter from exiting
        self._function = function
        self._barrier = barrier
        self.result: Any = None
        self.raised: BaseException | None = None

    def run(self) -> None:
        try:
            self._barrier.wait(LIMIT)
            self.result = self._function()
        except BaseException as raised:  # noqa: BLE001 (raised again by the thread that joins)
            self.raised = raised


def run_together(functions: Sequence[Callable[[], T]], limit: float = LIMIT) -> list[T]:
    """Call every function in a thread of its own, all at once; return their results, or raise the first error."""
    with frequent_switches():
        return finish(start(functions), limit)


def start(functions: Sequence[Callable[[], Any]]) -> list[Worker]:
    barrier = threading.Barrier(len(functions))
    workers = [Worker(function, barrier) for function in functions]
    for worker in workers:
        worker.start()
    return workers


def finish(workers: Sequence[Worker], limit: float = LIMIT) -> list[Any]:
    deadline = time.monotonic() + limit
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
    raised = [worker.raised for worker in workers if worker.raised is not None]
    if raised:
        raise raised[0]
    hung = [worker.name for worker in workers if worker.is_alive()]
    if hung:
        raise Hung(f"after {limit} s still running: {', '.join(hung)}")
    return [worker.result for worker in workers]


@contextmanager
def meanwhile(*functions: Callable[[], Any]) -> Iterator[None]:
    """While the block runs, call each function repeatedly in a thread of its own; each is called at least once."""
    stop = threading.Event()

    def repeating(function: Callable[[], Any]) -> Callable[[], None]:
        def repeat() -> None:
            function()
            while not stop.is_set():
                function()

        return repeat

    with frequent_switches():
        workers = start([repeating(function) for function in functions])
        try:
            yield
        finally:
            stop.set()
            finish(workers)


@contextmanager
def frequent_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
