"""Counts the instructions of an operation with valgrind's callgrind: `python -m benchmarks.instructions`.

On a busy machine, times say little about a change of a few per cent, while instruction counts are the same in every
run. They do not include what an operation waits for (memory, other threads); the benchmarks show that. A count is of
one call from Python without the loop around it, at one size of the trie. To compare two checkouts, use `--keep` in one
and `--against` that file in the other.

It needs valgrind (Debian: apt-get install valgrind) and the compiled twin.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import callgrind

CALLS = 2000
WARM_UP = 10
SIZES = "1000,100000"
OPERATIONS = (
    "get",
    "get absent",
    "get integer",
    "set present",
    "set new",
    "put_if_absent new",
    "delete",
    "subscribe",
    "subscribe noticed",
    "unsubscribe",
    "match",
    "match cached",
    "deliveries",
    "criteria subscribe",
    "criteria match",
)

Work = Callable[[Any], object]


def main(arguments: list[str] | None = None) -> int:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("operations", nargs="*", metavar="operation", help=f"of: {', '.join(OPERATIONS)} (all)")
    parser.add_argument("--sizes", default=SIZES, help="keys or filters beforehand, with commas (%(default)s)")
    parser.add_argument("--keep", type=Path, help="write the counts to this file")
    parser.add_argument("--against", type=Path, help="compare with the counts in this file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    wanted = options.operations or list(OPERATIONS)
    unknown = [name for name in wanted if name not in OPERATIONS]
    if unknown:
        parser.error(f"no operation is called {unknown[0]!r}; there are: {', '.join(OPERATIONS)}")
    if options.child:
        _run_marked(wanted, int(options.child))
        return 0
    if callgrind.is_missing():
        return 2
    counts = {size: counted(wanted, int(size)) for size in options.sizes.split(",")}
    if options.keep is not None:
        options.keep.write_text(json.dumps(counts, indent=1) + "\n")
    _print(counts, json.loads(options.against.read_text()) if options.against else {})
    return 0


def counted(operations: list[str], size: int) -> dict[str, float]:
    """Return the instructions of one call of each operation, in one run under callgrind."""
    with callgrind.profiles("benchmarks.instructions", *operations, f"--child={size}") as parts:
        totals = [_total(part) for part in parts]
    # The first count is for building. After it, a count of the work and one of the loop alone alternate.
    work, loop = totals[1::2], totals[2::2]
    return {name: (work[i] - loop[i]) / CALLS for i, name in enumerate(operations)}


def _total(part: Path) -> int:
    found = re.search(r"^totals: (\d+)", part.read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"{part} is no profile of callgrind's")
    return int(found[1])


def _run_marked(operations: list[str], size: int) -> None:
    """Run the program whose instructions callgrind counts, between calls of `os.getppid`."""
    gc.disable()
    prepared = [_prepared(name, size) for name in operations]
    for work, arguments in prepared:
        for argument in arguments[:WARM_UP]:
            work(argument)
        rest = arguments[WARM_UP:]
        os.getppid()
        for argument in rest:
            work(argument)
        os.getppid()
        for _ in rest:
            pass
    os.getppid()


def _prepared(name: str, size: int) -> tuple[Work, list[Any]]:
    chance = random.Random(f"{name} {size}")
    if name in OPERATIONS[:7]:
        return _of_map(name, size, chance)
    return (_of_criteria if name.startswith("criteria") else _of_trie)(name, size, chance)


def _of_map(name: str, size: int, chance: random.Random) -> tuple[Work, list[Any]]:
    trie, keys = _map(size, name == "get integer")
    present = [chance.choice(keys) for _ in range(CALLS + WARM_UP)]
    new = [f"{name} {i}" for i in range(CALLS + WARM_UP)]
    if name == "delete":
        for key in new:
            trie[key] = 0
        return trie.__delitem__, new
    works: dict[str, tuple[Work, list[Any]]] = {
        "get": (trie.get, present),
        "get absent": (trie.get, new),
        "get integer": (trie.get, present),
        "set present": (lambda key: trie.__setitem__(key, 1), present),
        "set new": (lambda key: trie.__setitem__(key, 1), new),
        "put_if_absent new": (lambda key: trie.put_if_absent(key, 1), new),
    }
    return works[name]


@cache
def _map(size: int, integers: bool) -> tuple[Any, list[Any]]:
    from ctrie import Ctrie

    keys: list[Any] = list(range(size)) if integers else [f"key {i}" for i in range(size)]
    trie: Ctrie = Ctrie()
    for key in keys:
        trie[key] = key
    return trie, keys


def _of_trie(name: str, size: int, chance: random.Random) -> tuple[Work, list[Any]]:
    trie, filters = _subscriptions(size, name == "match cached", name == "subscribe noticed")
    new = [*_filters(CALLS + WARM_UP, chance)]
    topics = [chance.choice(filters).replace("*", "w7").replace("#", "w8.w9") for _ in range(CALLS + WARM_UP)]
    if name.startswith("subscribe"):
        return lambda pattern: trie.subscribe(pattern, "new"), new
    if name == "unsubscribe":
        for pattern in new:
            trie.subscribe(pattern, "new")
        return lambda pattern: trie.unsubscribe(pattern, "new"), new
    if name == "match cached":
        for topic in (*topics, *topics):
            trie.match(topic)
    return trie.deliveries if name == "deliveries" else trie.match, topics


def _of_criteria(name: str, size: int, chance: random.Random) -> tuple[Work, list[Any]]:
    from subtrie.fields import FieldMatcher

    matcher: FieldMatcher = FieldMatcher()
    for number in range(size):
        matcher.subscribe(_criteria(size, chance), number)
    if name == "criteria subscribe":
        return lambda criteria: matcher.subscribe(criteria, "new"), [
            _criteria(size, chance) for _ in range(CALLS + WARM_UP)
        ]
    return matcher.match_all, [
        {"room": f"r{chance.randrange(size)}", "kind": f"k{chance.randrange(10)}"} for _ in range(CALLS + WARM_UP)
    ]


def _criteria(size: int, chance: random.Random) -> list[Any]:
    from subtrie.fields import Equals

    return [Equals("room", f"r{chance.randrange(size)}"), Equals("kind", f"k{chance.randrange(10)}")]


@cache
def _subscriptions(size: int, remembers: bool, is_noticed: bool) -> tuple[Any, list[str]]:
    from subtrie import SubscriptionTrie

    filters = [*_filters(size, random.Random(size))]
    notice = (lambda filter, wanted: None) if is_noticed else None
    trie: SubscriptionTrie = SubscriptionTrie(cache=4 * CALLS if remembers else 0, on_interest=notice)
    for number, pattern in enumerate(filters):
        trie.subscribe(pattern, number)
    return trie, filters


def _filters(count: int, chance: random.Random) -> Iterator[str]:
    """Yield filters of one to five words out of a thousand, one word in sixteen a wildcard."""
    for _ in range(count):
        words = [f"w{chance.randrange(1000)}" if chance.random() < 0.9375 else "*" for _ in range(chance.randint(3, 6))]
        yield ".".join(words) if chance.random() < 0.9 else ".".join([*words, "#"])


def _print(counts: dict[str, dict[str, float]], before: dict[str, dict[str, float]]) -> None:
    table = Table(title="Instructions a call")
    table.add_column("operation")
    for size in counts:
        table.add_column(f"{int(size):,}", justify="right")
    for name in next(iter(counts.values())):
        table.add_row(name, *[_cell(counts[size][name], before.get(size, {}).get(name)) for size in counts])
    Console().print(table)


def _cell(count: float, before: float | None) -> str:
    return f"{count:,.0f}" if before is None else f"{count:,.0f} ({count / before:.3f})"


if __name__ == "__main__":
    sys.exit(main())
