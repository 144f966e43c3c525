"""A team of processes that send what they find."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, Final

__all__ = ["ctrl_c_later", "messages"]

_BEAT: Final = 0.2

Send = Callable[[Any], None]


def messages(size: int, work: Callable[..., None], *arguments: Any) -> Iterator[Any]:
    """Call `work(number, send, *arguments)` in `size` processes. Yields what they send, and None several times a
    second; to stop before they end is to end them.

    Ctrl-C is for this process alone.

    Raises:
        RuntimeError: `work` raised an exception.
    """
    context: Any = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    pipes: list[Any] = []
    workers = []
    try:
        with ctrl_c_later():
            for number in range(size):
                receiver, sender = context.Pipe(duplex=False)
                worker = context.Process(target=_run, args=(work, number, sender, arguments), daemon=True)
                worker.start()
                sender.close()
                pipes.append(receiver)
                workers.append(worker)
        while pipes:
            for ready in list[Any](wait(pipes, timeout=_BEAT)):
                try:
                    failed, sent = ready.recv()
                except EOFError:
                    pipes.remove(ready)
                    ready.close()
                    continue
                if failed:
                    raise RuntimeError(f"a process of the team failed: {sent}")
                yield sent
            yield None
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
        for pipe in pipes:
            pipe.close()


def _run(work: Callable[..., None], number: int, pipe: Connection, arguments: tuple[Any, ...]) -> None:
    with pipe:
        try:
            work(number, lambda sent: pipe.send((False, sent)), *arguments)
        except Exception as error:  # noqa: BLE001 - whatever it was, the first process reports it
            pipe.send((True, f"{type(error).__name__}: {error}"))


@contextmanager
def ctrl_c_later() -> Iterator[None]:
    """Processes that begin here never see a Ctrl-C, for they inherit that it is held back; here it comes at the end."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
