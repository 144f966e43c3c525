"""A description of the machine: enough to judge the figures, and nothing that identifies it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("ctrie", "cereggii", "immutables", "paho-mqtt", "pika", "pyroaring", "pyspark", "sortedcontainers")
PROGRAMS = ("mosquitto", "nats-server", "rabbitmq-server", "openjdk-17-jre-headless")
"""Debian's packages of the contenders that run in a process of their own."""


def describe() -> dict[str, object]:
    """Return processor, memory, interpreter and versions."""
    import ctrie

    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_before": round(min(os.getloadavg()[0], processors_in_use()), 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "gil": gil(),
        "twin": ctrie.twin,
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "programs": {name: found for name in PROGRAMS if (found := _debian_version(name))},
    }


def processors_in_use(seconds: float = 0.2) -> float:
    """Return how many processors are busy while this process sleeps: with the work of others.

    The load average alone would still count an earlier benchmark of the same run. Infinity if the system does not tell.
    """
    before, began = _busy_seconds(), time.monotonic()
    time.sleep(seconds)
    return (_busy_seconds() - before) / (time.monotonic() - began) if before else float("inf")


def _busy_seconds() -> float:
    """Return for how long all processors together have worked since the start of the system; 0 if it does not tell."""
    try:
        _, user, nice, system, _, _, interrupts, softly, *_ = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    ticks = sum(map(int, (user, nice, system, interrupts, softly)))
    return ticks / os.sysconf("SC_CLK_TCK")


def cores_of(machine: dict[str, Any]) -> str:
    """Return the number of processors, in words."""
    return f"{machine['cores']} core{'' if machine['cores'] == 1 else 's'}"


MOST_LOAD = 0.5
"""A machine with more to do than this for each processor is too busy for figures that others should read."""


def busy(machine: dict[str, Any]) -> str:
    """Return a remark if the machine had other work before the run, or nothing."""
    if machine["load_before"] <= MOST_LOAD * machine["cores"]:
        return ""
    return f"The machine was busy (load {machine['load_before']} on {cores_of(machine)}): read ratios only."


def gil() -> bool:
    """Return whether there is a GIL."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def tag() -> str:
    """Return a short name of the interpreter, for the files of results."""
    threading = "t" if "free-threading" in sys.version else ""
    return f"cp{sys.version_info.major}{sys.version_info.minor}{threading}"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _debian_version(package: str) -> str | None:
    query = ["dpkg-query", "--show", "--showformat=${Version}", package]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
