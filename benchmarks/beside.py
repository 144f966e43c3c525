"""Times operations of two checkouts in alternation: `python -m benchmarks.beside OTHER [operation ...]`.

Counts of instructions (`benchmarks.instructions`) do not show what the processor waits for. Equal counts once hid
that a match took an eighth more time. So this asks for time, on the same workload: OTHER is the folder of another
checkout whose modules are built. Each round starts a process for either, which of them first alternates, and compares
their medians of processor time. A ratio below one says that this checkout is faster. A busy machine makes the
quarters wide; believe a difference only if it is outside of them.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from math import isnan
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]
KEYS = 100_000
REPEATS = 15
OPERATIONS = ("match", "has_match", "deliveries", "subscribe and unsubscribe", "get", "set", "store get")
NOT_THERE = "nan"  # an older checkout may lack a call


def main(arguments: list[str] | None = None) -> int:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beside", description=__doc__)
    parser.add_argument("other", type=Path, help="the folder of the other checkout")
    parser.add_argument("operations", nargs="*", metavar="operation", help=f"of: {', '.join(OPERATIONS)} (all)")
    parser.add_argument("--rounds", type=int, default=12, help="processes of either checkout (%(default)s)")
    options = parser.parse_intermixed_args(arguments)
    if not (options.other / "subtrie").is_dir():
        parser.error(f"{options.other} has no folder subtrie: give the root of a checkout")
    if unknown := [one for one in options.operations if one not in OPERATIONS]:
        parser.error(f"no operation {unknown[0]!r}: there are {', '.join(OPERATIONS)}")
    if options.rounds < 2:
        parser.error("--rounds must be at least 2")
    _print(*_measured(options.other.resolve(), options.operations or list(OPERATIONS), options.rounds))
    return 0


def _measured(other: Path, operations: list[str], rounds: int) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Return the nanoseconds an operation takes in each round, here and there."""
    from benchmarks.workloads import throughput_filters, throughput_topics

    filters = throughput_filters()
    here: list[dict[str, float]] = []
    there: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        load = Path(folder) / "workload"
        load.write_bytes(pickle.dumps((list(filters), list(throughput_topics(filters, 50_000, seed=1)))))
        for number in track(range(rounds), "rounds", console=Console(stderr=True), disable=not sys.stderr.isatty()):
            sides = [(HERE, here), (other, there)]
            for root, found in sides if number % 2 else reversed(sides):
                found.append(_of_a_process(root, load, operations))
    return here, there


def _of_a_process(root: Path, load: Path, operations: list[str]) -> dict[str, float]:
    command = [sys.executable, "-P", __file__, "--in-a-process", str(root), str(load), *operations]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    return dict(zip(operations, map(float, answer), strict=True))


def _print(here: list[dict[str, float]], there: list[dict[str, float]]) -> None:
    table = Table("operation", "here, ns", "there, ns", "here / there", "its quarters")
    for operation in here[0]:
        if isnan(here[0][operation] + there[0][operation]):
            table.add_row(operation, "", "", "not in both", "")
            continue
        mine, others = [one[operation] for one in here], [one[operation] for one in there]
        ratios = [one / another for one, another in zip(mine, others, strict=True)]
        low, middle, high = quantiles(ratios, n=4)
        row = f"{median(mine):.0f}", f"{median(others):.0f}", f"{middle:.2f}", f"{low:.2f} to {high:.2f}"
        table.add_row(operation, *row)
    Console().print(table)


def in_a_process(root: str, load: str, operations: list[str]) -> None:
    """Print the nanoseconds of each operation, with the packages of that checkout."""
    sys.path.insert(0, root)
    filters, topics = pickle.loads(Path(load).read_bytes())
    works = dict(_works(filters, topics))
    print(*(f"{_timed(*works[one]):.1f}" if one in works else NOT_THERE for one in operations))


def _works(filters: list[str], topics: list[str]) -> Iterator[tuple[str, tuple[Callable[[Any], object], list[Any]]]]:
    from ctrie import Ctrie
    from subtrie import SubscriptionTrie, TopicStore

    trie: SubscriptionTrie[int] = SubscriptionTrie()
    for number, filter in enumerate(filters):
        trie.subscribe(filter, number)
    for name in ("match", "has_match", "deliveries"):
        if hasattr(trie, name):
            yield name, (getattr(trie, name), topics)
    subscribe, unsubscribe = trie.subscribe, trie.unsubscribe

    def come_and_go(filter: str) -> None:
        subscribe(filter, -1)
        unsubscribe(filter, -1)

    yield "subscribe and unsubscribe", (come_and_go, filters)
    m: Ctrie[int, int] = Ctrie({key: key for key in range(KEYS)})
    keys = list(range(0, KEYS, 3))
    yield "get", (m.__getitem__, keys)
    yield "set", (lambda key: m.__setitem__(key, key), keys)
    store: TopicStore[int] = TopicStore()
    store.update(dict.fromkeys(topics, 0))
    yield "store get", (store.__getitem__, topics)


def _timed(call: Callable[[Any], object], arguments: Iterable[Any]) -> float:
    arguments = list(arguments)
    found = []
    for _ in range(REPEATS):
        begun = time.thread_time_ns()
        for one in arguments:
            call(one)
        found.append((time.thread_time_ns() - begun) / len(arguments))
    return median(found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--in-a-process"]:
        in_a_process(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(main())
