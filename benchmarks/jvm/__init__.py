"""Scala's TrieMap, the best known Ctrie, in a JVM loop of its own: its jar comes with pyspark."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

NAME = "TrieMap on the JVM"
_LOOP = Path(__file__).with_name("TrieMapLoop.java")
WARM_UP = 2_000_000
"""Operations after which the JVM has compiled what there is to compile."""


def missing() -> str | None:
    """Say what is not installed, if anything."""
    if shutil.which("java") is None:
        return "no Java"
    return None if _jar() else "no pyspark, whose jars have it"


def seconds(operation: str, size: int, uses: int, threads: int, rounds: int, warm_up: int) -> float:
    """Run a loop, warmed up, and return what it took from the first thread's start to the last one's end.

    :param operation: get, miss, set, insert, delete or mixed
    :param size: keys in the map
    :param uses: operations of each thread in a round
    :param warm_up: operations before them
    """
    warm_ups = warm_up // (uses * threads)
    numbers = map(str, (size, uses, threads, rounds, warm_ups))
    command = ["java", "-cp", str(_jar()), str(_LOOP), operation, *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _jar() -> Path | None:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    return next(Path(found.origin).parent.glob("jars/scala-library-*.jar"), None)
