"""The threads of an execution, of which one runs at a time: greenlets if the package is installed, else threads of the
operating system (some ten times slower).

`MAIN` is the code that calls `resume`. A body runs until it hands over with `switch`, or ends: then `MAIN` continues.
The only exception that may end a body is `Abandoned`.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextvars import Context
from functools import partial
from importlib import import_module
from select import select
from typing import Any, Final

from stress.processes import gil_enabled

__all__ = ["MAIN", "Abandoned", "Coroutines", "Greenlets", "Threads", "new_coroutines"]

MAIN: Final = -1

Body = Callable[[int], object]


class Abandoned(BaseException):
    """Ends a body at its present position, as if its thread never ran again."""


class _Bodies:
    """The common part of both kinds: their bodies."""

    def __init__(self) -> None:
        self._body: Body | None = None

    def _run(self, number: int, running: set[int]) -> None:
        """Run a body to its end."""
        running.add(number)
        try:
            assert self._body is not None
            Context().run(self._body, number)  # a thread begins with no variables of a context
        except Abandoned:
            pass
        finally:
            running.discard(number)


class Greenlets(_Bodies):
    """Coroutines made of greenlets. Starting and ending a greenlet takes longer than a dozen switches, so greenlets are
    kept: one without a body waits for the next.
    """

    def __init__(self) -> None:
        super().__init__()
        self._running: set[int] = set()
        greenlet: Any = import_module("greenlet")
        self._make = greenlet.greenlet
        self._main = greenlet.getcurrent
        self._greenlets: list[Any] = [None]
        """Those of the bodies, and that of `MAIN`, which is the last one."""

    def start(self, body: Body, size: int) -> None:
        """Prepare `size` threads, of which number n will run `body(n)`; none runs yet."""
        main = self._main()
        # Greenlets cannot leave the thread in which they were made. And an exception from outside, such as Ctrl-C, may
        # have ended one, or have left a body unfinished.
        if main is not self._greenlets[MAIN] or self._running or any(each.dead for each in self._greenlets[:MAIN]):
            self._greenlets, self._running = [main], set()
        self._body = body
        while len(self._greenlets) <= size:
            self._greenlets.insert(MAIN, self._make(self._work))

    def _work(self, number: int) -> None:
        while True:
            self._run(number, self._running)
            number = self._greenlets[MAIN].switch(MAIN)

    def resume(self, to: int) -> None:
        """Called by `MAIN`: let `to` run. Returns when a body has let `MAIN` continue, as it ended or by `switch`."""
        self._greenlets[to].switch(to)

    def switch(self, me: int, to: int) -> None:
        """Called by body `me`: let `to` run, which may have to begin. Returns when another body switches back."""
        self._greenlets[to].switch(to)

    def thread_of_the_running(self, main: int) -> int:
        """The identity of the operating-system thread that runs now, if `main` is that of `MAIN`."""
        return main

    def abandon(self) -> None:
        """Called by `MAIN`: end the bodies that have not ended."""
        self._body = None
        for number in list(self._running):
            if not self._greenlets[number].dead:
                self._greenlets[number].throw(Abandoned)
        self._running.clear()

    def end(self) -> None:
        """Called by `MAIN` when no body has to run any more: no thread is left. `start` may be called again."""


class Threads(_Bodies):
    """Coroutines made of operating-system threads. Each waits for its own turn.

    An exception from outside, such as Ctrl-C, reaches `MAIN` while a body runs. All are asked to end then: each does so
    before its next switch. One that makes none in time is left alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self._crew = _Crew()
        self._mine = threading.local()
        self._current = 0
        self._process = os.getpid()

    def start(self, body: Body, size: int) -> None:
        """As `Greenlets.start`."""
        if self._process != os.getpid() or self._crew.running:  # a forked process does not have the threads, and
            self._crew, self._process = _Crew(), os.getpid()  # an interruption may have left a body unfinished
        self._body = body
        turns = self._crew.turns
        while len(turns) < size:
            turns.append(_Turn())
            args = (self._crew, len(turns) - 1)
            thread = threading.Thread(target=self._work, args=args, name=f"explored-{len(turns) - 1}", daemon=True)
            self._crew.threads.append(thread)
            thread.start()

    def _work(self, crew: _Crew, number: int) -> None:
        self._mine.crew = crew
        while True:
            crew.turns[number].wait()
            if not crew.ended:
                self._current = threading.get_ident()
                try:
                    self._run(number, crew.running)
                finally:
                    crew.let_on(MAIN)
            if crew.ended:
                return

    def resume(self, to: int) -> None:
        """As `Greenlets.resume`."""
        crew = self._crew
        try:
            crew.turns[to].give()
            crew.main.wait()
        except BaseException:
            self._crew, crew.abandoned = _Crew(), True
            try:
                crew.main.wait(_PATIENCE)
            finally:
                crew.end()
            raise
        finally:
            self._current = 0

    def switch(self, me: int, to: int) -> None:
        """As `Greenlets.switch`."""
        crew = self._mine.crew
        if crew.abandoned:
            raise Abandoned
        crew.let_on(to)
        crew.turns[me].wait()
        if crew is self._crew:
            self._current = threading.get_ident()
        if crew.abandoned:
            raise Abandoned

    def thread_of_the_running(self, main: int) -> int:
        """As `Greenlets.thread_of_the_running`."""
        return self._current or main

    def abandon(self) -> None:
        """As `Greenlets.abandon`."""
        crew = self._crew
        crew.abandoned = True
        for number in list(crew.running):
            self.resume(number)
        crew.abandoned, self._body = False, None

    def end(self) -> None:
        """As `Greenlets.end`."""
        crew, self._crew = self._crew, _Crew()
        if self._process == os.getpid():
            crew.end()
            for thread in crew.threads:
                thread.join()


