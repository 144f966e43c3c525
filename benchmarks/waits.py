"""How long threads wait beside one long call, on interpreters with a GIL: `python -m benchmarks.waits [--size N]`.

Each call runs once while threads sleep and wake. A thread that wakes late has waited: for the processor, or for the
call. So two numbers are shown, the longest wait, and how much processor time the call had in the longest one, which
does not count what else the machine does. The cycle collector is off, since its own pauses are not ours. Among the
calls are the same on plain lists and dicts, and a loop of plain Python code, between two lines of which the interpreter
lets others run every 5 ms.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ctrie import Ctrie
from subtrie import MQTT, SubscriptionTrie, TopicStore

PAUSE = 0.002  # seconds between two turns of a thread that waits


class Waited(NamedTuple):
    """Seconds: the processor time of a call, the longest wait, the most processor time that a wait gave to the call."""

    took: float
    longest: float
    beside: float


def longest_wait(call: Callable[[], object], threads: int) -> Waited:
    """Make a call while threads wait."""
    longest, beside = [0.0] * threads, [0.0] * threads
    over = threading.Event()
    begun = threading.Barrier(threads + 1)
    clock = time.pthread_getcpuclockid(threading.get_ident())

    def run(number: int) -> None:
        begun.wait()
        while not over.is_set():
            before, had = time.perf_counter(), time.clock_gettime(clock)
            time.sleep(PAUSE)
            late = time.perf_counter() - before - PAUSE
            longest[number] = max(longest[number], late)
            beside[number] = max(beside[number], min(late, time.clock_gettime(clock) - had))

    waiting = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in waiting:
        thread.start()
    begun.wait()
    time.sleep(5 * PAUSE)
    longest[:] = beside[:] = [0.0] * threads
    before = time.thread_time()
    kept = call()  # what it returns is freed afterwards, by whoever has it
    took = time.thread_time() - before
    time.sleep(2 * PAUSE)  # for those that have waited until its end
    waited = Waited(took, max(longest), max(beside))
    over.set()
    for thread in waiting:
        thread.join()
    del kept
    return waited


def rows_below(word: str, size: int) -> list[tuple[str, int]]:
    return [(f"{word}/{number % 997}/{number}", number) for number in range(size)]


def controls(size: int) -> dict[str, Callable[[], object]]:
    """Calls on what Python has itself."""
    rows, dropped = rows_below("a", size), rows_below("a", size)
    pickled, other = pickle.dumps(rows), dict(rows_below("b", size))
    filled = dict(rows)
    return {
        "nothing": lambda: time.sleep(0.1),
        "a loop of Python code": lambda: sum(number % 7 for number in range(10 * size)),
        "list.clear": dropped.clear,
        "sorted(list)": lambda: sorted(rows, reverse=True),
        "list(dict.items())": lambda: list(filled.items()),
        "dict.update": lambda: filled.update(other),
        "pickle.dumps(list)": lambda: pickle.dumps(rows),
        "pickle.loads(list)": lambda: pickle.loads(pickled),
    }


def long_calls(size: int) -> dict[str, Callable[[], object]]:
    """Calls on ours, which run in this order."""
    rows, more, longer = rows_below("a", size), rows_below("b", size), rows_below("a", size)
    longer = [(f"{filter}/x", number) for filter, number in longer]
    trie, changed, indexed, one = (
        SubscriptionTrie[int](MQTT),
        SubscriptionTrie[int](MQTT),
        SubscriptionTrie[int](MQTT, index=True),
        SubscriptionTrie[int](MQTT),
    )
    trie.subscribe_many(rows)
    indexed.subscribe_many(rows)
    one.subscribe_many([(filter, 1) for filter, _ in rows])
    store, pairs = TopicStore[int](MQTT, dict(rows)), Ctrie[int, int]({number: number for number in range(size)})
    empty, numbers = Ctrie[int, int](), {number: number for number in range(size)}
    pickled, pickled_store, pickled_map = pickle.dumps(trie), pickle.dumps(store), pickle.dumps(pairs)
    return {
        "list(trie)": lambda: list(trie),
        "trie.filters, no index": lambda: trie.filters(-1),
        "trie.unsubscribe_all, nothing": lambda: trie.unsubscribe_all(-1),
        "trie.unsubscribe_all, everything": lambda: one.unsubscribe_all(1),
        "trie.stats": trie.stats,
        "pickle.dumps(trie)": lambda: pickle.dumps(trie),
        "pickle.loads(trie)": lambda: pickle.loads(pickled),
        "trie.clear, with an index": indexed.clear,
        "trie.subscribe_many, empty": lambda: changed.subscribe_many(rows),
        "trie.subscribe_many, elsewhere": lambda: changed.subscribe_many(more),
        "trie.subscribe_many, below": lambda: changed.subscribe_many(longer),
        "trie.unsubscribe_many": lambda: changed.unsubscribe_many(rows),
        "trie.clear": changed.clear,
        "list(store.items())": lambda: list(store.items()),
        "pickle.dumps(store)": lambda: pickle.dumps(store),
        "pickle.loads(store)": lambda: pickle.loads(pickled_store),
        "store.clear": store.clear,
        "map.update, empty": lambda: empty.update(numbers),
        "list(map.items())": lambda: list(pairs.items()),
        "pickle.dumps(map)": lambda: pickle.dumps(pairs),
        "pickle.loads(map)": lambda: pickle.loads(pickled_map),
        "map.clear": pairs.clear,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waits", description=__doc__)
    parser.add_argument("--size", type=int, default=200_000)
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 20, 100])
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    gc.disable()
    for threads in options.threads:
        print(f"{threads} threads wait; milliseconds, the middle of {options.turns}")
        print(f"{'':34} {'took':>7} {'a wait':>7} {'of its processor time':>22}")
        found: dict[str, list[Waited]] = {}
        for _ in range(options.turns):
            calls: dict[str, Any] = controls(options.size) | long_calls(options.size)
            for name, call in calls.items():
                found.setdefault(name, []).append(longest_wait(call, threads))
        for name, waits in found.items():
            took, longest, beside = (1e3 * sorted(column)[len(column) // 2] for column in zip(*waits, strict=True))
            print(f"{name:34} {took:7.0f} {longest:7.1f} {beside:22.1f}", flush=True)


if __name__ == "__main__":
    main()
