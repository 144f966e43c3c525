"""A supervised team of processes, for all work that is done in parallel.

A process of the team sends its findings to the first process. Its progress is in shared memory, where it remains if the
process dies: counters (`Tally`), and a line that describes its present work (`note`). A process that ends before it has
reported its end has died, and the team reports that (`Died`): the signal or exit status, the work, and the position of
all its threads if the interpreter could still tell.

Only the first process handles Ctrl-C.
"""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import c_char, c_longlong
from multiprocessing.connection import Connection, wait
from typing import Any, Final, NamedTuple

from stress.source import is_ours
from stress.verdicts import end_of_process

PATIENCE: Final = 30.0
"""Seconds without any progress after which a call is taken to hang."""
_BEAT: Final = 0.1
"""Seconds between two checks of the team."""
_NOTE: Final = 1_000
_GRACE: Final = 2.0
"""Seconds that a process has to end after it was told to."""


class WorkFailed(RuntimeError):
    """A process of a team raised an exception that is not a finding: its input was wrong."""


_number_of_forks = 0


def forks() -> int:
    """The number of forks that led to this process, as far as they were made by this interpreter. To look takes no
    system call.
    """
    return _number_of_forks


def _forked() -> None:
    global _number_of_forks
    _number_of_forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Died(NamedTuple):
    """A process of the team that ended before it was done."""

    number: int
    exitcode: int | None
    note: str
    stacks: str

    def __str__(self) -> str:
        at = f", at {self.note}" if self.note else ""
        return f"a process of the team was {end_of_process(self.exitcode)}{at}"


class Tally:
    """Counters of a team, all 0 at first. Each process adds to its own row, so that no process waits for another. A
    reader adds up the rows.

    >>> tally = Tally(["rounds"], processes=2)
    >>> tally.add(0, "rounds", 3); tally.add(1, "rounds", 2)
    >>> tally.value("rounds")
    5
    """

    def __init__(self, names: Sequence[str], processes: int) -> None:
        self.names = tuple(names)
        self._rows = [multiprocessing.RawArray(c_longlong, len(self.names)) for _ in range(processes)]

    def add(self, process: int, name: str, amount: int = 1) -> None:
        """Add to the counter `name`, as process number `process`."""
        self._rows[process][self.names.index(name)] += amount

    def value(self, name: str) -> int:
        """The counter `name` now."""
        at = self.names.index(name)
        return sum(row[at] for row in self._rows)


class Worker:
    """What a process of the team has in common with the others: its `number`, `send`, and `note`."""

    def __init__(self, number: int, pipe: Connection, note: Any) -> None:
        self.number, self._pipe, self._note = number, pipe, note
        self._parent, self._process = os.getppid(), os.getpid()

    def send(self, found: Any) -> None:
        """Send something to the first process."""
        if os.getpid() != self._process:
            os._exit(0)  # a call of the object has forked, and the child has come back from it
        self._pipe.send(("sent", found))

    def note(self, text: str) -> None:
        """Describe the present work, in case this process dies. Ends the process if the first process has died."""
        if os.getppid() != self._parent:
            os._exit(1)
        self._note.value = text.encode(errors="replace")[:_NOTE]


class _Member:
    """A process of the team, as the first process sees it."""

    def __init__(self, context: Any, number: int, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.number = number
        self.note = context.RawArray(c_char, _NOTE + 1)
        self.last_words = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the member
        self.pipe, sender = context.Pipe(duplex=False)
        self.process = context.Process(
            target=_run, args=(work, number, sender, self.note, self.last_words.fileno(), arguments), daemon=True
        )
        self.process.start()
        sender.close()
        self.done = False

    def died(self) -> Died:
        self.process.join()
        self.last_words.seek(0)
        stacks = _theirs(self.last_words.read().decode(errors="replace"))
        return Died(self.number, self.process.exitcode, self.note.value.decode(errors="replace"), stacks)

    def stop(self, by_signal: int) -> None:
        """End the process, if it has not ended by itself."""
        if self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, by_signal)
            self.process.join(_GRACE)
            if self.process.is_alive():
                self.process.kill()

    def end(self) -> None:
        """End the process, and what belongs to it here."""
        self.stop(signal.SIGTERM)
        self.process.join()
        self.pipe.close()
        self.last_words.close()


