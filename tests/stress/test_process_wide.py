"""What is set for the whole process is given back, whoever needed it at the same time, in whichever order they end, and if
Ctrl-C ends them; and no thread is left."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import stress
from stress.explorer import watch
from stress.explorer.coroutines import MAIN, Coroutines, Greenlets, Threads, new_coroutines
from stress.explorer.experiment import garbage_is_kept
from stress.process_wide import COLLECTOR, SWITCH_INTERVAL, TRACE_OF_NEW_THREADS, Setting
from stress.recorder.record import threads_yielding
from tests.stress.objects import LockedCounter
from tests.threads import run_together

PATIENCE = 60.0


def everything() -> tuple[Any, ...]:
    return sys.getswitchinterval(), threading.gettrace(), threading.getprofile(), gc.isenabled()


def test_of_two_runs_at_once_the_first_may_end_first() -> None:
    before = everything()
    one_began, other_began, one_ended = threading.Event(), threading.Event(), threading.Event()

    def made(begins: threading.Event, waits: threading.Event) -> Callable[[], LockedCounter]:
        def make() -> LockedCounter:
            begins.set()
            assert waits.wait(PATIENCE)
            return LockedCounter()

        return make

    def run(factory: Callable[[], Any]) -> int:
        settings: Any = {"rounds": 2, "seed": 1, "pursuit": 0}
        return stress.run(factory, stress.Counter(), [("increment",)], **settings).operations

    def first() -> int:
        operations = run(made(one_began, other_began))
        one_ended.set()
        return operations

    def second() -> int:
        assert one_began.wait(PATIENCE)
        return run(made(other_began, one_ended))

    assert all(run_together([first, second]))
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
    assert held_by_one != held_by_other == everything()
    other.__exit__(None, None, None)
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


PROGRAM = """
import itertools, sys, threading
import stress

made = itertools.count(1)

class Counters:
    def __init__(self):
        if next(made) == WHEN:
            print("now", flush=True)
        self.locks, self.n = [threading.Lock() for _ in range(3)], [0, 0, 0]

    def increment(self, which):
        with self.locks[which]:
            self.n[which] += 1
            return self.n[which]

calls = [("increment", which) for which in range(3)]
try:
    if MODE == "explore":
        stress.explore(Counters, None, [calls] * 3)
    else:
        stress.run(Counters, None, calls, threads=2, duration=100)
except KeyboardInterrupt:
    pass
threads = [each for each in threading.enumerate() if each is not threading.main_thread() and each.ident]
print([each.name for each in threads])
"""


@pytest.mark.parametrize(("mode", "when"), [("explore", 1), ("explore", 5), ("explore", 40), ("run", 1), ("run", 5)])
def test_ctrl_c_leaves_no_thread(mode: str, when: int) -> None:
    program = PROGRAM.replace("WHEN", str(when)).replace("MODE", repr(mode))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "now\n"
        running.send_signal(signal.SIGINT)
        try:
            told, _ = running.communicate(timeout=PATIENCE)
        finally:
            running.kill()  # nothing, if it has ended
    assert told == "[]\n"


@pytest.mark.parametrize("kind", [Greenlets, Threads])
def test_coroutines_end_and_can_begin_again(kind: Any) -> None:
    if kind is Greenlets:
        pytest.importorskip("greenlet")
    coroutines: Coroutines = kind()
    before, ran = threading.active_count(), list[int]()
    for _ in range(2):
        coroutines.start(ran.append, 2)
        coroutines.resume(0)
        coroutines.resume(1)
        coroutines.end()
        assert threading.active_count() == before
    assert ran == [0, 1, 0, 1]


class Late(BaseException):
    """Comes when the turn has just come back."""


def test_an_exception_that_comes_just_after_a_turn_leaves_no_thread() -> None:
    coroutines = Threads()
    coroutines.start(lambda me: coroutines.switch(me, MAIN), 1)
    crew = coroutines._crew
    wait = crew.main.wait

    def late(*args: Any) -> bool:
        crew.main.wait = wait  # type: ignore[method-assign]
        wait(*args)
        raise Late

    crew.main.wait = late  # type: ignore[method-assign, assignment]
    with pytest.raises(Late):
        coroutines.resume(0)
    for each in crew.threads:
        each.join(5)
        assert not each.is_alive()


@pytest.mark.parametrize("seconds", [None, 5.0])
def test_a_watch_whose_start_is_interrupted_ends(monkeypatch: pytest.MonkeyPatch, seconds: float | None) -> None:
    class Interrupted(threading.Thread):
        def start(self) -> None:
            super().start()
            raise KeyboardInterrupt

    monkeypatch.setattr(watch, "_REAL_THREAD", Interrupted)
    machine: Any = None  # it is asked at the first beat
    handler = signal.getsignal(signal.SIGURG)
    with pytest.raises(KeyboardInterrupt), watch.Watch(machine, seconds):
        pass
    assert not [each for each in threading.enumerate() if each.name == "explorer-watch"]
    assert signal.getsignal(signal.SIGURG) == handler


class Beta(tuple[int, ...]):
    releaselevel = "beta"


def test_a_greenlet_that_does_not_fit_the_interpreter_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for a release, before it; and one that would switch the lock on. (From 3.14 on it says that it does not.)"""
    monkeypatch.setitem(sys.modules, "greenlet", SimpleNamespace(greenlet=object, getcurrent=object))
    has_no_lock = not getattr(sys, "_is_gil_enabled", lambda: True)()
    misfits = (has_no_lock and sys.version_info < (3, 14)) or sys.version_info.releaselevel != "final"
    assert (type(new_coroutines()) is Threads) is misfits
    monkeypatch.setattr(sys, "version_info", Beta((3, 14, 0)))
    assert type(new_coroutines()) is Threads
