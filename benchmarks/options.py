"""What a subscription takes in memory, by the options that it or its trie has: `python -m benchmarks.options`.

Each figure is the growth of a process of its own, without the texts of filters and subscribers, which exist before.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from subtrie import MQTT, SubscriptionTrie

SIZE = 200_000


class Subscriber:
    """An object that can be held weakly."""


def trie(**options: Any) -> Callable[[], SubscriptionTrie[Any]]:
    return lambda: SubscriptionTrie(MQTT, **options)


KINDS: dict[str, tuple[Callable[[], SubscriptionTrie[Any]], Callable[[int], dict[str, Any]]]] = {
    "nothing": (trie(), lambda _: {}),
    "`qos=`, of three values": (trie(), lambda n: {"qos": n % 3}),
    "an option whose value no other has": (trie(), lambda n: {"subscription_identifier": n + 1}),
    "`exact=True`": (trie(exact=True), lambda _: {}),
    "`on_interest=`": (trie(on_interest=lambda _, __: None), lambda _: {}),
    "`weak=True`": (trie(weak=True), lambda _: {}),
    "`index=True`": (trie(index=True), lambda _: {}),
    "`index=True` and `qos=`": (trie(index=True), lambda n: {"qos": n % 3}),
}


def resident() -> int:
    """The bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def bytes_each(kind: str, size: int = SIZE) -> float:
    """Return how many bytes a subscription takes. Call it once in a process."""
    make, options = KINDS[kind]
    filters = [f"plant/{n % 200}/line/{n // 200}/+" for n in range(size)]
    subscribers: list[Any] = [Subscriber() if "weak" in kind else f"client{n}" for n in range(size)]
    routes = make()
    gc.collect()
    before = resident()
    for n, (filter, subscriber) in enumerate(zip(filters, subscribers, strict=True)):
        routes.subscribe(filter, subscriber, **options(n))
    gc.collect()
    return (resident() - before) / size


def in_a_process(kind: str, size: int = SIZE) -> float:
    code = f"from benchmarks.options import bytes_each; print(bytes_each({kind!r}, {size}))"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print a row for each kind."""
    for kind in KINDS:
        print(f"| {kind} | {in_a_process(kind):.0f} |", flush=True)


if __name__ == "__main__":
    main()
