"""Counts the references to shared objects that an operation takes: `python -m benchmarks.shared_references`.

On a free-threaded interpreter a thread that counts a reference to another thread's object writes to it with an atomic
instruction. If all threads do so with one object, such as the root of a trie, they wait for each other at every
operation. So an operation that should scale counts only what it returns or replaces.

The operations are called by a thread that has made none of the objects that they meet, so each reference that they drop
is one to a shared object. Callgrind counts these drops. It counts the same in every run, unlike a clock, and needs no
machine with many processors. The interpreter's own counts, such as those of a shared object that a loop calls again and
again, are left out: the calls are of bound methods.

It needs a free-threaded interpreter and valgrind (Debian: apt-get install valgrind).
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks import callgrind
from benchmarks.machine import gil
from benchmarks.workloads import throughput_filters, throughput_topics
from ctrie import Ctrie, CtrieSet
from subtrie import MQTT, SubscriptionTrie, TopicStore
from subtrie.fields import Equals, FieldMatcher, RoutingMatcher

CALLS = 200
WARM_UP = 20
SIZE = 10_000
DROPS = "_Py_DecRefShared"
"""CPython's function that drops a reference to an object of another thread."""

Operation = tuple[Callable[..., object], list[tuple[Any, ...]]]
"""A call, and the arguments of many such calls."""


def main(arguments: list[str] | None = None) -> int:
    """Count, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shared_references", description=__doc__)
    parser.add_argument("operations", nargs="*", metavar="operation", help="which ones; all of them if none is named")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        thread = Thread(target=_run_marked, args=(Shared(), options.operations))
        thread.start()
        thread.join()
        return 0
    if gil():
        print("this needs a free-threaded interpreter: with a GIL no reference is shared", file=sys.stderr)
        return 2
    if callgrind.is_missing():
        return 2
    table = Table("operation", "references to shared objects")
    for name, drops in counted(options.operations).items():
        table.add_row(escape(name), f"{drops:.2f}")
    Console().print(table)
    return 0


def counted(names: list[str]) -> dict[str, float]:
    """Return, for each operation named (none: for all), how many references to shared objects a call takes and drops.

    Raises ValueError for a name that no operation has.
    """
    known = list(_operations(Shared()))
    names = names or known
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"no operation is called {unknown[0]!r}; there are: {', '.join(known)}")
    with callgrind.profiles("benchmarks.shared_references", "--child", *names) as parts:
        # The first count is for building. After it, counts of the calls and of what is between them alternate.
        return {name: _drops(part) / CALLS for name, part in zip(names, parts[1::2], strict=False)}


def _drops(part: Path) -> int:
    """Return how often a part of a profile calls the function that drops references to shared objects."""
    drops, number, called = 0, None, ""
    for line in part.read_text().splitlines():
        if line.startswith("cfn="):
            called = line
            if line.endswith(f" {DROPS}"):
                number = line.split(" ")[0]  # from now on it goes by this number
        elif line.startswith("fn=") and line.endswith(f" {DROPS}"):
            number = f"c{line.split(' ')[0]}"
        elif line.startswith("calls=") and number is not None and called.split(" ")[0] == number:
            drops += int(re.split("[= ]", line)[1])
    return drops


class Shared:
    """What the operations work with, made by one thread and used by another one. Values and subscribers are small
    integers, since no thread counts references to these."""

    def __init__(self) -> None:
        self.map = Ctrie({f"key-{n}": 0 for n in range(SIZE)})
        self.set = CtrieSet(f"key-{n}" for n in range(SIZE))
        self.store = TopicStore(MQTT, {f"a/{n % 100}/{n}": 0 for n in range(SIZE)})
        self.trie, self.fields, self.routes = SubscriptionTrie(), FieldMatcher(), RoutingMatcher()
        chance = random.Random(1)
        for number, filter in enumerate(throughput_filters()):
            criteria = [Equals("id", chance.randrange(200)), Equals("side", number % 3)]
            self.trie.subscribe(filter, number % 200)
            self.fields.subscribe(criteria, number % 200)
            self.routes.subscribe(filter, criteria, number % 200)


def _run_marked(shared: Shared, names: list[str]) -> None:
    gc.disable()
    operations = _operations(shared)
    for name in names or operations:
        call, arguments = operations[name]
        for one in arguments[:WARM_UP]:
            call(*one)
        os.getppid()
        for one in arguments[WARM_UP:]:
            call(*one)
        os.getppid()


def _operations(shared: Shared) -> dict[str, Operation]:
    """Return the operations, with arguments that this thread makes."""
    chosen = random.Random(2).sample(range(SIZE), WARM_UP + CALLS)
    known = [(f"key-{n}",) for n in chosen]
    new = [(f"new-{n}",) for n in chosen]
    kept = [(f"a/{n % 100}/{n}",) for n in chosen]
    filters = [(f"{filter}.x", 0) for filter in throughput_filters(seed=5, count=WARM_UP + CALLS)]
    topics = [(topic,) for topic in throughput_topics(throughput_filters(), WARM_UP + CALLS)]
    messages = [({"id": n % 200, "side": n % 3, "price": 7},) for n in chosen]
    routed = [(*topic, *message) for topic, message in zip(topics, messages, strict=True)]
    return {
        "Ctrie: m[k]": (shared.map.__getitem__, known),
        "Ctrie: get": (shared.map.get, known),
        "Ctrie: in": (shared.map.__contains__, known),
        "Ctrie: put_if_absent, present": (shared.map.put_if_absent, [(key, 0) for (key,) in known]),
        "Ctrie: m[k] = v, present": (shared.map.__setitem__, [(key, 0) for (key,) in known]),
        "Ctrie: m[k] = v, new": (shared.map.__setitem__, [(key, 0) for (key,) in new]),
        "Ctrie: del m[k]": (shared.map.__delitem__, new),
        "CtrieSet: in": (shared.set.__contains__, known),
        "CtrieSet: add": (shared.set.add, new),
        "CtrieSet: discard": (shared.set.discard, new),
        "TopicStore: store[topic]": (shared.store.__getitem__, kept),
        "TopicStore: store[topic] = v, present": (shared.store.__setitem__, [(topic, 0) for (topic,) in kept]),
        "SubscriptionTrie: match": (shared.trie.match, topics),
        "SubscriptionTrie: has_match": (shared.trie.has_match, topics),
        "SubscriptionTrie: match_many, of 100": (shared.trie.match_many, [([topic] * 100,) for (topic,) in topics]),
        "SubscriptionTrie: deliveries": (shared.trie.deliveries, topics),
        "SubscriptionTrie: subscribe": (shared.trie.subscribe, filters),
        "SubscriptionTrie: unsubscribe": (shared.trie.unsubscribe, filters),
        "FieldMatcher: match_all": (shared.fields.match_all, messages),
        "RoutingMatcher: match": (shared.routes.match, routed),
    }


if __name__ == "__main__":
    sys.exit(main())
