"""The checks that every built wheel must pass, with only the standard library: `python tests/whole/wheel_smoke.py`, and
with `interpreted` where a wheel has no compiled modules."""

from __future__ import annotations

import sys
from threading import Thread

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

    threads = [Thread(target=work, args=(me,)) for me in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(numbers) == len(routes) == len(store) == 2_000
    assert len(routes.match("1.x.7")) == 100
    assert len(list(store.matching("0.#"))) == 1_000
    for each in (numbers, routes, store):
        each.check()
    assert not hasattr(sys, "_is_gil_enabled") or "t" not in sys.abiflags or not sys._is_gil_enabled()
    print(f"subtrie {subtrie.__version__} on {sys.version}")


if __name__ == "__main__":
    main()
