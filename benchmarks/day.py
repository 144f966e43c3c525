"""What a broker does beside `match`: `python -m benchmarks.day [--size N]`.

First, for each call that may take long, the longest wait of other threads beside it, in milliseconds. The collector is
off meanwhile, since its own pauses are not ours. "nothing" is what the machine itself adds. Then what other questions
cost, as multiples of a `match`, or in nanoseconds for each item. All ratios are of one run.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import threading
import time
from collections.abc import Callable
from typing import Any

from ctrie import Ctrie
from subtrie import MQTT, SubscriptionTrie, TopicStore

THREADS = 100
PAUSE = 0.02  # seconds between two turns of a thread that waits
MANY = 2_000


def longest_wait(call: Callable[[], object]) -> tuple[float, float]:
    """Return how long a call takes, and the longest time by which another thread was late beside it, in seconds."""
    late = [0.0] * THREADS
    over = threading.Event()
    begun = threading.Barrier(THREADS + 1)

    def run(number: int) -> None:
        begun.wait()
        while not over.is_set():
            before = time.perf_counter()
            time.sleep(PAUSE)
            late[number] = max(late[number], time.perf_counter() - before - PAUSE)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    begun.wait()
    time.sleep(5 * PAUSE)
    late[:] = [0.0] * THREADS
    before = time.perf_counter()
    call()
    took = time.perf_counter() - before
    worst = max(late)
    over.set()
    for thread in threads:
        thread.join()
    return took, worst


def long_calls(size: int) -> dict[str, Callable[[], object]]:
    rows = [(f"a/{number % 997}/{number}", number) for number in range(size)]
    more = [(f"b/{filter}", number) for filter, number in rows]
    trie, changed, indexed = (
        SubscriptionTrie[int](MQTT),
        SubscriptionTrie[int](MQTT),
        SubscriptionTrie[int](MQTT, index=True),
    )
    trie.subscribe_many(rows)
    indexed.subscribe_many(rows)
    store, pairs = TopicStore[int](MQTT, dict(rows)), Ctrie[int, int]({number: number for number in range(size)})
    pickled = pickle.dumps(trie)
    return {
        "nothing": lambda: time.sleep(0.5),
        "len(trie)": lambda: len(trie),
        "list(trie)": lambda: list(trie),
        "trie.filters, no index": lambda: trie.filters(-1),
        "trie.unsubscribe_all, no index": lambda: trie.unsubscribe_all(-1),
        "trie.stats()": trie.stats,
        "pickle.dumps(trie)": lambda: pickle.dumps(trie),
        "pickle.loads(trie)": lambda: pickle.loads(pickled),
        "clear, with an index": indexed.clear,
        "subscribe_many, empty": lambda: changed.subscribe_many(rows),
        "subscribe_many, filled": lambda: changed.subscribe_many(more),
        "unsubscribe_many": lambda: changed.unsubscribe_many(rows),
        "clear": changed.clear,
        "len(store)": lambda: len(store),
        "list(store.items())": lambda: list(store.items()),
        "len(map)": lambda: len(pairs),
        "list(map.items())": lambda: list(pairs.items()),
        "pickle.dumps(map)": lambda: pickle.dumps(pairs),
    }


def best(call: Callable[[], object], calls: int = MANY) -> float:
    """Return the processor time of a call, in seconds: the best of five turns."""
    times = []
    for _ in range(5):
        before = time.process_time()
        for _ in range(calls):
            call()
        times.append(time.process_time() - before)
    return min(times) / calls


def drain(items: Any) -> None:
    for _ in items:
        pass


def ratios(size: int) -> dict[str, str]:
    trie = SubscriptionTrie[int](MQTT)
    trie.subscribe_many([(f"a/x{number % 1_000}/y{number}/z", number) for number in range(size)])
    one = "a/x77/y77/z"
    match = best(lambda: trie.match(one))
    found = {
        "in": best(lambda: (one, 77) in trie),
        "overlapping, one hit": best(lambda: list(trie.overlapping(one))),
        "overlapping, one hit, a wildcard": best(lambda: list(trie.overlapping("a/x77/y77/+"))),
    }
    said = {name: f"{cost / match:.1f} x match" for name, cost in found.items()}
    changes: dict[str, Callable[[int], object]] = {
        "diff, added": lambda number: trie.subscribe(f"a/x{number}/new/z", number),
        "diff, other options": lambda number: trie.subscribe(f"a/x{number % 1_000}/y{number}/z", number, qos=1),
        "diff, a second subscriber": lambda number: trie.subscribe(f"a/x{number % 1_000}/y{number}/z", -1),
    }
    for name, change in changes.items():
        before = trie.snapshot()
        for number in range(MANY):
            change(number)
        said[name] = f"{best(lambda: drain(trie.diff(before)), 1) / MANY * 1e6:.1f} us a change"  # noqa: B023
    pairs = Ctrie({7 * number: number for number in range(size)})
    beside = best(lambda: drain(dict(pairs).items()), 1)
    said["items of a map"] = f"{best(lambda: drain(pairs.items()), 1) / size * 1e9:.0f} ns each"
    said["items of a dict"] = f"{beside / size * 1e9:.0f} ns each, with its making"
    hot = SubscriptionTrie[int](MQTT)
    hot.subscribe_many([("hot", number, {"qos": number % 3}) for number in range(100_000)])
    said["deliveries of 100,000"] = f"{best(lambda: hot.deliveries('hot'), 1) / 100_000 * 1e6:.2f} us each"
    few = SubscriptionTrie[int](MQTT)
    few.subscribe_many([("a/+/#", 1), ("a/b/#", 2), ("a/b/c", 3)])
    without = best(lambda: few.match("a/b/c"))
    few.subscribe("a/+/#", 1, but=("a/secret/#",))
    said["match, one of three has an exclusion"] = f"{best(lambda: few.match('a/b/c')) / without:.1f} x none has"
    few.subscribe("a/+/#", 1)
    plain = best(lambda: few.deliveries("a/b/c"))
    told = best(lambda: [one.words for one in few.deliveries("a/b/c")])
    said["the words of three deliveries"] = f"{told / plain:.1f} x the deliveries"
    store = TopicStore[int](MQTT)
    before_store = time.process_time()
    for number in range(size):
        store[f"a/{number % 997}/{number}"] = number
    said["a store, one by one"] = f"{(time.process_time() - before_store) / size * 1e6:.1f} us each"
    return said


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.day", description=__doc__)
    parser.add_argument("--size", type=int, default=200_000)
    size = parser.parse_args().size
    for name, cost in ratios(size).items():
        print(f"{name:38} {cost}")
    calls = long_calls(size)
    gc.disable()
    for name, call in calls.items():
        took, worst = longest_wait(call)
        print(f"{name:34} {took * 1e3:7.0f} ms; a thread waits {worst * 1e3:6.1f} ms at most", flush=True)


if __name__ == "__main__":
    main()
