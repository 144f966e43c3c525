"""NATS' table of subscriptions, from the server's own package, in a loop in Go.

Debian and Ubuntu have what it needs: `apt-get install golang golang-github-nats-io-nats-server-dev`. Without them the
benchmarks leave it out. It gets one processor, which its garbage collector shares.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

PLAIN = "NATS' sublist (Go), without its cache"
CACHED = "NATS' sublist (Go), all topics in its cache"
_LOOP = Path(__file__).with_name("loop.go")
_SOURCES = Path("/usr/share/gocode")
"""Where Debian's packages have the sources of Go's."""


def missing() -> str | None:
    """Say what is not installed, if anything."""
    if shutil.which("go") is None:
        return "no Go"
    there = (_SOURCES / "src/github.com/nats-io/nats-server/server").is_dir()
    return None if there else "no golang-github-nats-io-nats-server-dev"


def run(name: str, filters: Iterable[str], topics: Sequence[str], shown: int = 0) -> tuple[float, list[list[int]]]:
    """Return the seconds for all topics, after a warm-up, and the numbers of the filters that match the first ones."""
    with TemporaryDirectory() as folder:
        of_filters, of_topics = Path(folder, "filters"), Path(folder, "topics")
        of_filters.write_text("\n".join(filters))
        of_topics.write_text("\n".join(topics))
        kind = "cached" if name == CACHED else "plain"
        command = [_program(), kind, str(of_filters), str(of_topics), str(shown)]
        environment = {**os.environ, "GOMAXPROCS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    seconds, *found = done.stdout.split("\n")
    return float(seconds), [list(map(int, line.split())) for line in found[:shown]]


@cache
def _program() -> str:
    """Compile the loop and return its path; its folder is removed when this process ends."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    program = f"{folder.name}/loop"
    environment = {**os.environ, "GO111MODULE": "off", "GOPATH": str(_SOURCES)}
    subprocess.run(["go", "build", "-o", program, str(_LOOP)], check=True, env=environment)
    return program
