"""Runs a server as a child process, on a free port of loopback: ready when it says so, stopped when the block ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

LOOPBACK = "127.0.0.1"
START_LIMIT = 60.0  # seconds; the slowest of them boots a virtual machine of its own
STOP_LIMIT = 10.0
ANSWER_LIMIT = 20.0
POLL = 0.05
# Debian's folder of servers is not on every user's path.
_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"])


def program(name: str) -> str:
    """Return the path of a program; its name if it is not installed."""
    return shutil.which(name, path=_PATH) or name


def lack_of(name: str) -> str | None:
    """Say that a program is not installed, if it is not."""
    return f"{name} is not installed" if program(name) == name else None


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as listener:
        listener.bind((LOOPBACK, 0))
        return int(listener.getsockname()[1])


@contextmanager
def serving(command: Callable[[int, Path], Sequence[str]]) -> Iterator[int]:
    """Run a server and yield its port. Its command is made of that and of a folder for its files."""
    port = free_port()
    with TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with running(command(port, Path(folder)), log) as is_alive:
            wait_until(lambda: accepts_connections(port), is_alive, log)
            yield port


@contextmanager
def running(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[Callable[[], bool]]:
    """Run a program with its output in a file; yield a function that tells whether it still runs."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # so that its child processes end with it
        )
    try:
        yield lambda: process.poll() is None
    finally:
        process.terminate()
        try:
            process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until(is_ready: Callable[[], bool], is_alive: Callable[[], bool], log: Path) -> None:
    """Return when a server is ready.

    Raises:
        RuntimeError: it ended or took too long; the message has its output.
    """
    deadline = time.monotonic() + START_LIMIT
    while not is_ready():
        if not is_alive() or time.monotonic() > deadline:
            raise RuntimeError(f"the server did not start:\n{log.read_text(errors='replace')}")
        time.sleep(POLL)


def connect(port: int) -> socket.socket:
    """Connect to a server, to exchange small messages with it."""
    connection = socket.create_connection((LOOPBACK, port), timeout=ANSWER_LIMIT)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def accepts_connections(port: int) -> bool:
    """Return whether a server listens on a port."""
    try:
        connect(port).close()
    except OSError:
        return False
    return True
