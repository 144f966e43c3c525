"""The checks that every built wheel must pass, with only the standard library: `python tests/whole/wheel_smoke.py`, and
with `interpreted` where a wheel has no compiled modules."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import ctrie
import subtrie


def main() -> None:
    """Use each structure once, from two threads.

    Raises:
        AssertionError: an answer is wrong.
    """
    assert ctrie.twin == (sys.argv[1] if len(sys.argv) > 1 else "compiled")
    numbers, routes, store = ctrie.Ctrie[int, int](), subtrie.SubscriptionTrie(), subtrie.TopicStore()

    def work(me: int) -> None:
        for n in range(1_000):
            numbers[me * 1_000 + n] = n
            routes.subscribe(f"{me}.*.{n % 10}", n)
            store[f"{me}.{n}"] = n

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, range(2)))
    assert len(numbers) == len(routes) == len(store) == 2_000
    assert (len(routes.match("1.x.7")), len(list(store.matching("0.#")))) == (100, 1_000)
    for each in (numbers, routes, store):
        each.check()
    assert "t" not in getattr(sys, "abiflags", "") or not getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"subtrie {subtrie.__version__} on {sys.version}")


if __name__ == "__main__":
    main()
