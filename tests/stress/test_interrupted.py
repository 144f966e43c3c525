"""Ctrl-C during `explore` and `run` in a process: both end at once, and leave no thread."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stress.explorer import watch
from stress.explorer.coroutines import MAIN, Coroutines, Greenlets, Threads, new_coroutines

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


@pytest.mark.parametrize("when", [1, 5, 40])
@pytest.mark.parametrize("mode", ["explore", "run"])
def test_nothing_is_left(mode: str, when: int, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.replace("WHEN", str(when)).replace("MODE", repr(mode)))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "now\n"
        running.send_signal(signal.SIGINT)
        try:
            told, _ = running.communicate(timeout=60)
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


def test_an_exception_that_comes_just_after_a_turn_leaves_the_threads_as_they_are() -> None:
    coroutines = Threads()

    def body(me: int) -> None:
        coroutines.switch(me, MAIN)

    coroutines.start(body, 1)
    crew = coroutines._crew
    wait = crew.main.wait

    def late(*args: Any) -> bool:
        crew.main.wait = wait
        wait(*args)
        raise Late

    crew.main.wait = late
    with pytest.raises(Late):
        coroutines.resume(0)
    assert coroutines._crew is crew
    coroutines.abandon()
    coroutines.end()
    assert not any(each.is_alive() for each in crew.threads)


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


@pytest.mark.freethreaded
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="greenlet says there that it needs no lock")
def test_a_greenlet_that_would_switch_the_lock_on_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "greenlet", SimpleNamespace(greenlet=object, getcurrent=object))
    assert type(new_coroutines()) is Threads


class Beta(tuple[int, ...]):
    releaselevel = "beta"


def test_a_greenlet_for_the_release_is_left_alone_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "greenlet", SimpleNamespace(greenlet=object, getcurrent=object))
    monkeypatch.setattr(sys, "version_info", Beta((3, 14, 0)))
    assert type(new_coroutines()) is Threads