Coroutines = Greenlets | Threads
"""Numbered bodies, of which one runs at a time."""


class _Crew:
    """Threads that take turns, and those turns."""

    def __init__(self) -> None:
        self.turns: list[_Turn] = []
        self.threads: list[threading.Thread] = []
        self.ended = False
        self.main = _Turn()
        self.running: set[int] = set()
        self.abandoned = False

    def let_on(self, to: int) -> None:
        """Let a thread run. `MAIN` runs if the others are to end."""
        if to >= 0 and not self.abandoned:
            self.turns[to].give()
        else:
            self.main.give()

    def end(self) -> None:
        """Let every thread end: those with a body at its present position."""
        self.ended = self.abandoned = True
        for turn in self.turns:
            turn.give()


_PATIENCE: Final = 1.0
"""Seconds in which a body must come to its next switch after an interruption."""


class _Turn:
    """A turn: a counter of the system's, or a pipe, which one thread adds to and another waits for. On a free-threaded
    build it passes in a tenth of the time that a lock takes there.
    """

    def __init__(self) -> None:
        self._files = (os.eventfd(0),) if hasattr(os, "eventfd") else os.pipe()
        self.give: Callable[[], object] = partial(os.write, self._files[-1], _ONE)

    def wait(self, seconds: float | None = None) -> bool:
        """Take the turn when it is given; answers whether that was within so many seconds."""
        file = self._files[0]
        if seconds is not None and not select([file], [], [], seconds)[0]:
            return False
        os.read(file, len(_ONE))
        return True

    def __del__(self) -> None:
        for each in self._files:
            os.close(each)


_ONE: Final = (1).to_bytes(8, sys.byteorder)


def new_coroutines() -> Coroutines:
    """Coroutines of the fastest kind that is available."""
    if not gil_enabled() and sys.version_info < (3, 14):
        return Threads()  # importing the only greenlet for it switches its lock on, and with the lock off it crashes
    if sys.version_info.releaselevel != "final":
        return Threads()  # a greenlet was built for the release, whose frames lie in another way: a switch crashes
    try:
        return Greenlets()
    except ImportError:  # none is installed, or one that was built for another interpreter
        return Threads()
