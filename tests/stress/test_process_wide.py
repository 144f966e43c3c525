"""What is set for the whole process is given back, whoever needed it at the same time, and in whichever order they end."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import stress
from stress.explorer.garbage import garbage_is_kept
from stress.process_wide import COLLECTOR, SWITCH_INTERVAL, TRACE_OF_NEW_THREADS, Setting
from stress.recorder.record import threads_yielding

PATIENCE = 60.0


def everything() -> tuple[Any, ...]:
    return sys.getswitchinterval(), threading.gettrace(), threading.getprofile(), gc.isenabled()


class Hits:
    def __init__(self) -> None:
        self.n, self.lock = 0, threading.Lock()

    def increment(self) -> int:
        with self.lock:
            self.n += 1
            return self.n


def run(factory: Callable[[], Any]) -> stress.Outcome:
    return stress.run(factory, stress.Counter(), [("increment",)], rounds=2, seed=1, pursuit=0)


def test_of_two_runs_at_once_the_first_may_end_first() -> None:
    before = everything()
    one_began, other_began, one_ended = threading.Event(), threading.Event(), threading.Event()
    outcomes: list[stress.Outcome] = []

    def first() -> Hits:
        one_began.set()
        assert other_began.wait(PATIENCE)
        return Hits()

    def second() -> Hits:
        other_began.set()
        assert one_ended.wait(PATIENCE)
        return Hits()

    def run_first() -> None:
        outcomes.append(run(first))
        one_ended.set()

    def run_second() -> None:
        assert one_began.wait(PATIENCE)
        outcomes.append(run(second))

    threads = [threading.Thread(target=run_first), threading.Thread(target=run_second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert [outcome.operations > 0 for outcome in outcomes] == [True, True]
    assert everything() == before


@pytest.mark.parametrize(
    ("setting", "values"),
    [(SWITCH_INTERVAL, (0.001, 0.002)), (COLLECTOR, (False, True)), (TRACE_OF_NEW_THREADS, (print, len))],
)
def test_the_latest_value_holds_and_the_last_gives_back(setting: Setting[Any], values: tuple[Any, Any]) -> None:
    before = everything()
    one, other = map(setting.held, values)

    one.__enter__()
    held_by_one = everything()
    other.__enter__()
    held_by_other = everything()
    one.__exit__(None, None, None)
    still_held = everything()
    other.__exit__(None, None, None)

    assert held_by_one != held_by_other == still_held
    assert everything() == before


def test_an_exploration_and_a_run_may_hold_the_collector_at_once() -> None:
    exploration, run = garbage_is_kept(), COLLECTOR.held(False)
    exploration.__enter__()
    run.__enter__()
    exploration.__exit__(None, None, None)
    meanwhile = gc.isenabled()
    run.__exit__(None, None, None)

    assert (meanwhile, gc.isenabled()) == (False, True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_none_of_the_settings_of_other_threads() -> None:
    before = everything()
    inside, done = threading.Event(), threading.Event()

    def another_run() -> None:
        with SWITCH_INTERVAL._lock, threads_yielding(0.5, 1), SWITCH_INTERVAL.held(1e-6), COLLECTOR.held(False):
            inside.set()
            done.wait(PATIENCE)

    thread = threading.Thread(target=another_run)
    thread.start()
    assert inside.wait(PATIENCE)
    child = os.fork()
    if not child:
        with SWITCH_INTERVAL.held(0.001):  # the thread that had the lock is gone
            pass
        os._exit(0 if everything() == before else 1)
    done.set()
    thread.join(PATIENCE)

    assert os.waitpid(child, 0)[1] == 0
    assert everything() == before