class Team:
    """Processes that each call `work(worker, *arguments)`, where `worker` is a `Worker`. Use it in a `with` block: at
    the end of the block no process is left.
    """

    def __init__(self, size: int, work: Callable[..., None], *arguments: Any) -> None:
        self._size, self._work, self._arguments = size, work, arguments
        self._members: list[_Member] = []

    def __enter__(self) -> Team:
        context: Any = multiprocessing.get_context(
            "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
        )
        try:
            with _ctrl_c_later():
                for number in range(self._size):
                    self._members.append(_Member(context, number, self._work, self._arguments))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.end()

    def messages(self) -> Iterator[Any]:
        """Yield what the processes send, `Died` for each that dies, and None several times a second, until all have
        ended.

        Raises:
            WorkFailed: `work` raised an exception.
        """
        running = {member.pipe: member for member in self._members}
        while running:
            ended = {pipe for pipe, member in running.items() if not member.process.is_alive()}
            for ready in {*ended, *list[Any](wait(list(running), timeout=_BEAT))}:
                member = running[ready]
                try:
                    if ready in ended and not ready.poll():  # a child of that process may hold the other end
                        raise EOFError
                    kind, told = ready.recv()
                except Exception:  # noqa: BLE001 - it has ended, or what it sent while it died is garbage
                    del running[ready]
                    if not member.done:
                        member.stop(signal.SIGABRT)
                        yield member.died()
                    continue
                if kind == "failed":
                    raise WorkFailed(told)
                if kind == "done":
                    member.done = True
                else:
                    yield told
            yield None

    def interrupt(self, number: int) -> None:
        """Abort a process that makes no progress; it reports where its threads are."""
        self._members[number].stop(signal.SIGABRT)


def _run(
    work: Callable[..., None], number: int, pipe: Connection, note: Any, last_words: int, arguments: tuple[Any, ...]
) -> None:
    with pipe:
        with suppress(OSError, ValueError):  # a spawned process has no such file
            faulthandler.enable(last_words)
        try:
            work(Worker(number, pipe, note), *arguments)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the first process reports any exception
            pipe.send(("failed", _told(error)))
        else:
            pipe.send(("done", None))


def _theirs(stacks: str) -> str:
    """The output of `faulthandler`, without the threads and calls that are not the user's."""
    told: list[str] = []
    for block in filter(None, stacks.strip().split("\n\n")):
        head, *frames = block.splitlines()
        kept = [frame for frame in frames if not is_ours(frame.strip().removeprefix('File "'))]
        if kept or not frames:
            told += [head, *kept]
    return "\n".join(told)


def _told(error: BaseException) -> str:
    """The exception, and the line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Block Ctrl-C: processes that begin here inherit the block and never see it. Here it arrives at the end."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Patience:
    """Tells when something has not changed for a number of seconds."""

    def __init__(self) -> None:
        self._seen: Any = None
        self._since = time.monotonic()

    def is_over(self, seen: Any, seconds: float) -> bool:
        """Whether `seen` has had the same value for at least so many seconds."""
        if seen != self._seen:
            self._seen, self._since = seen, time.monotonic()
        return time.monotonic() - self._since > seconds


def gil_enabled() -> bool:
    """Whether the threads of this interpreter take turns under a global lock."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def default_processes(threads: int) -> int:
    """The number of processes: one for each core if threads take turns; if they run in parallel, one for each `threads`
    cores.
    """
    cores = os.cpu_count() or 1
    return cores if gil_enabled() else max(1, cores // max(threads, 1))
