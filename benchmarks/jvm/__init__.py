"""Scala's TrieMap, the best known Ctrie, in a JVM loop of its own. Its jar comes with pyspark."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

NAME = "TrieMap on the JVM"
_LOOP = Path(__file__).with_name("TrieMapLoop.java")
WARM_UP = 2_000_000
"""After so many operations the JVM has compiled everything."""


def missing() -> str | None:
    """Say what is not installed, if anything."""
    if shutil.which("java") is None or shutil.which("javac") is None:
        return "no JDK"
    return None if _jar() else "no pyspark, whose jars have it"


def seconds(operation: str, size: int, uses: int, threads: int, rounds: int, warm_up: int) -> float:
    """Run a loop, warmed up, and return the time from the first thread's start to the last one's end.

    Args:
        operation: get, insert or mixed.
        size: keys in the map.
        uses: operations of each thread in a round.
        warm_up: operations before them.
    """
    warm_ups = warm_up // (uses * threads)
    numbers = map(str, (size, uses, threads, rounds, warm_ups))
    command = ["java", "-cp", f"{_jar()}{os.pathsep}{_classes()}", _LOOP.stem, operation, *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


@cache
def _classes() -> str:
    """Compile the loop and return its folder, which is removed when this process ends."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    subprocess.run(["javac", "-cp", str(_jar()), "-d", folder.name, str(_LOOP)], check=True)
    return folder.name


def _jar() -> Path | None:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    return next(Path(found.origin).parent.glob("jars/scala-library-*.jar"), None)
